// The log under faults that a seed decides: after any end of the process or of the power, a reader
// finds all records that were flushed, in order, and none that was not appended; again and again, in the
// middle of recovery, too.
#include "memory/log/log.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "common/base/random.h"
#include "memory/log/testing/fault_disk.h"
#include "memory/log/testing/run_task.h"
#include "memory/log/testing/small_log.h"

namespace namdb::memory {
namespace log_test {

using reactor::testing::ManualExecutor;
using testing::FaultDisk;
using testing::kIdentity;
using testing::run_task;
using testing::small_log_options;

const std::string kFolder = "data/log";

std::vector<std::byte> random_bytes(Random& random, std::size_t length) {
  std::vector<std::byte> bytes(length);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.below(256));
  return bytes;
}

struct Written {
  std::vector<std::byte> bytes;
  LogPosition end = 0;
};

// The records that a reader must find.
struct History {
  std::map<LogPosition, Written> records;  // by their beginning
  LogPosition flushed = 0;                 // acknowledged, or acted on after a restart
  LogPosition reclaimed = 0;
};

struct Life {
  ManualExecutor& executor;
  FaultDisk& disk;
  Random& random;
  History& history;
  LogOptions options = small_log_options();
  int failures = 0;
  std::string wrong;
};

reactor::Task<void> append_some(Life* life, Log* log, int count) {
  Random& random = life->random;
  for (int i = 0; i < count; ++i) {
    std::size_t length = random.below(400);
    if (random.chance(0.05)) length = random.below(60'000);
    const std::vector<std::byte> bytes = random_bytes(random, length);
    const auto appended = co_await log->append(3, bytes);
    if (!appended.ok()) co_return;
    life->history.records[appended.value().begin] = {bytes, appended.value().end};
    if (random.chance(0.4)) {
      const Status status = co_await log->flush(appended.value().end);
      if (!status.ok()) co_return;
      life->history.flushed = std::max(life->history.flushed, appended.value().end);
    }
    if (random.chance(0.3)) co_await life->executor.yield();
  }
}

reactor::Task<void> reclaim_some(Life* life, Log* log, int count) {
  for (int i = 0; i < count; ++i) {
    for (int turns = 0; turns < 20; ++turns) co_await life->executor.yield();
    History& history = life->history;
    auto oldest = history.records.lower_bound(history.reclaimed);
    for (std::uint64_t steps = life->random.below(40);
         steps != 0 && oldest != history.records.end() && oldest->second.end <= history.flushed; --steps)
      ++oldest;
    if (oldest == history.records.end() || oldest->first > history.flushed) continue;
    history.reclaimed = oldest->first;
    const Status status = co_await log->reclaim(history.reclaimed);
    if (!status.ok()) co_return;
  }
}

// Reads everything and compares; the reader is at the end then. An error of the disk does not show a mistake
// of the log.
reactor::Task<Status> read_back(Life* life, LogReader* reader) {
  History& history = life->history;
  Status status = co_await reader->open(history.reclaimed, kIdentity.owner);
  if (!status.ok()) co_return status;
  auto expected = history.records.lower_bound(history.reclaimed);
  while (true) {
    const auto next = co_await reader->next();
    if (!next.ok()) co_return next.status();
    if (!next.value()) break;
    const LogRecord& record = *next.value();
    if (expected == history.records.end() || expected->first != record.begin ||
        expected->second.end != record.end || record.kind != 3 ||
        !std::ranges::equal(expected->second.bytes, record.bytes)) {
      life->wrong = "a record at " + std::to_string(record.begin) + " was not appended next";
      co_return Status(ErrorCode::internal, life->wrong);
    }
    ++expected;
  }
  if (expected != history.records.end() && expected->second.end <= history.flushed) {
    life->wrong = "the record at " + std::to_string(expected->first) + " was flushed and is not there";
    co_return Status(ErrorCode::internal, life->wrong);
  }
  // Others act on what was read.
  history.records.erase(expected, history.records.end());
  if (!history.records.empty())
    history.flushed = std::max(history.flushed, history.records.rbegin()->second.end);
  co_return Status();
}

// One process: recovers, works, ends somewhere.
reactor::Task<void> live(Life* life, bool first) {
  life->options.on_failure = [life](const Status&) { ++life->failures; };
  Result<std::unique_ptr<Log>> log = Status(ErrorCode::internal, "not opened");
  const auto names = co_await life->disk.list(kFolder);
  bool any = false;
  for (const std::string& name : names.value()) any = any || segment_number(name);
  if (!any) {
    if (!first && life->history.flushed != 0) {
      life->wrong = "the log is gone";
      co_return;
    }
    life->history = History();
    log = co_await Log::create(life->executor, life->disk, kFolder, kIdentity, life->options);
  } else {
    const std::uint64_t window_bytes = (1 + life->random.below(16)) * kDiskPage_bytes;
    LogReader reader(life->disk, kFolder, window_bytes);
    const Status status = co_await read_back(life, &reader);
    if (!status.ok()) {
      if (status.code() != kDiskFailed && life->wrong.empty()) life->wrong = status.to_string();
      co_return;
    }
    log = co_await Log::resume(life->executor, life->disk, kFolder, reader.take_end(), life->options);
  }
  if (!log.ok()) co_return;
  Log* const opened = log.value().get();
  reactor::Gate gate;
  for (int i = 0; i < 3; ++i) life->executor.spawn(gate, append_some(life, opened, 40));
  life->executor.spawn(gate, reclaim_some(life, opened, 6));
  co_await gate.close();
  co_await opened->close();
}

struct Ends {
  std::uint64_t lives = 0;
  std::uint64_t power_losses = 0;
  std::uint64_t errors = 0;
  std::uint64_t reused = 0;
};

std::string run_seed(std::uint64_t seed, Ends& ends) {
  ManualExecutor executor(seed);
  Random random(seed);
  FaultDisk disk(executor, random.next());
  History history;
  for (int round = 0; round < 5; ++round) {
    Life life{executor, disk, random, history};
    const bool error = random.chance(0.2);
    const std::uint64_t at = random.below(250);
    if (error) {
      disk.fail_at(at);
    } else {
      disk.stop_at(at);
    }
    run_task(executor, live(&life, round == 0));
    if (!life.wrong.empty()) return life.wrong;
    if (life.failures > 1) return "told of a failure twice";
    // After an error the disk reads back bytes that it will forget, until it has lost its power.
    const bool power = error || random.chance(0.6);
    ++ends.lives;
    ends.power_losses += power;
    ends.errors += static_cast<std::uint64_t>(life.failures);
    disk.restart(power ? FaultDisk::End::power_lost : FaultDisk::End::killed);
  }
  Life last{executor, disk, random, history};
  run_task(executor, live(&last, false));
  return last.wrong;
}

TEST_CASE("after any end of the process or the power all that was flushed is read back, and nothing else") {
  const char* divisor = std::getenv("NAMDB_SEED_DIVISOR");
  const std::uint64_t seeds = 600 / (divisor != nullptr ? std::strtoull(divisor, nullptr, 10) : 1);
  Ends ends;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    INFO("seed " << seed);
    REQUIRE(run_seed(seed, ends) == "");
  }
  CHECK(ends.power_losses > ends.lives / 3);
  CHECK(ends.errors > 0);
}

TEST_CASE("each step of a run is the last one before the power goes, and the last of the recovery after it") {
  std::uint64_t total = 0;
  for (std::uint64_t step = 0; total == 0 || step < total; ++step) {
    for (const auto end : {FaultDisk::End::killed, FaultDisk::End::power_lost}) {
      ManualExecutor executor(5);
      Random random(5);
      FaultDisk disk(executor, step);
      History history;
      INFO("step " << step);
      Life life{executor, disk, random, history};
      if (total != 0) disk.stop_at(step);
      run_task(executor, live(&life, true));
      REQUIRE(life.wrong == "");
      if (total == 0) total = disk.steps();
      disk.restart(end);
      for (std::uint64_t recovery = 0; recovery < 8; ++recovery) {
        Life again{executor, disk, random, history};
        disk.stop_at(recovery);
        run_task(executor, live(&again, false));
        REQUIRE(again.wrong == "");
        disk.restart(FaultDisk::End::power_lost);
      }
    }
  }
  CHECK(total > 100);
}

// The records that are there after a kill at that step, another process that writes, and a loss of power.
reactor::Task<void> write_after_kill(ManualExecutor* executor, FaultDisk* disk, bool first, int* written) {
  Result<std::unique_ptr<Log>> log = Status(ErrorCode::internal, "not opened");
  LogReader reader(*disk, kFolder);
  const Status opened = co_await reader.open(0, std::nullopt);
  if (opened.ok()) {
    while (true) {
      const auto next = co_await reader.next();
      if (!next.ok() || !next.value()) break;
    }
    log = co_await Log::resume(*executor, *disk, kFolder, reader.take_end(), small_log_options());
  } else {
    log = co_await Log::create(*executor, *disk, kFolder, kIdentity, small_log_options());
  }
  if (!log.ok()) co_return;
  const std::vector<std::byte> bytes(5000, std::byte{0x55});
  for (int i = 0; i < (first ? 2 : 10); ++i) {
    const auto appended = co_await log.value()->append(1, bytes);
    if (!appended.ok()) break;
    const Status status = co_await log.value()->flush(appended.value().end);
    if (!status.ok()) break;
    ++*written;
  }
  co_await log.value()->close();
}

TEST_CASE("a segment whose name was not durable when its process was killed is kept by the next process") {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    for (std::uint64_t step = 0; step < 30; ++step) {
      INFO("seed " << seed << ", step " << step);
      ManualExecutor executor;
      FaultDisk disk(executor, seed);
      int written = 0;
      disk.stop_at(step);
      run_task(executor, write_after_kill(&executor, &disk, true, &written));
      disk.restart(FaultDisk::End::killed);
      run_task(executor, write_after_kill(&executor, &disk, false, &written));
      REQUIRE(written >= 10);
      disk.restart(FaultDisk::End::power_lost);
      LogReader reader(disk, kFolder);
      REQUIRE(run_task(executor, reader.open(0, kIdentity.owner)).ok());
      int found = 0;
      while (run_task(executor, reader.next()).value()) ++found;
      REQUIRE(found >= written);
    }
  }
}

// --- one property each ---

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

reactor::Task<void> flush_one(Log* log, std::size_t length, int* done) {
  const Status status = co_await append_and_flush(log, length, Log::Urgency::ordinary);
  *done += status.ok();
}

TEST_CASE("records appended during a write go into the next, together") {
  ManualExecutor executor;
  FaultDisk disk(executor, 1);
  LogOptions options = small_log_options();
  options.reserve_bytes = 0;
  const auto log = make_log(executor, disk, options);
  executor.run_ready();
  reactor::Gate gate;
  int done = 0;
  executor.spawn(gate, flush_one(log.get(), 100, &done));
  executor.turn();
  executor.turn();  // the write is under way
  for (int i = 0; i < 20; ++i) executor.spawn(gate, flush_one(log.get(), 100, &done));
  executor.run_ready();
  CHECK(done == 21);
  CHECK(log->counters().records == 21);
  CHECK(log->counters().writes == 2);
  run_task(executor, log->close());
}

TEST_CASE("after a failed write nothing is tried again, and everybody is told") {
  for (const std::uint64_t behind : {0U, 1U}) {
    ManualExecutor executor;
    FaultDisk disk(executor, 1);
    LogOptions options = small_log_options();
    std::vector<std::string> told;
    options.on_failure = [&told](const Status& status) { told.push_back(status.message()); };
    const auto log = make_log(executor, disk, options);
    executor.run_ready();
    CHECK(run_task(executor, append_and_flush(log.get(), 10, Log::Urgency::ordinary)).ok());
    const LogPosition durable = log->durable();
    disk.fail_at(disk.steps() + behind);
    CHECK_FALSE(run_task(executor, append_and_flush(log.get(), 10, Log::Urgency::ordinary)).ok());
    const std::uint64_t steps = disk.steps();
    const Status later = run_task(executor, append_and_flush(log.get(), 10, Log::Urgency::urgent));
    REQUIRE_FALSE(later.ok());
    CHECK(later.message() == "Input/output error");
    CHECK(told == std::vector<std::string>{later.message()});
    CHECK(log->durable() == durable);
    CHECK(run_task(executor, log->flush(durable)).ok());
    CHECK(disk.steps() == steps);
    run_task(executor, log->close());
  }
}

TEST_CASE("a record of two runs of bytes is read back as one") {
  ManualExecutor executor;
  FaultDisk disk(executor, 1);
  const auto log = make_log(executor, disk, small_log_options());
  const std::vector<std::byte> head(3, std::byte{0x0a});
  const std::vector<std::byte> body(10, std::byte{0x0b});
  const auto appended = run_task(executor, log->append(2, head, body, Log::Urgency::ordinary));
  REQUIRE(appended.ok());
  CHECK(run_task(executor, log->flush(appended.value().end)).ok());
  run_task(executor, log->close());
  LogReader reader(disk, kFolder);
  REQUIRE(run_task(executor, reader.open(0, kIdentity.owner)).ok());
  const auto record = run_task(executor, reader.next());
  REQUIRE(record.ok());
  REQUIRE(record.value());
  std::vector<std::byte> both = head;
  both.insert(both.end(), body.begin(), body.end());
  CHECK(std::ranges::equal(record.value()->bytes, both));
  run_task(executor, reader.close());
}

}  // namespace log_test
}  // namespace namdb::memory
