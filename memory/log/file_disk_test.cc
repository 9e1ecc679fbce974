// The operating system's disk below the log and the checkpoints: direct I/O, real folders, and what it
// refuses.
#include "memory/log/file_disk.h"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "memory/log/checkpoint_store.h"
#include "memory/log/log.h"
#include "memory/log/verify.h"

namespace namdb::memory {
namespace file_disk_test {

const LogIdentity kIdentity{77, {1234, 0}};

class Folder {
 public:
  Folder() {
    char path[] = "/tmp/namdb-log-test-XXXXXX";
    REQUIRE(::mkdtemp(path) != nullptr);
    path_ = path;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    ::chmod(path_.c_str(), 0700);
    std::filesystem::remove_all(path_);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::unique_ptr<reactor::Reactor> make_reactor() {
  auto reactor = reactor::Reactor::create();
  REQUIRE(reactor.ok());
  return std::move(*reactor);
}

LogOptions options() {
  LogOptions result;
  result.segment_bytes = 256U << 10;
  result.max_bytes = 4U << 20;
  return result;
}

reactor::Task<Status> work(reactor::Reactor* reactor, Disk* disk, std::string folder, int life) {
  const std::string path = folder + "/log";
  Result<std::unique_ptr<Log>> log = Status(ErrorCode::internal, "not opened");
  LogOptions chosen = options();
  if (chosen.reserve_bytes > chosen.segment_bytes / 2) chosen.reserve_bytes = 0;
  if (life == 0) {
    log = co_await Log::create(*reactor, *disk, path, kIdentity, chosen);
  } else {
    LogReader reader(*disk, path);
    const Status status = co_await reader.open(0, kIdentity.owner);
    if (!status.ok()) co_return status;
    int records = 0;
    while (true) {
      const auto next = co_await reader.next();
      if (!next.ok()) co_return next.status();
      if (!next.value()) break;
      CHECK(next.value()->bytes.size() == static_cast<std::size_t>(records % 100 * 40));
      ++records;
    }
    CHECK(records == 100 * life);
    log = co_await Log::resume(*reactor, *disk, path, reader.take_end(), chosen);
  }
  if (!log.ok()) co_return log.status();
  for (int i = 0; i < 100; ++i) {
    const std::vector<std::byte> bytes(static_cast<std::size_t>(i * 40), std::byte{0x7e});
    const auto appended = co_await log.value()->append(1, bytes);
    if (!appended.ok()) co_return appended.status();
    const Status status = co_await log.value()->flush(appended.value().end);
    if (!status.ok()) co_return status;
  }
  co_await log.value()->close();
  const std::string checkpoints = folder + "/checkpoint";
  auto store = co_await CheckpointStore::open(*disk, checkpoints, kIdentity);
  if (!store.ok()) co_return store.status();
  store.value()->begin();
  const std::vector<std::byte> chunk(10'000, std::byte{0x15});
  Status status = co_await store.value()->put(static_cast<std::uint64_t>(life), chunk);
  if (status.ok()) status = co_await store.value()->commit(0, {});
  co_return status;
}

TEST_CASE("a log and checkpoints on a real disk are read back by the next process") {
  using DurableWrites = FileDisk::DurableWrites;
  const Folder folder;
  for (int life = 0; life < 3; ++life) {
    const auto reactor = make_reactor();
    const DurableWrites ways[] = {DurableWrites::as_device_says, DurableWrites::one_request,
                                  DurableWrites::write_and_sync};
    FileDisk disk(*reactor, FileDisk::Access::read_write, ways[life]);
    const Status status = reactor->run_until(work(reactor.get(), &disk, folder.path(), life));
    CHECK(status.to_string() == "ok");
  }
  const auto reactor = make_reactor();
  FileDisk disk(*reactor, FileDisk::Access::read_only);
  const auto report = reactor->run_until(verify_folder(disk, folder.path()));
  REQUIRE(report.ok());
  CHECK(report.value().findings.empty());
  CHECK(report.value().records == 300);
  CHECK(report.value().checkpoints.size() == 2);
}

reactor::Task<void> refuse(reactor::Reactor* reactor, std::string folder) {
  FileDisk disk(*reactor);
  const std::string nowhere = folder + "/nowhere";
  const std::string elsewhere = folder + "/elsewhere";
  const auto listed = co_await disk.list(nowhere);
  CHECK(listed.status().message() == "cannot read " + nowhere + ": No such file or directory");
  const auto opened = co_await disk.open(nowhere);
  CHECK(opened.status().message() == "cannot open " + nowhere + ": No such file or directory");
  const Status removed = co_await disk.remove(nowhere);
  CHECK(removed.code() == kDiskFailed);
  const Status renamed = co_await disk.rename(nowhere, elsewhere);
  CHECK(renamed.code() == kDiskFailed);
  const Status synced = co_await disk.sync_folder(nowhere);
  CHECK(synced.code() == kDiskFailed);
  // More than any disk has.
  const std::string large = folder + "/large";
  constexpr std::uint64_t kTooLarge_bytes = std::uint64_t{1} << 50;
  const auto created = co_await disk.create(large, kTooLarge_bytes);
  REQUIRE_FALSE(created.ok());
  CHECK((created.status().code() == kDiskFull || created.status().code() == kDiskFailed));
  const std::string made = folder + "/made";
  const Status once = co_await disk.make_folder(made);
  const Status twice = co_await disk.make_folder(made);
  CHECK((once.ok() && twice.ok()));
}

TEST_CASE("a call that the operating system refuses is named") {
  const Folder folder;
  const auto reactor = make_reactor();
  reactor->run_until(refuse(reactor.get(), folder.path()));
}

}  // namespace file_disk_test
}  // namespace namdb::memory
