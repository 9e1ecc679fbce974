#include <catch2/catch.hpp>

#include <optional>

#include "common/fabric/checking.h"
#include "common/fabric/decorated_fabric.h"
#include "common/fabric/sim/testing/test_cluster.h"
#include "common/fabric/testing/fault.h"

namespace namdb::fabric {
namespace {

using sim::Cluster;
using sim::post_and_wait;

// A cluster whose one channel is checked.
struct Checked {
  explicit Checked(std::size_t depth = 100) : cluster(7, 2, false) {
    CheckingOptions options;
    options.region_bytes = 8 * sim::kRegion_words;
    options.send_queue_depth = depth;
    options.on_violation = [this](const std::string& what) { violations.push_back(what); };
    for (std::size_t i = 0; i < 2; ++i) {
      channels.push_back(std::make_unique<CheckingChannel>(std::move(cluster.channels[i]), buffers, options));
    }
  }
  Status post(Batch& batch) {
    return cluster.world.run(*cluster.nodes[0], post_and_wait(channels[0].get(), &batch));
  }
  // The batch is refused, with a violation that says so.
  void refused(Batch& batch, const std::string& why) {
    violations.clear();
    REQUIRE(post(batch).code() == ErrorCode::internal);
    REQUIRE(violations.size() == 1);
    INFO(violations[0]);
    REQUIRE(violations[0].find(why) != std::string::npos);
    batch.clear();
  }
  Cluster cluster;
  std::vector<std::string> violations;
  std::shared_ptr<BuffersInFlight> buffers = std::make_shared<BuffersInFlight>();
  std::vector<std::unique_ptr<CheckingChannel>> channels;
};

}  // namespace

TEST_CASE("the checking channel lets right operations pass, and they take effect") {
  Checked checked;
  LocalBuffer buffer(checked.channels[0]->pool(), 256);
  buffer.word() = 5;
  Batch batch;
  batch.write(0, buffer.data(), 8);
  batch.write(8, buffer.data(), 8);  // a source may be shared
  batch.read(0, buffer.data() + 64, 16);
  batch.fetch_add(128, 1, buffer.data() + 80);
  batch.compare_and_swap(128, 1, 2, buffer.data() + 88);
  batch.write(128, buffer.data(), 8, true);
  REQUIRE(checked.post(batch).ok());
  REQUIRE(checked.violations.empty());
  REQUIRE(buffer.word(9) == 5);
  REQUIRE(checked.channels[0]->most_outstanding() == 6);
  REQUIRE(checked.channels[0]->outstanding() == 0);
  REQUIRE(checked.buffers->count() == 0);
  REQUIRE(checked.channels[0]->counters().one_sided() == 6);
}

TEST_CASE(
    "the checking channel refuses what is misaligned, too long, unregistered or outside of the region") {
  Checked checked;
  LocalPool& pool = checked.channels[0]->pool();
  LocalBuffer buffer(pool, kMaxOperation_bytes);
  alignas(8) std::byte unregistered[64] = {};
  Batch batch;
  batch.read(4, buffer.data(), 8);
  checked.refused(batch, "offset that is no multiple");
  batch.read(0, buffer.data(), 12);
  checked.refused(batch, "length that is no multiple");
  batch.read(0, buffer.data(), 0);
  checked.refused(batch, "length that is no multiple");
  batch.read(0, buffer.data(), kMaxOperation_bytes + 8);
  checked.refused(batch, "longer than");
  batch.write(0, buffer.data() + 4, 8);
  checked.refused(batch, "not aligned");
  batch.write(0, unregistered, 8);
  checked.refused(batch, "outside the pool");
  batch.fetch_add(8 * sim::kRegion_words, 1, buffer.data());
  checked.refused(batch, "outside of the region");
  batch.read(8 * sim::kRegion_words - 8, buffer.data(), 16);
  checked.refused(batch, "outside of the region");
  REQUIRE(!checked.channels[0]->failed());
}

TEST_CASE("the checking channel refuses buffers that are in flight, on any channel of the pool") {
  Checked checked;
  LocalBuffer buffer(checked.channels[0]->pool(), 256);
  for (int i = 0; i < 32; ++i) buffer.word(static_cast<std::size_t>(i)) = 0;
  Batch first;
  first.read(0, buffer.data(), 64);
  first.write(64, buffer.data() + 64, 64);
  checked.channels[0]->post(first);
  Batch batch;
  batch.read(128, buffer.data() + 56, 16);
  checked.refused(batch, "in flight");
  batch.write(128, buffer.data() + 8, 8);
  checked.refused(batch, "in flight");
  batch.fetch_add(128, 1, buffer.data() + 64);
  checked.refused(batch, "in flight");
  batch.write(256, buffer.data() + 64, 64);  // a source of two WRITEs
  REQUIRE(checked.post(batch).ok());
  batch.clear();
  checked.cluster.world.run_until_idle();
  REQUIRE(!first.pending());
  batch.read(128, buffer.data() + 56, 16);
  REQUIRE(checked.post(batch).ok());
  batch.clear();
  batch.read(128, buffer.data(), 16);
  batch.read(256, buffer.data() + 8, 16);
  checked.refused(batch, "shares its local buffer");
}

TEST_CASE("the checking channel sees a source that changes before the completion") {
  Checked checked;
  LocalBuffer buffer(checked.channels[0]->pool(), 64);
  buffer.word() = 1;
  Batch batch;
  batch.write(0, buffer.data(), 8);
  checked.channels[0]->post(batch);
  buffer.word() = 2;
  checked.cluster.world.run_until_idle();
  REQUIRE(checked.violations.size() == 1);
  REQUIRE(checked.violations[0].find("changed before the completion") != std::string::npos);
}

TEST_CASE(
    "the checking channel refuses operations of a batch that may overtake each other on the same bytes") {
  Checked checked;
  LocalBuffer buffer(checked.channels[0]->pool(), 256);
  buffer.word(8) = 1;
  Batch batch;
  batch.read(0, buffer.data(), 32);
  batch.write(24, buffer.data() + 64, 8);
  checked.refused(batch, "may overtake");
  batch.read(0, buffer.data(), 32);
  batch.compare_and_swap(0, 0, 1, buffer.data() + 128);
  checked.refused(batch, "may overtake");
  batch.fetch_add(0, 1, buffer.data());
  batch.write(0, buffer.data() + 64, 8);
  checked.refused(batch, "may overtake");
  batch.write(0, buffer.data() + 64, 8);
  batch.fetch_add(0, 1, buffer.data());
  checked.refused(batch, "may overtake");
  batch.read(0, buffer.data(), 32);
  batch.write(32, buffer.data() + 64, 8);  // other bytes
  batch.write(0, buffer.data() + 64, 8, true);
  REQUIRE(checked.post(batch).ok());
}

TEST_CASE("the checking channel counts what the send queue must hold") {
  Checked checked(4);
  LocalBuffer buffer(checked.channels[0]->pool(), 256);
  Batch first;
  for (std::size_t i = 0; i < 3; ++i) first.read(0, buffer.data() + 8 * i, 8);
  checked.channels[0]->post(first);
  Batch second;
  for (std::size_t i = 3; i < 5; ++i) second.read(0, buffer.data() + 8 * i, 8);
  checked.refused(second, "more than the send queue holds");
  checked.cluster.world.run_until_idle();
  for (std::size_t i = 3; i < 5; ++i) second.read(0, buffer.data() + 8 * i, 8);
  REQUIRE(checked.post(second).ok());
  REQUIRE(checked.channels[0]->most_outstanding() == 3);
}

TEST_CASE("a checked channel that is destroyed gives its buffers back") {
  Checked checked;
  LocalBuffer buffer(checked.channels[0]->pool(), 64);
  Batch batch;
  batch.read(0, buffer.data(), 64);
  checked.channels[0]->post(batch);
  checked.channels[0].reset();
  REQUIRE(!batch.pending());
  REQUIRE(!batch.status().ok());
  REQUIRE(checked.buffers->count() == 0);
}

namespace {

// The result of ten batches of three WRITEs each: as reported to the poster, and as found in the region.
struct Outcome {
  int confirmed = 0;
  std::size_t words = 0;
  bool failed = false;
  bool fired = false;
};

Outcome write_under(const FaultPlan& plan) {
  Cluster cluster(3, 1, false);
  auto channel = std::make_unique<FaultChannel>(std::move(cluster.channels[0]), plan);
  LocalBuffer buffer(channel->pool(), 64);
  buffer.word() = 1;
  Outcome outcome;
  Batch batch;
  for (std::size_t i = 0; i < 10; ++i) {
    batch.clear();
    for (std::size_t j = 0; j < 3; ++j) batch.write(8 * (3 * i + j), buffer.data(), 8);
    outcome.confirmed += cluster.world.run(*cluster.nodes[0], post_and_wait(channel.get(), &batch)).ok();
  }
  cluster.world.run_until_idle();
  while (outcome.words < 30 && cluster.region[outcome.words] == 1) ++outcome.words;
  for (std::size_t i = outcome.words; i < 30; ++i) REQUIRE(cluster.region[i] == 0);
  outcome.failed = channel->failed();
  outcome.fired = channel->fired();
  buffer.reset();
  channel.reset();
  return outcome;
}

}  // namespace

TEST_CASE("the fault channel fails the batch it was told to, executed or not, and stays failed") {
  for (std::uint64_t n = 1; n <= 10; ++n) {
    FaultPlan plan;
    plan.fail_batch = n;
    Outcome outcome = write_under(plan);
    REQUIRE(outcome.confirmed == static_cast<int>(n) - 1);
    REQUIRE(outcome.words == 3 * (n - 1));
    REQUIRE(outcome.failed);
    REQUIRE(outcome.fired);
    plan.fate = FaultPlan::Fate::everything;
    outcome = write_under(plan);
    REQUIRE(outcome.confirmed == static_cast<int>(n) - 1);
    REQUIRE(outcome.words == 3 * n);
  }
}

TEST_CASE("the fault channel cuts behind the operation it was told to") {
  for (std::uint64_t n = 1; n <= 30; ++n) {
    FaultPlan plan;
    plan.cut_behind_operation = n;
    const Outcome outcome = write_under(plan);
    REQUIRE(outcome.confirmed == static_cast<int>((n - 1) / 3));
    REQUIRE(outcome.words >= 3 * ((n - 1) / 3));
    REQUIRE(outcome.words <= n);
    REQUIRE(outcome.failed);
  }
}

TEST_CASE("without a fault the fault channel changes nothing, and random plans name one fault") {
  const Outcome outcome = write_under(FaultPlan());
  REQUIRE(outcome.confirmed == 10);
  REQUIRE(outcome.words == 30);
  REQUIRE(!outcome.failed);
  Random random(1);
  for (int i = 0; i < 50; ++i) {
    const FaultPlan plan = FaultPlan::random(random, 20);
    REQUIRE((plan.fail_batch != 0) + (plan.cut_behind_operation != 0) + (plan.fail_call != 0) == 1);
  }
}

TEST_CASE("the fault channel fails the call it was told to, and goes on") {
  Cluster cluster(3, 1, false);
  FaultPlan plan;
  plan.fail_call = 2;
  auto channel = std::make_unique<FaultChannel>(std::move(cluster.channels[0]), plan);
  for (int i = 1; i <= 3; ++i) {
    Call call;
    call.request = "x";
    const Status status = cluster.world.run(*cluster.nodes[0], sim::call_and_wait(channel.get(), &call));
    REQUIRE(status.ok() == (i != 2));
    if (i == 2) REQUIRE(status.code() == ErrorCode::out_of_memory);
  }
  REQUIRE(!channel->failed());
  channel.reset();
}

TEST_CASE("decorators stack, and a decorated fabric's channels come out decorated") {
  Cluster cluster(3, 1, false);
  auto buffers = std::make_shared<BuffersInFlight>();
  DecoratedFabric fabric(std::make_unique<sim::SimClientFabric>(*cluster.nodes[0]),
                         [&](std::unique_ptr<Channel> channel) -> std::unique_ptr<Channel> {
                           FaultPlan plan;
                           plan.fail_batch = 2;
                           plan.fate = FaultPlan::Fate::everything;
                           auto faulty = std::make_unique<FaultChannel>(std::move(channel), plan);
                           return std::make_unique<CheckingChannel>(std::move(faulty), buffers,
                                                                    CheckingOptions());
                         });
  auto connected = cluster.world.run(*cluster.nodes[0], fabric.connect("sim:memory", "", nullptr));
  REQUIRE(connected.ok());
  LocalBuffer buffer(fabric.pool(), 64);
  Batch batch;
  batch.fetch_add(0, 1, buffer.data());
  REQUIRE(cluster.world.run(*cluster.nodes[0], post_and_wait(connected->get(), &batch)).ok());
  REQUIRE(!cluster.world.run(*cluster.nodes[0], post_and_wait(connected->get(), &batch)).ok());
  REQUIRE(!cluster.world.run(*cluster.nodes[0], post_and_wait(connected->get(), &batch)).ok());
  REQUIRE(cluster.region[0] == 2);
  REQUIRE(buffers->count() == 0);
  REQUIRE((*connected)->failed());
  buffer.reset();
  connected->reset();
}

}  // namespace namdb::fabric
