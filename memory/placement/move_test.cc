// A region moves from one host's disk to another's, in virtual time, while a client commits. If a disk
// ends anywhere, one host has the region afterwards, with all that was acknowledged.
#include <array>
#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "common/placement/ask.h"
#include "common/placement/search.h"
#include "memory/opening/checkpoints.h"
#include "memory/opening/testing/disk_lives.h"
#include "memory/placement/region_host.h"
#include "memory/placement/testing/vacancy_process.h"

namespace namdb::memory {
namespace {

using fabric::sim::SimClientFabric;
using fabric::sim::SimNode;
using fabric::sim::SimWorld;
using placement::Configuration;
using placement::MoveReply;
using placement::MoveState;
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

const std::string kOldAddress = "sim:m0";
const std::string kNewAddress = "sim:n0";

// A process on a node of its own whose region is elsewhere.
class VacantProcess {
 public:
  VacantProcess(SimWorld& world, FaultDisk& disk, End end, const std::string& address,
                std::uint64_t pause_ns = kSecond_ns, std::uint64_t stop_at = FaultDisk::kNever)
      : node_(world.add_node(address)) {
    disk.restart(end, node_);
    disk.stop_at(FaultDisk::kNever);
    keeper_ = load_keeper(world, node_, disk, vacant_record());
    if (stop_at != FaultDisk::kNever) disk.stop_at(disk.steps() + stop_at);
    ArrivalOptions options;
    options.hold_ns = kSecond_ns;
    options.pause_ns = pause_ns;
    options.near_bytes = 1;
    options.looks = 3;
    options.piece_bytes = 16U << 10;
    process_ = std::make_unique<VacancyProcess>(world, node_, disk, *keeper_, address, std::move(options));
  }

  void stop() { process_->vacancy().stop(); }
  bool stopped() const { return process_->vacancy().stopped(); }
  bool ended() const { return process_->ended(); }
  const Status& status() const { return process_->status(); }
  const PlaceRecord& record() const { return keeper_->record(); }
  PlaceState state() const { return record().state; }

 private:
  SimNode& node_;
  std::unique_ptr<PlaceKeeper> keeper_;
  std::unique_ptr<VacancyProcess> process_;
};

// A process that has the region, with what belongs to it beside DurableLife.
class HostProcess {
 public:
  HostProcess(FaultDisk& disk, End end, std::uint64_t stop_at = FaultDisk::kNever)
      : life_(disk, end, options(stop_at)), tool_(world().add_node("tool")), tool_fabric_(tool_) {
    if (!life_.status().ok()) return;
    keeper_ = std::make_unique<PlaceKeeper>(node(), disk, kDatabaseFolder, placed_record());
    CheckpointOptions by_call;
    by_call.interval_ns = 0;
    checkpoints_ =
        std::make_unique<Checkpoints>(parts(), life_.database().log(), life_.database().checkpoints(),
                                      life_.database().sweep_log(), std::move(by_call));
    host_ = std::make_unique<RegionHost>(parts(), disk, life_.database().log(), *keeper_,
                                         [this](const Status&) { failed_ = true; });
    checkpoints_->start();
    host_->start();
  }
  ~HostProcess() {
    if (host_ == nullptr) return;
    world().run(node(), host_->close());
    world().run(node(), checkpoints_->close());
  }
  HostProcess(const HostProcess&) = delete;
  HostProcess& operator=(const HostProcess&) = delete;

  DurableLife& life() { return life_; }
  SimWorld& world() { return life_.cluster().world; }
  SimNode& node() { return life_.cluster().node; }
  ServerState& parts() { return life_.server().parts(); }
  RegionHost& host() { return *host_; }
  Log& log() { return life_.database().log(); }
  // It has given the region up, or its disk is gone: nothing more comes of it.
  bool over() { return parts().shutdown || failed_; }

  // As namctl calls.
  Result<std::string> call(const std::string& address, std::uint16_t method, std::string request) {
    std::string hello = tool_hello(tool_.random(), "tool");
    return world().run(tool_, placement::call_once(&tool_, &tool_fabric_, address, std::move(hello), method,
                                                   std::move(request)));
  }
  Result<MoveReply> move(const placement::MoveRequest& request) {
    const auto bytes = call(kNewAddress, placement::kMoveMethod, encode(request));
    if (!bytes.ok()) return bytes.status();
    const auto reply = placement::decode_move_reply(*bytes);
    REQUIRE(reply.has_value());
    return *reply;
  }

 private:
  static LifeOptions options(std::uint64_t stop_at) {
    LifeOptions options;
    options.stop_at = stop_at;
    return options;
  }

  DurableLife life_;
  SimNode& tool_;
  SimClientFabric tool_fabric_;
  std::unique_ptr<PlaceKeeper> keeper_;
  std::unique_ptr<Checkpoints> checkpoints_;
  std::unique_ptr<RegionHost> host_;
  bool failed_ = false;
};

// Inserts rows, one commit after the other, until one fails or `over`.
void commit_until(HostProcess& old, Told& told, const std::function<bool()>& over) {
  if (!old.life().connect().ok()) return;
  for (std::int64_t key = 1000; !over(); ++key) {
    told.perhaps = told.rows;
    (*told.perhaps)["a"][key] = key;
    if (!old.life().insert("a", key, key).ok()) return;
    told.rows = *told.perhaps;
  }
}

// The old host's process and a new one's, while a client commits, until one of the disks stops, or the old
// host has given the region up. True: neither has stopped.
bool run_move(FaultDisk& old_disk, FaultDisk& new_disk, Told& told, std::uint64_t old_stops,
              std::uint64_t new_stops) {
  HostProcess old(old_disk, End::killed, old_stops);
  if (!old.life().status().ok()) return false;
  VacantProcess next(old.world(), new_disk, End::killed, kNewAddress, kSecond_ns, new_stops);
  const auto ordered = old.move({kOldAddress, kNewAddress});
  REQUIRE((ordered.ok() || new_disk.stopped()));
  commit_until(old, told, [&] { return old.over() || next.ended() || new_disk.stopped(); });
  old.world().run_until([&] { return old.over() || next.ended(); }, 2 * kSecond_ns);
  return !old_disk.stopped() && !new_disk.stopped();
}

// Both machines start again, and finish or undo the move. The disk of the host that has the region then.
FaultDisk& settle(FaultDisk& old_disk, FaultDisk& new_disk, End end) {
  bool departed = false;
  {
    SimWorld world(1);
    SimNode& node = world.add_node("look");
    old_disk.restart(end, node);
    old_disk.stop_at(FaultDisk::kNever);
    departed = load_keeper(world, node, old_disk, placed_record())->record().state == PlaceState::departed;
  }
  if (departed) {
    SimWorld world(2);
    VacantProcess sign(world, old_disk, End::killed, kOldAddress);
    VacantProcess next(world, new_disk, end, kNewAddress);
    world.run_until([&] { return next.ended(); }, 10 * kSecond_ns);
    CHECK(next.status().ok());
    CHECK(next.state() == PlaceState::here);
    CHECK_FALSE(next.stopped());
    CHECK(next.record().database_id == testing::kDatabaseId);
    CHECK(next.record().configuration.place(0) == placement::Place{1, kNewAddress});
    CHECK(sign.record().configuration.place(0) == placement::Place{1, kNewAddress});
    CHECK_FALSE(sign.ended());
    return new_disk;
  }
  HostProcess old(old_disk, End::killed);
  REQUIRE(old.life().status().ok());
  VacantProcess next(old.world(), new_disk, end, kNewAddress);
  old.world().run_until([&] { return next.state() == PlaceState::vacant; }, 10 * kSecond_ns);
  CHECK(next.state() == PlaceState::vacant);
  CHECK_FALSE(next.ended());
  CHECK_FALSE(old.over());
  return old_disk;
}

}  // namespace

TEST_CASE("a region moves while a client commits, with all that was acknowledged", "[placement]") {
  Machine machine;
  Told told;
  const std::unique_ptr<FaultDisk> old_disk = finished_disk(machine, told);
  Machine other;
  const DurableLife::Rows before = told.rows;
  REQUIRE(run_move(*old_disk, other.disk, told, FaultDisk::kNever, FaultDisk::kNever));
  // It was at work all the time.
  CHECK(told.rows["a"].size() > before.at("a").size() + 3);
  const End end = GENERATE(End::killed, End::power_lost);
  FaultDisk& disk = settle(*old_disk, other.disk, end);
  REQUIRE(&disk == &other.disk);
  CHECK(told.is(opened_rows(disk, End::power_lost)));
}

enum class Host { old_one, new_one };

// Moves again and again, while that host's disk ends at a later step each time.
void check_each_step(Host host) {
  const End end = GENERATE(End::killed, End::power_lost);
  bool whole = false;
  bool moved = false;
  bool stayed = false;
  for (std::uint64_t step = 0; !whole; step += 1 + step / 16) {
    INFO("step " << step);
    Machine machine;
    Told told;
    const std::unique_ptr<FaultDisk> old_disk = finished_disk(machine, told);
    Machine other;
    whole = run_move(*old_disk, other.disk, told, host == Host::old_one ? step : FaultDisk::kNever,
                     host == Host::new_one ? step : FaultDisk::kNever);
    FaultDisk& disk = settle(*old_disk, other.disk, end);
    (&disk == &other.disk ? moved : stayed) = true;
    CHECK(told.is(opened_rows(disk, end)));
  }
  CHECK(moved);
  CHECK(stayed);
}

TEST_CASE("the old host's disk may end at any step, and one host has the region, and all of it",
          "[placement]") {
  check_each_step(Host::old_one);
}

TEST_CASE("the new host's disk may end at any step, and one host has the region, and all of it",
          "[placement]") {
  check_each_step(Host::new_one);
}

TEST_CASE("a pause that is too short for the claim moves nothing, and the next move does", "[placement]") {
  Machine machine;
  Told told;
  const std::unique_ptr<FaultDisk> old_disk = finished_disk(machine, told);
  Machine other;
  {
    HostProcess old(*old_disk, End::killed);
    {
      VacantProcess next(old.world(), other.disk, End::killed, kNewAddress, /*pause_ns=*/1);
      REQUIRE(old.move({kOldAddress, kNewAddress}).ok());
      MoveReply reply;
      do {
        old.world().run_for(10 * kMillisecond_ns);
        const auto asked = old.move({});
        REQUIRE(asked.ok());
        reply = *asked;
      } while (reply.state != MoveState::waits && old.node().now_ns() < 1000 * kSecond_ns);
      CHECK(reply.state == MoveState::waits);
      CHECK_FALSE(reply.error.empty());
      CHECK(next.state() == PlaceState::vacant);
    }
    CHECK_FALSE(old.over());
    REQUIRE(old.life().connect().ok());
    REQUIRE(old.life().insert("a", 999, 999).ok());
    told.rows["a"][999] = 999;
  }
  REQUIRE(run_move(*old_disk, other.disk, told, FaultDisk::kNever, FaultDisk::kNever));
  FaultDisk& disk = settle(*old_disk, other.disk, End::power_lost);
  REQUIRE(&disk == &other.disk);
  CHECK(told.is(opened_rows(disk, End::power_lost)));
}

TEST_CASE("a region is given up only to a copy that is whole, and not by a claim that was refused",
          "[placement]") {
  Machine machine;
  Told told;
  const std::unique_ptr<FaultDisk> disk = finished_disk(machine, told);
  HostProcess old(*disk, End::killed);
  SimWorld& world = old.world();
  const auto hand_over = [&](std::uint64_t claim, std::uint64_t position) {
    return world.run(old.node(), old.host().hand_over({claim, position, kNewAddress}));
  };
  const std::uint64_t end = old.log().end().position;
  CHECK(hand_over(1, end).code() == ErrorCode::object_not_in_prerequisite_state);  // it is not paused
  const auto pause = world.run(old.node(), old.log().pause(old.node().now_ns() + kSecond_ns));
  REQUIRE(pause.ok());
  CHECK(hand_over(2, pause->position - 8).code() == ErrorCode::object_not_in_prerequisite_state);
  CHECK(hand_over(2, pause->position).code() == ErrorCode::object_not_in_prerequisite_state);
  CHECK_FALSE(old.over());
  CHECK(hand_over(3, pause->position).code() == ErrorCode::cannot_connect_now);
  CHECK(old.over());
  CHECK(hand_over(3, pause->position).code() == ErrorCode::cannot_connect_now);
  CHECK(hand_over(4, pause->position).code() == ErrorCode::object_not_in_prerequisite_state);
  // No client is let in any more, and nothing becomes durable.
  CHECK(old.life().connect().code() == ErrorCode::cannot_connect_now);
  const std::array<std::byte, 8> record{};
  CHECK_FALSE(world.run(old.node(), old.log().append(1, record)).ok());
}

TEST_CASE("a whole copy can be taken by force where the old host is lost", "[placement]") {
  Machine machine;
  Told told;
  const std::unique_ptr<FaultDisk> old_disk = finished_disk(machine, told);
  Machine other;
  // The old host has given it up, and no host was told.
  REQUIRE(run_move(*old_disk, other.disk, told, FaultDisk::kNever, FaultDisk::kNever));
  {
    SimWorld world(1);
    SimNode& node = world.add_node("new");
    other.disk.restart(End::power_lost, node);
    const auto keeper = load_keeper(world, node, other.disk, vacant_record());
    REQUIRE(keeper->record().state == PlaceState::whole);
    REQUIRE(world.run(node, keeper->take_by_force()).ok());
    CHECK(keeper->record().configuration.place(0) == placement::Place{1, kNewAddress});
    CHECK_FALSE(world.run(node, keeper->take_by_force()).ok());
  }
  CHECK(told.is(opened_rows(other.disk, End::power_lost)));
}

TEST_CASE("a host that is told to end while it writes that the region has come has it, and ends",
          "[placement]") {
  Machine machine;
  Told told;
  const std::unique_ptr<FaultDisk> old_disk = finished_disk(machine, told);
  Machine other;
  REQUIRE(run_move(*old_disk, other.disk, told, FaultDisk::kNever, FaultDisk::kNever));
  {
    SimWorld world(1);
    const VacantProcess sign(world, *old_disk, End::killed, kOldAddress);
    VacantProcess next(world, other.disk, End::killed, kNewAddress);
    REQUIRE(world.run_until([&] { return next.state() == PlaceState::here; }, 10 * kSecond_ns));
    REQUIRE_FALSE(next.ended());
    next.stop();
    REQUIRE(world.run_until([&] { return next.ended(); }, 10 * kSecond_ns));
    CHECK(next.status().ok());
    CHECK(next.stopped());
  }
  CHECK(told.is(opened_rows(other.disk, End::power_lost)));
}

TEST_CASE("a host without its region says where that is, and takes no worker", "[placement]") {
  SimWorld world(1);
  Machine machine;
  SimNode& tool = world.add_node("tool");
  {
    SimNode& node = world.add_node("before");
    machine.disk.restart(End::killed, node);
    PlaceKeeper keeper(node, machine.disk, kDatabaseFolder, placed_record());
    PlaceRecord departed = placed_record();
    departed.state = PlaceState::departed;
    departed.claim = 5;
    departed.configuration.set(0, {3, kNewAddress});
    REQUIRE(world.run(node, keeper.store(std::move(departed))).ok());
  }
  VacantProcess sign(world, machine.disk, End::power_lost, kOldAddress);
  SimClientFabric fabric(tool);
  control::Hello worker = testing::hello('a');
  std::string welcome_bytes;
  const auto refused = world.run(tool, fabric.connect(kOldAddress, worker.SerializeAsString(), nullptr));
  CHECK(refused.status().code() == ErrorCode::cannot_connect_now);
  CHECK(refused.status().message().find(kNewAddress) != std::string::npos);
  {
    const auto channel =
        world.run(tool, fabric.connect(kOldAddress, testing::hello_of_memory_server('b').SerializeAsString(),
                                       &welcome_bytes));
    REQUIRE(channel.ok());
    control::Welcome welcome;
    REQUIRE(welcome.ParseFromString(welcome_bytes));
    CHECK(welcome.epoch() == 0);
  }
  Configuration known({kOldAddress});
  const placement::MakeHello hello = [&tool] { return tool_hello(tool.random(), "tool"); };
  placement::PlaceSearch search(tool, hello, std::move(known));
  CHECK(world.run(tool, search.ask(&fabric, {{"sim:nobody", {}}, {kOldAddress, {}}})));
  CHECK(search.places().place(0) == placement::Place{3, kNewAddress});
  CHECK_FALSE(world.run(tool, search.ask(&fabric, {{kOldAddress, {}}})));
  const auto claim = [&](std::uint64_t number) {
    return world
        .run(tool, placement::call_once(&tool, &fabric, kOldAddress, hello(), placement::kHandOverMethod,
                                        encode(placement::HandOverRequest{number, 1, kNewAddress})))
        .status();
  };
  CHECK(claim(5).ok());
  CHECK(claim(6).code() == ErrorCode::object_not_in_prerequisite_state);
}

}  // namespace namdb::memory
