// A region with a copy at another host, in virtual time, while a client commits. Disks and hosts end, the
// network and the store fail: all that was acknowledged is there afterwards, and the store names the host
// that has it.
#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/placement/testing/memory_store.h"
#include "memory/opening/checkpoints.h"
#include "memory/opening/testing/disk_lives.h"
#include "memory/placement/claim.h"
#include "memory/placement/copies.h"
#include "memory/placement/region_host.h"
#include "memory/placement/testing/vacancy_process.h"

namespace namdb::memory {
namespace copies_test {

using fabric::sim::SimClientFabric;
using fabric::sim::SimNode;
using fabric::sim::SimWorld;
using placement::MoveState;
using placement::Place;
using placement::testing::MemoryStore;
using placement::testing::SharedConfiguration;
using testing::DurableLife;
using testing::FaultDisk;
using testing::finished_disk;
using testing::kDatabaseFolder;
using testing::LifeOptions;
using testing::load_keeper;
using testing::Machine;
using testing::opened_rows;
using testing::placed_record;
using testing::Told;
using testing::VacancyProcess;
using testing::vacant_record;
using End = FaultDisk::End;

const std::string kFirst = "sim:m0";
const std::string kSecond = "sim:n0";

// A process that follows the region's primary.
class CopyProcess {
 public:
  CopyProcess(SimWorld& world, FaultDisk& disk, End end, SharedConfiguration& shared,
              const std::string& address, std::uint64_t stop_at = FaultDisk::kNever)
      : world_(world), node_(world.add_node(address)), store_(node_, shared) {
    disk.restart(end, node_);
    disk.stop_at(FaultDisk::kNever);
    keeper_ = load_keeper(world, node_, disk, vacant_record());
    if (keeper_->record().state == PlaceState::here) {
      // By the store it is another's now.
      PlaceRecord record = keeper_->record();
      record.state = PlaceState::follows;
      REQUIRE(world.run(node_, keeper_->store(std::move(record))).ok());
    }
    if (stop_at != FaultDisk::kNever) disk.stop_at(disk.steps() + stop_at);
    Following following;
    following.store = &store_;
    following.options.address = address;
    following.options.piece_bytes = 16U << 10;
    following.options.first_silence_ns = 3 * kSecond_ns;
    following.options.notice = [this](const std::string& line) { lines_.push_back(line); };
    process_ = std::make_unique<VacancyProcess>(world, node_, disk, *keeper_, address, ArrivalOptions(),
                                                std::move(following));
  }
  ~CopyProcess() {
    process_.reset();
    world_.run(node_, store_.close());
  }
  CopyProcess(const CopyProcess&) = delete;
  CopyProcess& operator=(const CopyProcess&) = delete;

  SimNode& node() { return node_; }
  MemoryStore& store() { return store_; }
  bool ended() const { return process_->ended(); }
  const Status& status() const { return process_->status(); }
  PlaceState state() const { return keeper_->record().state; }
  bool here() const { return ended() && state() == PlaceState::here; }
  bool in_sync() const {
    const Follower* const follower = process_->vacancy().follower();
    return !ended() && follower != nullptr && follower->in_sync();
  }
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  SimWorld& world_;
  SimNode& node_;
  MemoryStore store_;
  std::vector<std::string> lines_;
  std::unique_ptr<PlaceKeeper> keeper_;
  std::unique_ptr<VacancyProcess> process_;
};

// A process that has the region.
class PrimaryProcess {
 public:
  PrimaryProcess(FaultDisk& disk, End end, SharedConfiguration& shared, const std::string& address,
                 std::uint64_t stop_at = FaultDisk::kNever)
      : life_(disk, end, options(address, stop_at)), store_(node(), shared) {
    if (!life_.status().ok()) return;
    parts().has_store = true;
    keeper_ = load_keeper(world(), node(), disk, placed_record());
    ClaimOptions claim;
    claim.address = address;
    claim.database_id = testing::kDatabaseId;
    auto stored = world().run(node(), claim_region(&node(), &store_, std::move(claim)));
    REQUIRE(stored.ok());
    REQUIRE(stored->configuration.place(0).address == address);
    CheckpointOptions by_call;
    by_call.interval_ns = 0;
    by_call.on_failure = [this](const Status&) { failed_ = true; };
    checkpoints_ =
        std::make_unique<Checkpoints>(parts(), life_.database().log(), life_.database().checkpoints(),
                                      life_.database().sweep_log(), std::move(by_call));
    host_ = std::make_unique<RegionHost>(parts(), disk, life_.database().log(), *keeper_,
                                         [this](const Status&) { failed_ = true; });
    CopiesOptions options;
    options.address = address;
    options.farewell_ns = 100 * kMillisecond_ns;
    options.on_failure = [this](const Status&) { failed_ = true; };
    copies_ = std::make_unique<Copies>(parts(), disk, life_.database().log(), life_.database().checkpoints(),
                                       *keeper_, store_, std::move(*stored), std::move(options));
    checkpoints_->start();
    host_->start();
    copies_->start();
  }
  ~PrimaryProcess() {
    if (copies_ == nullptr) return;
    copies_->stop_soon();
    world().run(node(), host_->close());
    world().run(node(), checkpoints_->close());
    world().run(node(), copies_->close());
    world().run(node(), store_.close());
  }
  PrimaryProcess(const PrimaryProcess&) = delete;
  PrimaryProcess& operator=(const PrimaryProcess&) = delete;

  DurableLife& life() { return life_; }
  SimWorld& world() { return life_.cluster().world; }
  SimNode& node() { return life_.cluster().node; }
  MemoryStore& store() { return store_; }
  ServerState& parts() { return life_.server().parts(); }
  Copies& copies() { return *copies_; }
  PlaceState state() const { return keeper_->record().state; }
  bool failed() const { return failed_ || copies_ == nullptr || !life_.status().ok(); }
  // It serves no more.
  bool over() { return failed() || parts().shutdown || !life_.database().log().failure().ok(); }
  bool has_lease() {
    return world().run(node(), copies_->lease([] { return true; })).ok();
  }

 private:
  static LifeOptions options(const std::string& address, std::uint64_t stop_at) {
    LifeOptions options;
    options.address = address;
    options.stop_at = stop_at;
    return options;
  }

  DurableLife life_;
  MemoryStore store_;
  std::unique_ptr<PlaceKeeper> keeper_;
  std::unique_ptr<Checkpoints> checkpoints_;
  std::unique_ptr<RegionHost> host_;
  std::unique_ptr<Copies> copies_;
  bool failed_ = false;
};

// A client that inserts rows, one commit after the other.
class Writer {
 public:
  Writer(PrimaryProcess& primary, Told& told) : primary_(primary), told_(told) {
    connected_ = primary.life().connect().ok();
  }
  // False: it did not work.
  bool insert() {
    if (!connected_) return false;
    const std::int64_t key = 1000 + static_cast<std::int64_t>(told_.rows["a"].size());
    told_.perhaps = told_.rows;
    (*told_.perhaps)["a"][key] = key;
    connected_ = primary_.life().insert("a", key, key).ok();
    if (connected_) told_.rows = *told_.perhaps;
    return connected_;
  }
  // Until that, or an insert has failed.
  bool until(const std::function<bool()>& condition, int most = 10000) {
    for (int i = 0; i < most && !condition(); ++i) {
      if (!insert()) return false;
      primary_.world().run_for(kMillisecond_ns);
    }
    return condition();
  }

 private:
  PrimaryProcess& primary_;
  Told& told_;
  bool connected_ = false;
};

// The machine of the primary is gone for the copy, for the store, and for itself.
void lose(PrimaryProcess& primary, CopyProcess& copy) {
  primary.world().block(primary.node(), copy.node(), true);
  primary.store().set_reachable(false);
}

const Place& place_in(const SharedConfiguration& shared) {
  return shared.stored.configuration.place(0);
}

}  // namespace copies_test

using namespace copies_test;

TEST_CASE("a copy joins while a client commits, takes over, and the old primary becomes its copy",
          "[placement]") {
  Machine machine;
  Told told;
  const std::unique_ptr<FaultDisk> first = finished_disk(machine, told);
  Machine other;
  SharedConfiguration shared;
  const End end = GENERATE(End::killed, End::power_lost);
  {
    PrimaryProcess primary(*first, End::killed, shared, kFirst);
    CHECK(place_in(shared) == Place{1, kFirst, {}});
    CHECK(primary.has_lease());
    CopyProcess copy(primary.world(), other.disk, End::killed, shared, kSecond);
    Writer writer(primary, told);
    REQUIRE(writer.until([&] { return copy.in_sync(); }));
    CHECK(place_in(shared) == Place{2, kFirst, {kSecond}});
    CHECK(primary.has_lease());
    // New checkpoints come, and the log goes on.
    int commits = 0;
    REQUIRE(primary.life().checkpoint().ok());
    REQUIRE(writer.until([&] { return ++commits > 100; }));
    REQUIRE(primary.life().checkpoint().ok());
    REQUIRE(writer.until([&] { return ++commits > 150; }));
    CHECK(copy.in_sync());
    // The client learns nothing of what the copy does not have.
    lose(primary, copy);
    primary.world().at(primary.node().now_ns() + 5 * kSecond_ns,
                       [&] { primary.store().set_reachable(true); });
    CHECK_FALSE(writer.insert());
    CHECK(copy.here());
    CHECK(place_in(shared) == Place{3, kSecond, {}});
    CHECK(primary.over());
    CHECK_FALSE(primary.failed());
    CHECK(primary.copies().deposed());
    CHECK_FALSE(primary.has_lease());
    CHECK(primary.life().connect().code() == ErrorCode::cannot_connect_now);
  }
  {
    PrimaryProcess primary(other.disk, end, shared, kSecond);
    REQUIRE(primary.life().status().ok());
    REQUIRE(told.is(primary.life().rows()));
    told.rows = primary.life().rows();
    CopyProcess copy(primary.world(), *first, end, shared, kFirst);
    Writer writer(primary, told);
    REQUIRE(writer.until([&] { return copy.in_sync(); }));
    int commits = 0;
    REQUIRE(writer.until([&] { return ++commits > 20; }));
    for (const std::string& line : copy.lines()) {
      INFO(line);
      CHECK(line.find("anew") == std::string::npos);
    }
  }
  CHECK(told.is(opened_rows(*first, End::power_lost)));
  CHECK(told.is(opened_rows(other.disk, End::power_lost)));
}

TEST_CASE("whatever step the primary's disk ends at, one host has the region, and all of it", "[placement]") {
  const End end = GENERATE(End::killed, End::power_lost);
  bool whole = false;
  bool taken_over = false;
  bool stayed = false;
  for (std::uint64_t step = 0; !whole; step += 1 + step / 8) {
    INFO("step " << step);
    Machine machine;
    Told told;
    const std::unique_ptr<FaultDisk> first = finished_disk(machine, told);
    Machine other;
    SharedConfiguration shared;
    {
      PrimaryProcess primary(*first, End::killed, shared, kFirst, step);
      if (primary.failed()) {
        stayed = true;
      } else {
        CopyProcess copy(primary.world(), other.disk, End::killed, shared, kSecond);
        Writer writer(primary, told);
        int commits = 0;
        whole = writer.until([&] { return copy.in_sync() && ++commits > 10; }, 300) && !first->stopped();
        REQUIRE((whole || first->stopped()));
        lose(primary, copy);
        primary.world().run_until([&] { return copy.ended(); }, 6 * kSecond_ns);
        CHECK(copy.ended() == (place_in(shared).address == kSecond));
        (copy.here() ? taken_over : stayed) = true;
        first->restart(end);
        first->stop_at(FaultDisk::kNever);
      }
    }
    const bool second = shared.stored.revision != 0 && place_in(shared).address == kSecond;
    FaultDisk& disk = second ? other.disk : *first;
    CHECK(told.is(opened_rows(disk, end)));
  }
  CHECK(taken_over);
  CHECK(stayed);
}

TEST_CASE("whatever step the copy's disk ends at, the primary goes on, and the copy comes back",
          "[placement]") {
  const End end = GENERATE(End::killed, End::power_lost);
  bool whole = false;
  for (std::uint64_t step = 0; !whole; step += 1 + step / 4) {
    INFO("step " << step);
    Machine machine;
    Told told;
    const std::unique_ptr<FaultDisk> first = finished_disk(machine, told);
    Machine other;
    SharedConfiguration shared;
    {
      PrimaryProcess primary(*first, End::killed, shared, kFirst);
      Writer writer(primary, told);
      int commits = 0;
      {
        CopyProcess copy(primary.world(), other.disk, End::killed, shared, kSecond, step);
        whole = writer.until([&] { return copy.ended() || (copy.in_sync() && ++commits > 10); }) &&
                !copy.ended() && !other.disk.stopped();
        if (!whole) {
          REQUIRE(writer.until([&] { return copy.ended(); }));
          CHECK_FALSE(copy.status().ok());
        }
      }
      // Without it.
      commits = 0;
      REQUIRE(writer.until([&] { return ++commits > 3 && place_in(shared).copies.empty(); }));
      CopyProcess copy(primary.world(), other.disk, end, shared, kSecond);
      REQUIRE(writer.until([&] { return copy.in_sync(); }));
      REQUIRE(writer.insert());
      lose(primary, copy);
      REQUIRE(primary.world().run_until([&] { return copy.here(); }, 6 * kSecond_ns));
    }
    CHECK(told.is(opened_rows(other.disk, End::power_lost)));
  }
}

namespace copies_test {

// A primary with a copy in sync.
struct Pair {
  Machine machine;
  Told told;
  std::unique_ptr<FaultDisk> first = finished_disk(machine, told);
  Machine other;
  SharedConfiguration shared;
  std::unique_ptr<PrimaryProcess> primary =
      std::make_unique<PrimaryProcess>(*first, End::killed, shared, kFirst);
  std::unique_ptr<CopyProcess> copy =
      std::make_unique<CopyProcess>(primary->world(), other.disk, End::killed, shared, kSecond);
  Writer writer{*primary, told};

  SimWorld& world() { return primary->world(); }
  void await_sync() {
    REQUIRE(writer.until([&] { return copy->in_sync(); }));
  }
  // As namctl calls.
  Status call(const std::string& address, std::uint16_t method, std::string request) {
    SimNode& tool = world().add_node("tool");
    SimClientFabric fabric(tool);
    std::string hello = tool_hello(tool.random(), "tool");
    return world()
        .run(tool, placement::call_once(&tool, &fabric, address, std::move(hello), method, std::move(request),
                                        10 * kSecond_ns))
        .status();
  }
  // The rows that the copy has, once it has taken over.
  bool copy_has_all() {
    copy.reset();
    primary.reset();
    return told.is(opened_rows(other.disk, End::power_lost));
  }
};

}  // namespace copies_test

TEST_CASE("a copy takes over though the store's answer is lost, or comes late", "[placement]") {
  Pair pair;
  pair.await_sync();
  const bool late = GENERATE(false, true);
  if (late) {
    pair.copy->store().come_late(300 * kMillisecond_ns);
  } else {
    pair.copy->store().lose_answer();
  }
  lose(*pair.primary, *pair.copy);
  REQUIRE(pair.world().run_until([&] { return pair.copy->here(); }, 10 * kSecond_ns));
  CHECK(place_in(pair.shared) == Place{3, kSecond, {}});
  CHECK(pair.copy_has_all());
}

TEST_CASE("a copy comes and goes though the store's answers to the primary are lost, or come late",
          "[placement]") {
  Pair pair;
  const bool late = GENERATE(false, true);
  const auto disturb = [&] {
    if (late) {
      pair.primary->store().come_late(200 * kMillisecond_ns);
    } else {
      pair.primary->store().lose_answer();
    }
  };
  disturb();
  pair.await_sync();
  REQUIRE(place_in(pair.shared).copies == std::vector<std::string>{kSecond});
  disturb();
  pair.world().block(pair.primary->node(), pair.copy->node(), true);
  pair.copy->store().set_reachable(false);
  REQUIRE(pair.writer.insert());
  CHECK(place_in(pair.shared).copies.empty());
  pair.world().block(pair.primary->node(), pair.copy->node(), false);
  pair.copy->store().set_reachable(true);
  pair.await_sync();
  lose(*pair.primary, *pair.copy);
  REQUIRE(pair.world().run_until([&] { return pair.copy->here(); }, 10 * kSecond_ns));
  CHECK(pair.copy_has_all());
}

TEST_CASE("a copy that the primary has dismissed does not take over, and a lease tells who may be read",
          "[placement]") {
  Pair pair;
  pair.await_sync();
  CHECK(pair.primary->has_lease());
  // The primary alone reaches the store.
  pair.world().block(pair.primary->node(), pair.copy->node(), true);
  pair.copy->store().set_reachable(false);
  pair.world().run_for(700 * kMillisecond_ns);
  CHECK_FALSE(pair.primary->has_lease());
  REQUIRE(pair.writer.insert());
  CHECK(place_in(pair.shared) == Place{3, kFirst, {}});
  CHECK(pair.primary->has_lease());
  pair.copy->store().set_reachable(true);
  pair.world().run_for(5 * kSecond_ns);
  CHECK_FALSE(pair.copy->ended());
  CHECK(pair.primary->has_lease());
  // It comes back, and counts again.
  pair.world().block(pair.primary->node(), pair.copy->node(), false);
  pair.await_sync();
  // Nobody reaches the store: all goes on.
  pair.primary->store().set_reachable(false);
  pair.copy->store().set_reachable(false);
  pair.world().run_for(3 * kSecond_ns);
  REQUIRE(pair.writer.insert());
  CHECK(pair.copy->in_sync());
  CHECK(pair.primary->has_lease());
}

TEST_CASE("a primary that was stopped is deposed, and has no lease from the moment when its copy opens",
          "[placement]") {
  Pair pair;
  pair.await_sync();
  pair.world().pause(pair.primary->node(), 4 * kSecond_ns);
  REQUIRE(pair.world().run_until([&] { return pair.copy->here(); }, 3 * kSecond_ns));
  CHECK_FALSE(pair.primary->has_lease());
  pair.world().run_for(4 * kSecond_ns);
  CHECK(pair.primary->copies().deposed());
  CHECK(pair.primary->over());
  CHECK_FALSE(pair.primary->failed());
  CHECK(pair.copy_has_all());
}

TEST_CASE("a primary gives its region to a copy, and is a host without one", "[placement]") {
  Pair pair;
  CHECK(pair.call(kFirst, placement::kLeaveMethod, encode(placement::LeaveRequest{})).code() ==
        ErrorCode::object_not_in_prerequisite_state);
  pair.await_sync();
  CHECK(pair.call(kFirst, placement::kLeaveMethod, encode(placement::LeaveRequest{"sim:nobody", false}))
            .code() == ErrorCode::object_not_in_prerequisite_state);
  REQUIRE(pair.call(kFirst, placement::kLeaveMethod, encode(placement::LeaveRequest{})).ok());
  CHECK(place_in(pair.shared) == Place{3, kSecond, {}});
  CHECK(pair.primary->over());
  CHECK(pair.primary->state() == PlaceState::departed);
  REQUIRE(pair.world().run_until([&] { return pair.copy->here(); }, 3 * kSecond_ns));
  CHECK(pair.copy_has_all());
}

TEST_CASE("a copy leaves, unless it is the only one in sync, and comes back when it is told to",
          "[placement]") {
  Pair pair;
  pair.await_sync();
  CHECK(pair.call(kSecond, placement::kLeaveMethod, encode(placement::LeaveRequest{})).code() ==
        ErrorCode::object_not_in_prerequisite_state);
  REQUIRE(pair.call(kSecond, placement::kLeaveMethod, encode(placement::LeaveRequest{"", true})).ok());
  CHECK(place_in(pair.shared) == Place{3, kFirst, {}});
  CHECK(pair.copy->state() == PlaceState::departed);
  REQUIRE(pair.writer.insert());
  REQUIRE(pair.call(kSecond, placement::kCopyMethod, encode(placement::CopyRequest{0})).ok());
  pair.await_sync();
}

}  // namespace namdb::memory
