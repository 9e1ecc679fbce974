// Rows leave a transaction, and its writes become visible, only while the worker has a lease on each region.
#include <catch2/catch.hpp>
#include <string>
#include <string_view>

#include "common/calls/hot_calls.h"
#include "compute/cluster/primary_leases.h"
#include "compute/testing/protocol_scene.h"

using namespace namdb;
using namespace namdb::protocol;
using namespace namdb::protocol::testing;

namespace {

constexpr std::uint64_t kTrip_ns = 10 * kMicrosecond_ns;
constexpr std::uint64_t kLease_ns = calls::kWorkerLease_ns;

class Cancelled final : public txn::Interrupt {
 public:
  Status check() const override {
    return cancelled ? Status(ErrorCode::query_canceled, "canceled") : Status();
  }
  bool cancelled = false;
};

class LeasedScene : public ProtocolScene {
 public:
  explicit LeasedScene(const std::string& protocol) : ProtocolScene(options_of(protocol)) {
    worker.publish(0, {16, 90});
    stored({.stamp = {16, 90}, .value = 5});
    worker.fabric.handle(calls::kLeaseMethod, [this](std::string_view, std::string&) {
      ++asked;
      interrupt.cancelled = !granted;
      worker.executor.advance(kTrip_ns);
      return granted ? Status() : Status(ErrorCode::cannot_connect_now, "its copies are silent");
    });
    transaction->set_interrupt(&interrupt);
  }
  std::string commit() { return words_of(worker.run(transaction->commit())); }
  std::string confirm() { return words_of(worker.run(transaction->confirm_primaries())); }

  std::size_t asked = 0;
  bool granted = true;
  Cancelled interrupt;

 private:
  static TestOptions options_of(const std::string& protocol) {
    TestOptions options;
    options.protocol = protocol;
    options.leased = true;
    return options;
  }
};

}  // namespace

TEST_CASE("a transaction that only reads ends once the worker has a lease", "[leases]") {
  for (const char* const protocol : {"si", "occ"}) {
    LeasedScene scene(protocol);
    CHECK(scene.fetched(scene.get(1)) == "5");
    CHECK(scene.asked == 0);
    CHECK(scene.commit() == "ok");
    CHECK(scene.asked == 1);
  }
}

TEST_CASE("a lease counts from when it was asked for, and is asked for again in good time", "[leases]") {
  LeasedScene scene("si");
  CHECK(scene.fetched(scene.get(1)) == "5");
  CHECK(scene.confirm() == "ok");
  scene.worker.executor.advance(kLease_ns / 2 - kTrip_ns);
  CHECK(scene.worker.leases.held(1));
  scene.worker.executor.run_ready();
  CHECK(scene.asked == 1);
  scene.worker.executor.advance(1);
  CHECK(scene.worker.leases.held(1));  // no transaction waits for the new one
  scene.worker.executor.run_ready();
  CHECK(scene.asked == 2);
  scene.granted = false;
  scene.worker.executor.advance(kLease_ns - kTrip_ns - 1);
  CHECK(scene.worker.leases.held(1));
  scene.worker.executor.advance(1);
  CHECK_FALSE(scene.worker.leases.held(1));
  scene.granted = true;
  CHECK(scene.confirm() == "ok");
}

TEST_CASE("a process that was stopped behind its last READ asks for a lease before rows leave", "[leases]") {
  LeasedScene scene("si");
  CHECK(scene.fetched(scene.get(1)) == "5");
  CHECK(scene.confirm() == "ok");
  CHECK(scene.asked == 1);
  scene.worker.executor.advance(10 * kSecond_ns);
  CHECK(scene.confirm() == "ok");
  CHECK(scene.asked == 2);
}

TEST_CASE("without a lease a commit writes nothing, and its locks are free again", "[leases]") {
  for (const char* const protocol : {"occ", "nowait"}) {
    LeasedScene scene(protocol);
    const txn::RowId row = scene.get(1);
    CHECK(scene.fetched(row) == "5");
    scene.transaction->update(row);
    const std::uint64_t header = scene.worker.fabric.word(kRecord);
    scene.granted = false;
    CHECK(scene.commit() == "query_canceled");
    CHECK(scene.asked > 0);
    CHECK(scene.worker.fabric.word({0, kJournal_offset}) == 0);
    scene.worker.run(scene.worker.worker_protocol->settle());
    if (std::string_view(protocol) != "nowait") CHECK(scene.worker.fabric.word(kRecord) == header);
  }
}

TEST_CASE("rows of a memory server that was lost do not leave once the lease is over", "[leases]") {
  LeasedScene scene("si");
  CHECK(scene.fetched(scene.get(1)) == "5");
  CHECK(scene.confirm() == "ok");
  scene.worker.cluster.give_up(Status(ErrorCode::connection_failure, "lost"));
  CHECK(scene.confirm() == "ok");
  scene.worker.executor.advance(kLease_ns);
  CHECK(scene.confirm() == "serialization_failure");
}
