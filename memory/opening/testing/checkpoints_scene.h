// A memory server's checkpoints as a task, in virtual time, on a disk that takes its time.
#pragma once

#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "memory/journals/checkpoint_log.h"
#include "memory/journals/disk_log_sink.h"
#include "memory/log/testing/fault_disk.h"
#include "memory/opening/checkpoints.h"
#include "memory/testing/test_cluster.h"

namespace namdb::memory::testing {

inline constexpr std::uint64_t kSegment_bytes = 64U << 10;
inline constexpr std::uint64_t kLog_bytes = 12 * kSegment_bytes;
inline constexpr std::uint64_t kInterval_ns = 60 * kSecond_ns;
inline constexpr std::uint16_t kKind = 2;

inline LogOptions small_log() {
  LogOptions options;
  options.segment_bytes = kSegment_bytes;
  options.max_bytes = kLog_bytes;
  options.max_block_bytes = 8U << 10;
  options.reserve_bytes = 8U << 10;
  return options;
}

// A server whose log and checkpoints are on a disk that takes its time, and which has a table.
struct CheckpointsTest {
  explicit CheckpointsTest(std::uint64_t checkpoint_rate_bytes = 0)
      : rate_bytes(checkpoint_rate_bytes),
        notices(std::make_shared<std::vector<std::string>>()),
        cluster(options_with(notices), 8U << 20, 1, [this](TestCluster& made) { open(made); }),
        tool(cluster.client("tool")),
        worker(cluster.client("worker")) {
    REQUIRE(tool->connect(hello('t', true)).ok());
    REQUIRE(worker->connect(hello('w')).ok());
    slot = *worker->lease();
    table = *worker->create(accounts("accounts", 256));
    const GrantNumbers& grants = cluster.server->region().grants();
    REQUIRE(await([&grants] { return grants.mark() > grants.last(); }));
    checkpoints->start();
    begun_ns = cluster.node.now_ns();
  }
  ~CheckpointsTest() {
    if (checkpoints) close();
    tool.reset();
    worker.reset();
    cluster.run_for(kSecond_ns);
    cluster.world.run(cluster.node, sweep_log->close());
    cluster.world.run(cluster.node, log->close());
  }
  static Options options_with(std::shared_ptr<std::vector<std::string>> notices) {
    Options options = testing::small_options();
    options.notice = [notices](const std::string& line) { notices->push_back(line); };
    return options;
  }
  void open(TestCluster& made) {
    disk = std::make_unique<FaultDisk>(made.node, 1);
    disk->set_latency(kMillisecond_ns, kMillisecond_ns);
    const LogIdentity identity{77, {1234, 0}};
    log = std::move(
        *made.world.run(made.node, Log::create(made.node, *disk, "data/log", identity, small_log())));
    store = std::move(*made.world.run(made.node, CheckpointStore::open(*disk, "data/checkpoint", identity)));
    ServerState& parts = made.server->parts();
    sink = std::make_unique<DiskLogSink>(*log);
    made.server->log_to(*sink);
    sweep_log = std::make_unique<CheckpointLog>(made.node, parts.journals, *log, parts.region->grants());
    parts.region->grants().set_log(*sweep_log);
    CheckpointOptions options;
    options.interval_ns = kInterval_ns;
    options.rate_bytes = rate_bytes;
    options.folder = "data";
    options.on_failure = [this](const Status& status) {
      ++failures;
      failure = status;
    };
    checkpoints = std::make_unique<Checkpoints>(parts, *log, *store, *sweep_log, options);
  }
  void close() {
    cluster.world.run(cluster.node, checkpoints->close());
    checkpoints.reset();
  }

  // A row of each of so many records is in the next checkpoint.
  void fill(std::uint32_t rows) {
    for (std::uint32_t key = 0; key < rows; ++key) insert(key);
  }
  // So many bytes of records, durable one by one.
  void write_log(std::uint64_t bytes) {
    const std::vector<std::byte> record(1000);
    for (std::uint64_t done = 0; done < bytes; done += 4096) {
      REQUIRE(cluster.world.run(cluster.node, append(&record)).ok());
    }
  }
  reactor::Task<Status> append(const std::vector<std::byte>* record) {
    const auto appended = co_await log->append(kKind, *record);
    if (!appended.ok()) co_return appended.status();
    co_return co_await log->flush(appended->end);
  }
  // A row whose record the next checkpoint has to write.
  std::uint64_t insert(std::int64_t key) {
    const std::uint64_t record = worker->allocate(table.id(), 1)->front();
    cluster.insert(table, record, key, {slot.slot(), 1});
    cluster.server->parts().region->changed().mark(record);
    return record;
  }
  Result<control::CheckpointReply> call(control::CheckpointStep step, std::uint64_t hold_ns = 0,
                                        std::uint64_t hold = 0) {
    control::CheckpointRequest request;
    request.set_step(step);
    request.set_hold_ns(hold_ns);
    request.set_hold(hold);
    request.set_pause_ns(kSecond_ns);
    return tool->call<control::CheckpointReply>(control::CHECKPOINT, request);
  }
  control::DiskStatus status() { return cluster.server->status().disk(); }
  std::uint64_t finished() { return checkpoints->finished(); }
  bool await(const std::function<bool()>& condition) {
    return cluster.world.run_until(condition, 10 * kInterval_ns);
  }

  // A call in a task of its own.
  struct Waiting {
    std::optional<Status> status;
    control::CheckpointReply reply;
  };
  void start(Waiting* waiting, CheckpointService::Pace pace = CheckpointService::Pace::paced) {
    cluster.node.spawn(gate, make(waiting, pace));
  }
  reactor::Task<void> make(Waiting* waiting, CheckpointService::Pace pace) {
    const CheckpointService::Gone gone = [] { return false; };
    waiting->status = co_await checkpoints->make(0, pace, gone, &waiting->reply);
  }

  std::uint64_t rate_bytes;
  std::shared_ptr<std::vector<std::string>> notices;
  std::unique_ptr<FaultDisk> disk;
  std::unique_ptr<Log> log;
  std::unique_ptr<CheckpointStore> store;
  std::unique_ptr<DiskLogSink> sink;
  std::unique_ptr<CheckpointLog> sweep_log;
  std::unique_ptr<Checkpoints> checkpoints;
  int failures = 0;
  Status failure;
  reactor::Gate gate;
  TestCluster cluster;
  std::unique_ptr<TestClient> tool;
  std::unique_ptr<TestClient> worker;
  control::LeaseSlotReply slot;
  control::TableDescriptor table;
  std::uint64_t begun_ns = 0;
};

}  // namespace namdb::memory::testing
