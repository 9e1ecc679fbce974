// Checkpoints that do not go well: their server ends, their disk is broken, a record is never whole. And the
// contents of a checkpoint's state.
#include <catch2/catch.hpp>

#include "memory/opening/testing/checkpoints_scene.h"

namespace namdb::memory::testing {

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

}  // namespace namdb::memory::testing
