// The task that makes checkpoints, in virtual time: when it makes one, who waits for which, holds, and what a
// full disk and a broken one lead to.
#include "memory/opening/checkpoints.h"

#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "memory/journals/checkpoint_log.h"
#include "memory/journals/disk_log_sink.h"
#include "memory/log/testing/fault_disk.h"
#include "memory/testing/test_cluster.h"

namespace namdb::memory {
namespace {

using testing::FaultDisk;
using testing::TestClient;
using testing::TestCluster;

constexpr std::uint64_t kSegment_bytes = 64U << 10;
constexpr std::uint64_t kLog_bytes = 12 * kSegment_bytes;
constexpr std::uint64_t kInterval_ns = 60 * kSecond_ns;
constexpr std::uint16_t kKind = 2;

LogOptions small_log() {
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
    REQUIRE(tool->connect(testing::hello('t', true)).ok());
    REQUIRE(worker->connect(testing::hello('w')).ok());
    slot = *worker->lease();
    table = *worker->create(testing::accounts("accounts", 256));
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

}  // namespace

TEST_CASE("a checkpoint is made when its time has come and the log has grown, and not otherwise",
          "[checkpoints]") {
  CheckpointsTest test;
  test.write_log(1);
  REQUIRE(test.await([&] { return test.finished() == 1; }));
  CHECK(test.cluster.node.now_ns() - test.begun_ns >= kInterval_ns - kSecond_ns);
  CHECK(test.status().checkpoint().generation() == 1);
  test.cluster.run_for(5 * kInterval_ns);
  CHECK(test.finished() == 1);
  test.write_log(1);
  REQUIRE(test.await([&] { return test.finished() == 2; }));
}

TEST_CASE(
    "a checkpoint is made when a quarter of the log's bound was written, and the log stays in its bound",
    "[checkpoints]") {
  CheckpointsTest test;
  test.write_log(kLog_bytes / 4 - kSegment_bytes);
  test.cluster.run_for(kSecond_ns);
  CHECK(test.finished() == 0);
  for (int i = 0; i < 60; ++i) {
    test.insert(i);
    test.write_log(kSegment_bytes);
    CHECK(test.log->used_bytes() <= kLog_bytes);
  }
  CHECK(test.cluster.node.now_ns() - test.begun_ns < kInterval_ns);  // it was not the time
  CHECK(test.finished() >= 10);
  CHECK(test.finished() <= 25);
  CHECK(test.notices->empty());
}

TEST_CASE("a call waits for a checkpoint that began after it, and calls share one", "[checkpoints]") {
  CheckpointsTest test;
  test.insert(1);
  CheckpointsTest::Waiting first;
  CheckpointsTest::Waiting second;
  CheckpointsTest::Waiting third;
  test.start(&first);
  REQUIRE(test.await([&] { return test.status().checkpoint().running(); }));
  test.start(&second);
  test.start(&third);
  REQUIRE(test.await([&] { return first.status.has_value(); }));
  CHECK_FALSE(second.status.has_value());
  REQUIRE(test.await([&] { return second.status && third.status; }));
  CHECK((first.status->ok() && second.status->ok() && third.status->ok()));
  CHECK(first.reply.checkpoint().generation() == 1);
  CHECK(second.reply.checkpoint().generation() == 2);
  CHECK(third.reply.checkpoint().generation() == 2);
  CHECK(test.finished() == 2);
}

TEST_CASE("a call's checkpoint keeps to the rate, unless the call says that it has no time",
          "[checkpoints]") {
  constexpr std::uint64_t kRate_bytes = 16U << 10;  // a second
  CheckpointsTest test(kRate_bytes);
  test.fill(1000);
  std::uint64_t start_ns = test.cluster.node.now_ns();
  const auto took_ns = [&] { return test.cluster.node.now_ns() - start_ns; };
  const auto paced = test.call(control::CHECKPOINT_MAKE);
  REQUIRE(paced.ok());
  const std::uint64_t bytes = paced->checkpoint().written_bytes();
  CHECK(bytes > 2 * kRate_bytes);
  const std::uint64_t paced_ns = bytes * kSecond_ns / kRate_bytes;
  CHECK(took_ns() > paced_ns / 2);

  test.fill(1000);
  CheckpointsTest::Waiting fast;
  SECTION("alone") {
    start_ns = test.cluster.node.now_ns();
    test.start(&fast, CheckpointService::Pace::fast);
  }
  SECTION("while a slow one is under way") {
    CheckpointsTest::Waiting slow;
    start_ns = test.cluster.node.now_ns();
    test.start(&slow);
    REQUIRE(test.await([&] { return test.status().checkpoint().running(); }));
    test.start(&fast, CheckpointService::Pace::fast);
    REQUIRE(test.await([&] { return slow.status.has_value(); }));
  }
  REQUIRE(test.await([&] { return fast.status.has_value(); }));
  CHECK(fast.status->ok());
  CHECK(took_ns() < paced_ns / 2);
}

TEST_CASE("a checkpoint that nobody waits for is spread over the time until the next", "[checkpoints]") {
  CheckpointsTest test;
  test.fill(1000);
  test.write_log(1);
  REQUIRE(test.await([&] { return test.status().checkpoint().running(); }));
  const std::uint64_t start_ns = test.cluster.node.now_ns();
  const std::uint64_t extents = test.status().checkpoint().extents();
  REQUIRE(extents >= 5);
  const auto took_ns = [&] { return test.cluster.node.now_ns() - start_ns; };
  SECTION("as the clock says") {
    test.cluster.run_for(kInterval_ns / 4);
    const std::uint64_t done = test.status().checkpoint().done_extents();
    CHECK(done >= extents / 4);
    CHECK(done <= extents / 2);
    REQUIRE(test.await([&] { return test.finished() == 1; }));
    CHECK(took_ns() > kInterval_ns / 2);
    CHECK(took_ns() < kInterval_ns);
  }
  SECTION("as the log grows") {
    test.write_log(kLog_bytes / 4);
    REQUIRE(test.await([&] { return test.finished() == 1; }));
    CHECK(took_ns() < kInterval_ns / 4);
  }
  SECTION("until a call waits") {
    REQUIRE(test.call(control::CHECKPOINT_MAKE).ok());
    CHECK(took_ns() < kInterval_ns / 4);
    CHECK(test.finished() == 2);
  }
}

TEST_CASE("tools may ask for a checkpoint, workers may not, and STATUS tells of it", "[checkpoints]") {
  CheckpointsTest test;
  test.insert(1);
  const auto refused =
      test.worker->call<control::CheckpointReply>(control::CHECKPOINT, control::CheckpointRequest());
  CHECK(refused.status().code() == ErrorCode::insufficient_privilege);
  const auto reply = test.call(control::CHECKPOINT_MAKE);
  REQUIRE(reply.ok());
  CHECK(reply->checkpoint().generation() == 1);
  CHECK(reply->checkpoint().chunks() == 1);
  CHECK(reply->checkpoint().written_bytes() > 0);
  const control::DiskStatus disk = test.status();
  CHECK(disk.folder() == "data");
  CHECK(disk.checkpoint().finished() == 1);
  CHECK(disk.checkpoint().bytes() == reply->checkpoint().bytes());
  CHECK(disk.limit_bytes() == kLog_bytes);
  CHECK(test.cluster.server->status().durability() == "flushed");
  const std::uint64_t writes = disk.synced_writes();
  test.write_log(3 * 4096);
  CHECK(test.status().synced_writes() == writes + 3);
  CHECK(test.status().position() == test.status().durable_position());
}

TEST_CASE("a server of level memory says that it keeps nothing on disk", "[checkpoints]") {
  TestCluster cluster;
  const auto tool = cluster.client("tool");
  REQUIRE(tool->connect(testing::hello('t', true)).ok());
  const auto reply = tool->call<control::CheckpointReply>(control::CHECKPOINT, control::CheckpointRequest());
  CHECK(reply.status().code() == ErrorCode::object_not_in_prerequisite_state);
  CHECK(reply.status().message() == "this memory server keeps no data on disk");
  CHECK_FALSE(cluster.server->status().has_disk());
  CHECK(cluster.server->status().durability() == "memory");
}

TEST_CASE("a full disk abandons the checkpoint, is told once, and a later try succeeds", "[checkpoints]") {
  CheckpointsTest test;
  test.insert(1);
  test.write_log(1);
  const std::uint64_t used_bytes = test.disk->used_bytes();
  test.disk->set_capacity(used_bytes);
  const auto reply = test.call(control::CHECKPOINT_MAKE);
  CHECK(reply.status().code() == kDiskFull);
  CHECK(test.disk->used_bytes() == used_bytes);  // it left nothing
  CHECK(test.notices->size() == 1);
  CHECK_FALSE(test.status().checkpoint().error().empty());
  test.cluster.run_for(2 * kInterval_ns);  // tries by itself
  CHECK(test.notices->size() == 1);
  CHECK(test.finished() == 0);
  test.disk->set_capacity(FaultDisk::kNever);
  REQUIRE(test.await([&] { return test.finished() == 1; }));
  CHECK(test.status().checkpoint().error().empty());
  CHECK(test.status().checkpoint().chunks() == 1);  // the extent was not forgotten
  CHECK(test.failures == 0);
}

TEST_CASE("a hold ends when the log gets short of room, which checkpoints then give back", "[checkpoints]") {
  CheckpointsTest test;
  test.insert(1);
  test.write_log(kLog_bytes / 3 - kSegment_bytes);
  const auto held = test.call(control::CHECKPOINT_MAKE, 3600 * kSecond_ns);
  REQUIRE(held.ok());
  CHECK(test.status().checkpoint().held());
  const std::vector<std::byte> record(1000);
  for (int i = 0; i < 400; ++i) {
    REQUIRE(test.cluster.world.run(test.cluster.node, test.append(&record)).ok());
  }
  CHECK_FALSE(test.status().checkpoint().held());
  CHECK(test.call(control::CHECKPOINT_HOLD, kSecond_ns, held->hold()).status().code() ==
        ErrorCode::object_not_in_prerequisite_state);
  REQUIRE(test.await([&] { return test.log->used_bytes() < kLog_bytes / 2; }));
  CHECK(test.finished() >= 2);
}

TEST_CASE("while a checkpoint is held none begins, and the log stays", "[checkpoints]") {
  CheckpointsTest test;
  test.insert(1);
  const auto held = test.call(control::CHECKPOINT_MAKE, 10 * kSecond_ns);
  REQUIRE(held.ok());
  CHECK(held->hold() != 0);
  test.write_log(kLog_bytes / 3 + kSegment_bytes);
  CheckpointsTest::Waiting waiting;
  test.start(&waiting);
  test.cluster.run_for(5 * kSecond_ns);
  CHECK(test.finished() == 1);
  CHECK(test.disk->has("data/log/" + segment_name(0)));
  REQUIRE(test.call(control::CHECKPOINT_HOLD, 10 * kSecond_ns, held->hold()).ok());
  test.cluster.run_for(7 * kSecond_ns);
  CHECK(test.finished() == 1);
  CHECK_FALSE(waiting.status.has_value());
  SECTION("its end is told") {
    REQUIRE(test.call(control::CHECKPOINT_HOLD, 0, held->hold()).ok());
  }
  SECTION("its time is over") {
    test.cluster.run_for(4 * kSecond_ns);
  }
  REQUIRE(test.await([&] { return waiting.status.has_value(); }));
  CHECK(test.finished() >= 2);
  CHECK(test.call(control::CHECKPOINT_HOLD, kSecond_ns, held->hold()).status().code() ==
        ErrorCode::object_not_in_prerequisite_state);
}

TEST_CASE("while the log is paused nothing becomes durable, and then all does", "[checkpoints]") {
  CheckpointsTest test;
  test.write_log(4096);
  const auto paused = test.call(control::CHECKPOINT_PAUSE);
  REQUIRE(paused.ok());
  CHECK(paused->position() == test.log->durable());
  CHECK(paused->segment() == 0);
  const std::vector<std::byte> record(1000);
  std::optional<Status> written;
  const auto append = [](CheckpointsTest* of, const std::vector<std::byte>* bytes,
                         std::optional<Status>* result) -> reactor::Task<void> {
    *result = co_await of->append(bytes);
  };
  test.cluster.node.spawn(test.gate, append(&test, &record, &written));
  test.cluster.run_for(kSecond_ns / 2);
  CHECK_FALSE(written.has_value());
  CHECK(test.log->durable() == paused->position());
  SECTION("until it is resumed") {
    const auto resumed = test.call(control::CHECKPOINT_RESUME);
    REQUIRE(resumed.ok());
    CHECK(resumed->paused());
  }
  SECTION("for its time at most") {
    test.cluster.run_for(kSecond_ns);
    const auto resumed = test.call(control::CHECKPOINT_RESUME);
    REQUIRE(resumed.ok());
    CHECK_FALSE(resumed->paused());
  }
  REQUIRE(test.await([&] { return written.has_value(); }));
  CHECK(written->ok());
}

TEST_CASE("a broken disk ends checkpoints and is told once", "[checkpoints]") {
  CheckpointsTest test;
  test.insert(1);
  test.disk->fail_at(test.disk->steps() + 2);
  const auto reply = test.call(control::CHECKPOINT_MAKE);
  CHECK(reply.status().code() == kDiskFailed);
  CHECK(test.failures == 1);
  CHECK(test.failure.code() == kDiskFailed);
  CHECK(test.call(control::CHECKPOINT_MAKE).status().code() == kDiskFailed);
  CHECK(test.failures == 1);
  CHECK(test.finished() == 0);
}

TEST_CASE("closing abandons the checkpoint that is made, and calls end", "[checkpoints]") {
  CheckpointsTest test;
  test.insert(1);
  CheckpointsTest::Waiting waiting;
  test.start(&waiting);
  REQUIRE(test.await([&] { return test.status().checkpoint().running(); }));
  const std::uint64_t durable = test.log->durable();
  test.close();
  REQUIRE(waiting.status.has_value());
  CHECK(waiting.status->code() == ErrorCode::admin_shutdown);
  CHECK(test.failures == 0);
  CHECK(test.log->durable() >= durable);
  CHECK(test.notices->empty());
  CHECK_FALSE(test.cluster.server->status().has_disk());
}

TEST_CASE("a checkpoint with a tiny rate ends at once with its server, and hurries when it is asked to",
          "[checkpoints]") {
  CheckpointsTest test(1);
  test.insert(1);
  CheckpointsTest::Waiting slow;
  test.start(&slow);
  REQUIRE(test.await([&] { return test.status().checkpoint().running(); }));
  test.cluster.run_for(kSecond_ns);
  REQUIRE(test.status().checkpoint().running());
  const std::uint64_t start_ns = test.cluster.node.now_ns();
  SECTION("a fast call") {
    CheckpointsTest::Waiting fast;
    test.start(&fast, CheckpointService::Pace::fast);
    REQUIRE(test.await([&] { return fast.status.has_value(); }));
    CHECK(slow.status->ok());
    CHECK(fast.status->ok());
  }
  SECTION("a log that is short of room") {
    test.write_log(kLog_bytes / 10 * 8);
    REQUIRE(test.await([&] { return slow.status.has_value(); }));
    CHECK(slow.status->ok());
  }
  SECTION("the end") {
    test.close();
    REQUIRE(slow.status.has_value());
    CHECK(slow.status->code() == ErrorCode::admin_shutdown);
  }
  CHECK(test.cluster.node.now_ns() < start_ns + 2 * kSecond_ns);
}

TEST_CASE("a record that is half-installed all the time is named, once in a while, and in STATUS",
          "[checkpoints]") {
  CheckpointsTest test;
  const std::uint64_t record = test.insert(1);
  REQUIRE(test.call(control::CHECKPOINT_MAKE).ok());
  CHECK(test.status().checkpoint().kept_extents() == 0);
  CHECK(test.notices->empty());
  const std::uint64_t word = test.cluster.load(record + 8 + layout::kBodyPrefix_bytes + 8);
  test.cluster.store(record + 8 + layout::kBodyPrefix_bytes + 8, word + 1);
  test.cluster.store(record, layout::HeaderWord({33, 7}, false, true).value());
  const auto sweep = [&] {
    test.cluster.server->parts().region->changed().mark(record);
    REQUIRE(test.call(control::CHECKPOINT_MAKE).ok());
  };
  sweep();
  sweep();
  REQUIRE(test.notices->size() == 1);
  const std::string& line = test.notices->front();
  CHECK(line.find("the record at offset " + std::to_string(record) + " of table \"accounts\"") !=
        std::string::npos);
  CHECK(line.find("locked by execution slot 33") != std::string::npos);
  const control::CheckpointStatus status = test.status().checkpoint();
  CHECK(status.kept_extents() == 1);
  REQUIRE(status.stuck_size() == 1);
  CHECK(status.stuck(0).table() == "accounts");
  CHECK(status.stuck(0).address() == record);
  CHECK(status.stuck(0).slot() == 33);
  test.cluster.run_for(CheckpointOptions().stuck_notice_ns);
  sweep();
  CHECK(test.notices->size() == 2);
  test.cluster.store(record + 8 + layout::kBodyPrefix_bytes + 8, word);
  sweep();
  CHECK(test.status().checkpoint().kept_extents() == 0);
  CHECK(test.status().checkpoint().stuck_size() == 0);
  CHECK(test.notices->size() == 2);
}

TEST_CASE("the state of a checkpoint has the tables of the server and what it knows of slots",
          "[checkpoints]") {
  CheckpointsTest test;
  test.insert(1);
  REQUIRE(test.call(control::CHECKPOINT_MAKE).ok());
  control::CheckpointState state;
  const std::vector<std::byte>& bytes = test.store->newest()->state;
  REQUIRE(state.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
  CHECK(state.format() == 1);
  CHECK(state.blocks_size() == 1);
  CHECK(state.grant_mark() != 0);
  CHECK(state.tables_size() == 0);  // server 0 has them in its control state
}

}  // namespace namdb::memory
