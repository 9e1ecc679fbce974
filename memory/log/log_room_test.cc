// Room for the log: a full disk, the bound, segments used again, and records that wait for a segment.
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "memory/log/log.h"
#include "memory/log/testing/fault_disk.h"
#include "memory/log/testing/run_task.h"
#include "memory/log/testing/small_log.h"

namespace namdb::memory {
namespace log_room_test {

using reactor::testing::ManualExecutor;
using testing::FaultDisk;
using testing::kIdentity;
using testing::run_task;
using testing::small_log_options;

const std::string kFolder = "data/log";

std::unique_ptr<Log> make_log(ManualExecutor& executor, FaultDisk& disk, LogOptions options) {
  auto log = run_task(executor, Log::create(executor, disk, kFolder, kIdentity, std::move(options)));
  REQUIRE(log.ok());
  return std::move(*log);
}

reactor::Task<Status> append_and_flush(Log* log, std::size_t length, Log::Urgency urgency) {
  const std::vector<std::byte> bytes(length, std::byte{0x33});
  const auto appended = co_await log->append(1, bytes, urgency);
  if (!appended.ok()) co_return appended.status();
  co_return co_await log->flush(appended.value().end);
}

reactor::Task<void> ignore(reactor::Task<Status> task) {
  static_cast<void>(co_await std::move(task));
}

reactor::Task<void> append_long(Log* log, Status* status, bool* done) {
  const std::vector<std::byte> bytes(100'000, std::byte{0x44});
  const auto appended = co_await log->append(1, bytes);
  if (!appended.ok()) *status = appended.status();
  *done = true;
}

TEST_CASE("a full disk refuses records, keeps room for urgent ones, and takes all again when there is room") {
  ManualExecutor executor;
  FaultDisk disk(executor, 1);
  disk.set_capacity(100U << 10);  // three segments
  const auto log = make_log(executor, disk, small_log_options());
  Status status;
  int accepted = 0;
  for (; accepted < 1000; ++accepted) {
    status = run_task(executor, append_and_flush(log.get(), 1000, Log::Urgency::ordinary));
    if (!status.ok()) break;
  }
  CHECK(accepted > 5);
  REQUIRE_FALSE(status.ok());
  CHECK(status.code() == kDiskFull);
  CHECK(log->failure().ok());
  CHECK(disk.used_bytes() <= 100U << 10);
  CHECK(run_task(executor, append_and_flush(log.get(), 500, Log::Urgency::urgent)).ok());
  disk.set_capacity(FaultDisk::kNever);
  CHECK(run_task(executor, append_and_flush(log.get(), 1000, Log::Urgency::ordinary)).ok());
  run_task(executor, log->close());
}

TEST_CASE("however many urgent records come, there is room for deciding ones") {
  ManualExecutor executor;
  FaultDisk disk(executor, 1);
  LogOptions options = small_log_options();
  options.max_bytes = 4 * options.segment_bytes;
  options.reserve_bytes = 16U << 10;
  const auto log = make_log(executor, disk, options);
  for (const Log::Urgency urgency : {Log::Urgency::ordinary, Log::Urgency::urgent}) {
    Status status;
    int accepted = 0;
    for (; status.ok(); ++accepted) status = run_task(executor, append_and_flush(log.get(), 1000, urgency));
    CHECK(status.code() == kDiskFull);
    CHECK(accepted > 1);
  }
  CHECK(run_task(executor, append_and_flush(log.get(), 500, Log::Urgency::deciding)).ok());
  CHECK(run_task(executor, append_and_flush(log.get(), 500, Log::Urgency::ordinary)).code() == kDiskFull);
  CHECK(run_task(executor, append_and_flush(log.get(), 500, Log::Urgency::deciding)).ok());
  run_task(executor, log->close());
}

TEST_CASE("the log keeps its bound; reclaimed segments are used again") {
  ManualExecutor executor;
  FaultDisk disk(executor, 1);
  LogOptions options = small_log_options();
  options.max_bytes = 4 * options.segment_bytes;
  const auto log = make_log(executor, disk, options);
  Status status;
  for (int i = 0; i < 1000 && status.ok(); ++i)
    status = run_task(executor, append_and_flush(log.get(), 1000, Log::Urgency::ordinary));
  REQUIRE_FALSE(status.ok());
  CHECK(status.code() == kDiskFull);
  CHECK(status.hint() == "a checkpoint gives room back");
  CHECK(log->disk_bytes() == options.max_bytes);
  for (int i = 0; i < 300; ++i) {
    CHECK(run_task(executor, log->reclaim(log->durable())).ok());
    REQUIRE(run_task(executor, append_and_flush(log.get(), 1000, Log::Urgency::ordinary)).ok());
    REQUIRE(log->disk_bytes() <= options.max_bytes + options.segment_bytes);
  }
  CHECK(log->counters().segments_reused > 10);
  CHECK(disk.used_bytes() <= options.max_bytes + options.segment_bytes);
  run_task(executor, log->close());
}

TEST_CASE("segments that lie before the start of redo are given back after a restart, too") {
  ManualExecutor executor;
  FaultDisk disk(executor, 1);
  auto log = make_log(executor, disk, small_log_options());
  LogPosition middle = 0;
  for (int i = 0; i < 60; ++i) {
    REQUIRE(run_task(executor, append_and_flush(log.get(), 1000, Log::Urgency::ordinary)).ok());
    if (i == 40) middle = log->durable();
  }
  run_task(executor, log->close());
  REQUIRE(log->disk_bytes() > 8 * small_log_options().segment_bytes);
  disk.restart(FaultDisk::End::killed);
  LogReader reader(disk, kFolder);
  REQUIRE(run_task(executor, reader.open(middle, kIdentity.owner)).ok());
  int records = 0;
  while (run_task(executor, reader.next()).value()) ++records;
  CHECK(records == 19);
  auto resumed =
      run_task(executor, Log::resume(executor, disk, kFolder, reader.take_end(), small_log_options()));
  REQUIRE(resumed.ok());
  log = std::move(*resumed);
  CHECK(run_task(executor, log->reclaim(middle)).ok());
  executor.run_ready();
  CHECK(log->disk_bytes() <= 6 * small_log_options().segment_bytes);
  CHECK(disk.used_bytes() == log->disk_bytes());
  CHECK_FALSE(disk.has(kFolder + "/" + segment_name(0)));
  run_task(executor, log->close());
}

// The log's second segment is just full, and all before its end may go, while a record goes to the third one.
void reclaim_and_append(std::uint64_t seed, std::uint64_t step) {
  ManualExecutor executor;
  FaultDisk disk(executor, seed);
  const auto log = make_log(executor, disk, small_log_options());
  const std::uint64_t pages = 2 * (small_log_options().segment_bytes / kDiskPage_bytes - 1);
  for (std::uint64_t i = 0; i < pages; ++i)
    REQUIRE(run_task(executor, append_and_flush(log.get(), 1000, Log::Urgency::ordinary)).ok());
  executor.run_ready();
  const LogPosition end = log->durable();
  disk.set_latency(1, 100);
  disk.stop_at(disk.steps() + step);
  reactor::Gate gate;
  executor.spawn(gate, ignore(log->reclaim(end)));
  executor.spawn(gate, ignore(append_and_flush(log.get(), 1000, Log::Urgency::ordinary)));
  for (int i = 0; i < 2000; ++i) {
    executor.advance(1);
    executor.run_ready();
  }
  REQUIRE(gate.count() == 0);
  run_task(executor, log->close());
  disk.set_latency(0, 0);
  disk.restart(FaultDisk::End::power_lost);
  LogReader reader(disk, kFolder);
  const Status opened = run_task(executor, reader.open(end, kIdentity.owner));
  INFO("seed " << seed << ", step " << step << ": " << opened.to_string());
  REQUIRE(opened.ok());
  run_task(executor, reader.close());
}

TEST_CASE("the last segment with a whole block stays while the next has none, wherever the power goes") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    for (std::uint64_t step = 0; step < 12; ++step) reclaim_and_append(seed, step);
  }
}

TEST_CASE("an append that waits for a segment ends when the log is closed") {
  ManualExecutor executor;
  FaultDisk disk(executor, 1);
  const auto log = make_log(executor, disk, small_log_options());
  Status status;
  reactor::Gate gate;
  bool done = false;
  executor.spawn(gate, append_long(log.get(), &status, &done));
  executor.turn();
  executor.turn();
  REQUIRE_FALSE(done);
  run_task(executor, log->close());
  CHECK(done);
  REQUIRE_FALSE(status.ok());
  CHECK(status.code() == ErrorCode::admin_shutdown);
}

TEST_CASE("a segment to be used again for which there is no room is given back, and another is made later") {
  ManualExecutor executor;
  FaultDisk disk(executor, 1);
  LogOptions options = small_log_options();
  options.max_bytes = 2 * options.segment_bytes;
  const auto log = make_log(executor, disk, options);
  executor.run_ready();
  while (run_task(executor, append_and_flush(log.get(), 1000, Log::Urgency::ordinary)).ok()) {
  }
  // The header of the segment that is used again finds no room, as on a disk that copies what it writes.
  disk.refuse_writes(true);
  CHECK(run_task(executor, log->reclaim(log->durable())).ok());
  const Status full = run_task(executor, append_and_flush(log.get(), 5000, Log::Urgency::ordinary));
  REQUIRE_FALSE(full.ok());
  CHECK(full.code() == kDiskFull);
  CHECK(log->failure().ok());
  disk.refuse_writes(false);
  CHECK(run_task(executor, append_and_flush(log.get(), 5000, Log::Urgency::ordinary)).ok());
  run_task(executor, log->close());
}

TEST_CASE("a log is full as soon as no segment can follow, while it takes records, until there is room") {
  ManualExecutor executor;
  FaultDisk disk(executor, 1);
  LogOptions options = small_log_options();
  options.max_bytes = 2 * options.segment_bytes;
  const auto log = make_log(executor, disk, options);
  executor.run_ready();
  CHECK_FALSE(log->full());
  for (int i = 0; i < 8; ++i)
    REQUIRE(run_task(executor, append_and_flush(log.get(), 1000, Log::Urgency::ordinary)).ok());
  executor.run_ready();
  CHECK(log->full());
  CHECK(run_task(executor, append_and_flush(log.get(), 1000, Log::Urgency::ordinary)).ok());
  CHECK(run_task(executor, log->reclaim(log->durable())).ok());
  executor.run_ready();
  CHECK_FALSE(log->full());
  // A disk that others had filled.
  disk.set_capacity(disk.used_bytes());
  options.max_bytes = 8 * options.segment_bytes;
  disk.restart(FaultDisk::End::killed);
  run_task(executor, log->close());
  LogReader reader(disk, kFolder);
  REQUIRE(run_task(executor, reader.open(0, kIdentity.owner)).ok());
  while (run_task(executor, reader.next()).value()) {
  }
  auto resumed = run_task(executor, Log::resume(executor, disk, kFolder, reader.take_end(), options));
  REQUIRE(resumed.ok());
  Log& again = **resumed;
  Status status;
  while (status.ok()) status = run_task(executor, append_and_flush(&again, 1000, Log::Urgency::ordinary));
  CHECK(status.code() == kDiskFull);
  CHECK(again.full());
  disk.set_capacity(FaultDisk::kNever);
  executor.advance(2 * kSecond_ns);
  CHECK(again.full());  // and tries
  executor.run_ready();
  CHECK_FALSE(again.full());
  run_task(executor, again.close());
}

TEST_CASE("records longer than a segment are taken, and those longer than the log are refused") {
  ManualExecutor executor;
  FaultDisk disk(executor, 1);
  const auto log = make_log(executor, disk, small_log_options());
  CHECK(run_task(executor, append_and_flush(log.get(), 200'000, Log::Urgency::ordinary)).ok());
  const Status status = run_task(executor, append_and_flush(log.get(), 600'000, Log::Urgency::ordinary));
  REQUIRE_FALSE(status.ok());
  CHECK(status.message() == "a record of 600000 bytes is too long for the log");
  CHECK(run_task(executor, append_and_flush(log.get(), 0, Log::Urgency::ordinary)).ok());
  run_task(executor, log->close());
}

}  // namespace log_room_test
}  // namespace namdb::memory
