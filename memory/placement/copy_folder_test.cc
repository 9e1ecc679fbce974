// The folder of a copy, with generations of two primaries.
#include "memory/placement/copy_folder.h"

#include <catch2/catch.hpp>
#include <memory>
#include <utility>
#include <vector>

#include "memory/log/testing/fault_disk.h"
#include "memory/log/testing/run_task.h"
#include "memory/log/testing/small_log.h"

namespace namdb::memory {
namespace copy_folder_test {

using reactor::testing::ManualExecutor;
using testing::FaultDisk;
using testing::kIdentity;
using testing::run_task;

// A block of a primary's log that is the first of its segment.
struct FirstBlock {
  LogTail before;
  std::vector<char> bytes;
};

FirstBlock block_of_second_segment() {
  ManualExecutor executor;
  FaultDisk disk(executor, 3);
  auto made =
      run_task(executor, Log::create(executor, disk, "first/log", kIdentity, testing::small_log_options()));
  REQUIRE(made.ok());
  const std::unique_ptr<Log> log = std::move(*made);
  FirstBlock first;
  log->watch_blocks([&first](const Log::SealedBlock& block) {
    if (block.before.segment == 0 || !first.bytes.empty()) return;
    const auto* const begin = reinterpret_cast<const char*>(block.bytes.data());
    first.before = block.before;
    first.bytes.assign(begin, begin + block.bytes.size());
  });
  const std::vector<std::byte> record(5000);
  while (first.bytes.empty()) {
    const auto appended = run_task(executor, log->append(3, record));
    REQUIRE(appended.ok());
    REQUIRE(run_task(executor, log->flush(appended->end)).ok());
  }
  run_task(executor, log->close());
  return first;
}

// Whether a folder whose log begins with that block opens with an older and a newer generation.
Status opened_with(const FirstBlock& block, LogPosition older, LogPosition newer) {
  ManualExecutor executor;
  FaultDisk disk(executor, 1);
  CopyFolder folder(executor, disk, "copy");
  REQUIRE(run_task(executor, folder.clear()).ok());
  REQUIRE(run_task(executor,
                   folder.begin_log(kIdentity, testing::small_log_options().segment_bytes, block.before))
              .ok());
  REQUIRE(run_task(executor, folder.write(block.bytes)).ok());
  std::uint64_t generation = (std::uint64_t{3} << kGenerationCount_bits) + 5;
  for (const LogPosition redo_from : {older, newer}) {
    Manifest manifest;
    manifest.identity = kIdentity;
    manifest.generation = generation;
    manifest.redo_from = redo_from;
    const PageBuffer file = write_manifest(manifest);
    REQUIRE(run_task(executor, folder.put_generation(std::move(manifest), &file)).ok());
    generation = (std::uint64_t{4} << kGenerationCount_bits) + 1;
  }
  REQUIRE(run_task(executor, folder.trim_log()).ok());
  run_task(executor, folder.close());
  CopyFolder again(executor, disk, "copy");
  Status status = run_task(executor, again.open(kIdentity.owner));
  run_task(executor, again.close());
  return status;
}

}  // namespace copy_folder_test

using namespace copy_folder_test;

TEST_CASE("a copy's folder opens only with the log that both of its generations need", "[placement]") {
  const FirstBlock block = block_of_second_segment();
  const LogPosition begin = block.before.position;
  CHECK(opened_with(block, begin, begin + 8).ok());
  CHECK(opened_with(block, begin + 8, begin).ok());
  CHECK(opened_with(block, begin - 8, begin).code() == ErrorCode::corrupt_data);
  // The newer one is of another primary, and needs more of the log than the older one.
  CHECK(opened_with(block, begin, begin - 8).code() == ErrorCode::corrupt_data);
}

}  // namespace namdb::memory
