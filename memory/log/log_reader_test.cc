// Reading back in windows: the same records whatever their length, and those that follow are read while the
// records of one are worked on.
#include "memory/log/log_reader.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "common/base/random.h"
#include "memory/log/log.h"
#include "memory/log/testing/fault_disk.h"
#include "memory/log/testing/run_task.h"

namespace namdb::memory {
namespace log_reader_test {

using reactor::testing::ManualExecutor;
using testing::FaultDisk;
using testing::run_task;

const std::string kFolder = "data/log";
constexpr std::uint64_t kSegment_bytes = 256U << 10;

std::vector<std::byte> record_bytes(Random& random) {
  const std::uint64_t length = random.chance(0.1) ? random.below(60'000) : random.below(600);
  return std::vector<std::byte>(length, static_cast<std::byte>(random.below(256)));
}

reactor::Task<void> fill_log(Log* log, int records) {
  Random random(9);
  for (int i = 0; i < records; ++i) {
    const std::vector<std::byte> bytes = record_bytes(random);
    const auto appended = co_await log->append(1, bytes);
    REQUIRE(appended.ok());
    if (i % 5 != 4) continue;
    const Status status = co_await log->flush(appended.value().end);
    REQUIRE(status.ok());
  }
}

struct FilledLog {
  explicit FilledLog(int records) {
    LogOptions options;
    options.segment_bytes = kSegment_bytes;
    options.max_block_bytes = 64U << 10;
    options.reserve_bytes = 0;
    const LogIdentity identity{77, {1234, 0}};
    auto log = run_task(executor, Log::create(executor, disk, kFolder, identity, options));
    REQUIRE(log.ok());
    run_task(executor, fill_log(log->get(), records));
    run_task(executor, (*log)->close());
  }
  ManualExecutor executor;
  FaultDisk disk{executor, 1};
};

TEST_CASE("windows of any length give the same records, in order") {
  constexpr int kRecords = 400;
  FilledLog filled(kRecords);
  for (const std::uint64_t pages : {1U, 2U, 3U, 7U, 16U, 61U, 1000U}) {
    INFO(pages << " pages");
    LogReader reader(filled.disk, kFolder, pages * kDiskPage_bytes);
    REQUIRE(run_task(filled.executor, reader.open(0, std::nullopt)).ok());
    Random random(9);
    for (int i = 0; i < kRecords; ++i) {
      const auto next = run_task(filled.executor, reader.next());
      REQUIRE(next.ok());
      REQUIRE(next.value());
      REQUIRE(std::ranges::equal(next.value()->bytes, record_bytes(random)));
    }
    const auto end = run_task(filled.executor, reader.next());
    REQUIRE(end.ok());
    CHECK_FALSE(end.value());
  }
}

TEST_CASE("the windows behind the one whose records are handed out are read meanwhile, and no further ones") {
  FilledLog filled(400);
  constexpr std::uint64_t kWindow_bytes = 8 * kDiskPage_bytes;
  LogReader reader(filled.disk, kFolder, kWindow_bytes);
  REQUIRE(run_task(filled.executor, reader.open(0, std::nullopt)).ok());
  const std::uint64_t before = filled.disk.read_bytes();
  REQUIRE(run_task(filled.executor, reader.next()).value());
  filled.executor.run_ready();
  CHECK(filled.disk.read_bytes() == before + ReadAhead::kWindows * kWindow_bytes);
  run_task(filled.executor, reader.close());
}

TEST_CASE("a reader that is left in the middle ends with what is read ahead") {
  FilledLog filled(400);
  filled.disk.set_latency(1000, 1000);
  for (int records = 0; records < 100; records += 7) {
    LogReader reader(filled.disk, kFolder, 2 * kDiskPage_bytes);
    REQUIRE(run_task(filled.executor, reader.open(0, std::nullopt)).ok());
    for (int i = 0; i < records; ++i) REQUIRE(run_task(filled.executor, reader.next()).value());
    run_task(filled.executor, reader.close());
  }
}

}  // namespace log_reader_test
}  // namespace namdb::memory
