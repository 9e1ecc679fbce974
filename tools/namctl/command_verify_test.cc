// namctl verify on a folder with a log, whole and damaged.
#include "tools/namctl/command_verify.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "memory/log/checkpoint_store.h"
#include "memory/log/file_disk.h"
#include "memory/log/folder_identity.h"
#include "memory/log/log.h"
#include "tools/namctl/output.h"

namespace namdb::namctl {
namespace {

reactor::Task<Status> write_log(reactor::Reactor* reactor, std::string folder) {
  memory::FileDisk disk(*reactor);
  const memory::LogIdentity identity{77, {1234, 0}};
  memory::LogOptions options;
  options.segment_bytes = 64U << 10;
  options.reserve_bytes = 0;
  auto log = co_await memory::Log::create(*reactor, disk, folder, identity, options);
  if (!log.ok()) co_return log.status();
  for (int i = 0; i < 3; ++i) {
    const std::vector<std::byte> bytes(100, std::byte{0x41});
    const auto appended = co_await log.value()->append(1, bytes);
    if (!appended.ok()) co_return appended.status();
    const Status status = co_await log.value()->flush(appended.value().end);
    if (!status.ok()) co_return status;
  }
  co_await log.value()->close();
  const std::string checkpoints = folder.substr(0, folder.rfind('/')) + "/checkpoint";
  auto store = co_await memory::CheckpointStore::open(disk, checkpoints, identity);
  if (!store.ok()) co_return store.status();
  store.value()->begin();
  std::vector<std::byte> no_state;
  co_return co_await store.value()->commit(0, std::move(no_state));
}

void write_identity(const std::string& folder) {
  memory::FolderIdentity identity;
  identity.database_id = 1234;
  identity.complete = true;
  std::ofstream(folder + "/identity") << memory::write_folder_identity(identity);
}

TEST_CASE("verify ends with 0 on a whole log, 1 on a damaged one, and 3 where there is none") {
  std::string folder = (std::filesystem::temp_directory_path() / "namctl-verify-XXXXXX").string();
  REQUIRE(::mkdtemp(folder.data()) != nullptr);
  CHECK(run_verify(folder, true) == kExitEnvironment);
  CHECK(run_verify(folder + "/nowhere", true) == kExitEnvironment);
  auto reactor = reactor::Reactor::create();
  REQUIRE(reactor.ok());
  REQUIRE(reactor.value()->run_until(write_log(reactor.value().get(), folder + "/log")).ok());
  CHECK(run_verify(folder, true) == kExitOther);  // it has no identity
  write_identity(folder);
  CHECK(run_verify(folder, true) == kExitOk);
  // A byte in the payload of the second block.
  const std::string segment = folder + "/log/" + memory::segment_name(0);
  std::fstream file(segment, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(2 * 4096 + 100);
  file.put('B');
  file.close();
  CHECK(run_verify(folder, true) == kExitOther);
  CHECK(run_verify(folder, false) == kExitOther);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace namdb::namctl
