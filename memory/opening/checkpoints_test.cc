// The task that makes checkpoints, in virtual time: when it makes one, who waits for which, holds, and what a
// full disk leads to.
#include <catch2/catch.hpp>

#include "memory/opening/testing/checkpoints_scene.h"

namespace namdb::memory::testing {

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

}  // namespace namdb::memory::testing
