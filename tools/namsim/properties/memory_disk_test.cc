// The disks of simulated memory servers: a log on each, in virtual time, through kills and losses of power of
// one server or of all, also while a log is being read back. A record is there if it was acknowledged, or if
// an earlier process has read it back.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "memory/log/log.h"
#include "tools/namsim/cluster/cluster.h"
#include "tools/namsim/testing/seeds.h"

namespace namdb::sim {
namespace {

using fabric::sim::SimWorld;
using memory::Log;
using memory::LogPosition;
using memory::LogReader;
using reactor::Task;

const std::string kLogFolder = "data/log";
constexpr LogPosition kNeeded_bytes = 100'000;  // of the log; the rest is reclaimed

struct LoggedRecord {
  std::vector<std::byte> bytes;
  LogPosition end = 0;
};

// All that a server's log should hold, over all its lives.
struct LoggedHistory {
  std::map<LogPosition, LoggedRecord> records;
  LogPosition kept = 0;       // up to here nothing may be lost
  LogPosition reclaimed = 0;  // before it nothing is needed
  std::string wrong;
};

struct LogRunCounts {
  std::uint64_t acknowledged = 0;
  std::uint64_t dropped = 0;  // records without a waiting call
  std::uint64_t ended_reading = 0;
  std::uint64_t reused = 0;
};

// A memory server's use of its disk.
struct LogProcess {
  reactor::Gate gate;
  std::unique_ptr<LogReader> reader;
  std::unique_ptr<Log> log;
  bool opened = false;
};

memory::LogOptions small_log() {
  memory::LogOptions options;
  options.segment_bytes = 64U << 10;
  options.max_bytes = 1U << 20;
  options.max_block_bytes = 16U << 10;
  options.reserve_bytes = 8U << 10;
  return options;
}

Task<void> append_for_ever(reactor::Executor* executor, LogProcess* process, LoggedHistory* history,
                           LogRunCounts* counts) {
  while (process->log->failure().ok()) {
    Random& random = executor->random();
    const std::size_t length = random.chance(0.1) ? random.below(20'000) : random.below(500);
    const std::vector<std::byte> bytes(length, static_cast<std::byte>(random.below(256)));
    const auto appended = co_await process->log->append(1, bytes);
    if (!appended.ok() && appended.status().code() == memory::kDiskFull) {
      co_await executor->sleep_for(kMillisecond_ns);  // until some is reclaimed
      continue;
    }
    if (!appended.ok()) {
      history->wrong = appended.status().to_string();
      co_return;
    }
    history->records[appended.value().begin] = {bytes, appended.value().end};
    if (random.chance(0.2)) continue;
    const Status status = co_await process->log->flush(appended.value().end);
    if (!status.ok()) {
      history->wrong = status.to_string();
      co_return;
    }
    history->kept = std::max(history->kept, appended.value().end);
    ++counts->acknowledged;
    co_await executor->sleep_for(random.below(100'000));
  }
}

Task<void> reclaim_for_ever(reactor::Executor* executor, LogProcess* process, LoggedHistory* history,
                            LogRunCounts* counts) {
  while (process->log->failure().ok()) {
    co_await executor->sleep_for(executor->random().below(2 * kMillisecond_ns));
    const auto oldest = history->records.lower_bound(history->kept - std::min(history->kept, kNeeded_bytes));
    if (oldest == history->records.end() || oldest->first > history->kept) continue;
    history->reclaimed = std::max(history->reclaimed, oldest->first);
    const Status status = co_await process->log->reclaim(history->reclaimed);
    if (!status.ok()) history->wrong = status.to_string();
    counts->reused = std::max(counts->reused, process->log->counters().segments_reused);
  }
}

// A record that is handed out counts as acknowledged.
Task<Status> read_back(LogReader* reader, LoggedHistory* history, LogRunCounts* counts) {
  Status status = co_await reader->open(history->reclaimed, std::nullopt);
  if (!status.ok()) co_return status;
  auto expected = history->records.lower_bound(history->reclaimed);
  while (true) {
    const auto next = co_await reader->next();
    if (!next.ok()) co_return next.status();
    if (!next.value()) break;
    const memory::LogRecord& record = *next.value();
    if (expected == history->records.end() || expected->first != record.begin ||
        !std::ranges::equal(expected->second.bytes, record.bytes)) {
      co_return Status(ErrorCode::internal, "the record at " + std::to_string(record.begin) +
                                                " was not appended next, or other bytes were");
    }
    history->kept = std::max(history->kept, record.end);
    ++expected;
  }
  if (expected != history->records.end() && expected->second.end <= history->kept) {
    co_return Status(ErrorCode::internal, "the record at " + std::to_string(expected->first) +
                                              " was acknowledged and is not there");
  }
  for (; expected != history->records.end(); expected = history->records.erase(expected)) ++counts->dropped;
  co_return Status();
}

Task<void> open_log(reactor::Executor* executor, memory::Disk* disk, LogProcess* process,
                    LoggedHistory* history, LogRunCounts* counts) {
  const auto names = co_await disk->list(kLogFolder);
  bool any = false;
  if (names.ok()) {
    for (const std::string& name : names.value()) any = any || memory::segment_number(name).has_value();
  }
  Result<std::unique_ptr<Log>> log = Status(ErrorCode::internal, "not opened");
  if (any) {
    process->reader = std::make_unique<LogReader>(*disk, kLogFolder);
    const Status status = co_await read_back(process->reader.get(), history, counts);
    if (!status.ok()) {
      history->wrong = status.to_string();
      co_return;
    }
    log = co_await Log::resume(*executor, *disk, kLogFolder, process->reader->take_end(), small_log());
  } else {
    if (history->kept != 0) history->wrong = "the log is gone";
    history->records.clear();
    const memory::LogIdentity identity{77, {1234, 0}};
    log = co_await Log::create(*executor, *disk, kLogFolder, identity, small_log());
  }
  if (!log.ok()) {
    history->wrong = log.status().to_string();
    co_return;
  }
  process->log = std::move(*log);
  process->opened = true;
  for (int i = 0; i < 4; ++i)
    executor->spawn(process->gate, append_for_ever(executor, process, history, counts));
  executor->spawn(process->gate, reclaim_for_ever(executor, process, history, counts));
}

class LogRun {
 public:
  LogRun(std::uint64_t seed, std::uint32_t servers)
      : random_(seed), world_(seed), cluster_(world_, options(servers)), histories_(servers) {
    processes_.resize(servers);
  }

  LogRun(const LogRun&) = delete;
  LogRun& operator=(const LogRun&) = delete;
  ~LogRun() {
    bury_all();
    cluster_.restart_all_memory(DiskAfter::replaced);
  }

  // The first mistake; empty: none.
  std::string run(int lives, LogRunCounts& counts) {
    for (int life = 0; life < lives; ++life) {
      for (std::size_t server = 0; server < processes_.size(); ++server) start(server, counts);
      // Some ends come while the logs are being read.
      world_.run_for(random_.below(random_.chance(0.3) ? 300'000 : 12 * kMillisecond_ns));
      for (const LoggedHistory& history : histories_) {
        if (!history.wrong.empty()) return history.wrong;
      }
      const DiskAfter after = random_.chance(0.7) ? DiskAfter::power_lost : DiskAfter::killed;
      const std::size_t victim = random_.below(processes_.size() + 1);
      for (std::size_t server = 0; server < processes_.size(); ++server) {
        if (victim != server && victim != processes_.size()) continue;
        counts.ended_reading += processes_[server]->opened ? 0 : 1;
        SimWorld::bury(std::move(processes_[server]));
      }
      if (victim == processes_.size()) {
        cluster_.restart_all_memory(after);
      } else {
        cluster_.restart_memory(victim, after);
      }
    }
    bury_all();
    cluster_.restart_all_memory(DiskAfter::power_lost);
    return read_all(counts);
  }
  std::uint64_t fingerprint() const { return world_.fingerprint(); }

 private:
  static ClusterOptions options(std::uint32_t servers) {
    ClusterOptions options;
    options.memory_servers = servers;
    options.memory.extent_bytes = 64U << 10;
    options.memory.journal_bytes = 128U << 10;
    options.region_bytes = 4U << 20;
    return options;
  }

  void start(std::size_t server, LogRunCounts& counts) {
    if (processes_[server] != nullptr) return;
    processes_[server] = std::make_unique<LogProcess>();
    LogProcess* const process = processes_[server].get();
    MemoryProcess& memory = cluster_.memory(server);
    memory.node->spawn(process->gate,
                       open_log(memory.node, memory.disk, process, &histories_[server], &counts));
  }

  // Before their nodes are killed.
  void bury_all() {
    for (auto& process : processes_) {
      if (process != nullptr) SimWorld::bury(std::move(process));
    }
  }

  std::string read_all(LogRunCounts& counts) {
    for (std::size_t server = 0; server < histories_.size(); ++server) {
      LoggedHistory& history = histories_[server];
      if (history.kept == 0) continue;
      LogReader reader(*cluster_.memory(server).disk, kLogFolder);
      const Status status = world_.run(*cluster_.memory(server).node, read_back(&reader, &history, &counts));
      if (!status.ok()) return status.to_string();
    }
    return {};
  }

  Random random_;
  SimWorld world_;
  Cluster cluster_;
  std::vector<LoggedHistory> histories_;
  std::vector<std::unique_ptr<LogProcess>> processes_;
};

}  // namespace

TEST_CASE("a log on a simulated disk keeps what was acknowledged through kills and losses of power") {
  const Seeds seeds(60);
  LogRunCounts counts;
  for (std::uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    INFO("seed " << seed);
    LogRun run(seed, 1 + static_cast<std::uint32_t>(seed % 3));
    REQUIRE(run.run(8, counts) == "");
  }
  CHECK(counts.acknowledged > 100 * seeds.count);
  CHECK(counts.dropped > seeds.count);
  CHECK(counts.ended_reading > seeds.count / 3);
  CHECK(counts.reused > 0);
}

TEST_CASE("a run with disks is decided by its seed") {
  LogRunCounts first;
  LogRunCounts second;
  LogRun one(5, 2);
  LogRun other(5, 2);
  CHECK(one.run(5, first) == other.run(5, second));
  CHECK(one.fingerprint() == other.fingerprint());
  CHECK(first.acknowledged == second.acknowledged);
}

}  // namespace namdb::sim
