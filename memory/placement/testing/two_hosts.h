// For tests: a region with a copy at another host, in virtual time, while a client commits.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/placement/testing/memory_store.h"
#include "memory/opening/checkpoints.h"
#include "memory/opening/testing/disk_lives.h"
#include "memory/placement/claim.h"
#include "memory/placement/copies.h"
#include "memory/placement/region_host.h"
#include "memory/placement/testing/test_image.h"
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
using testing::DeriveStep;
using testing::DurableLife;
using testing::FaultDisk;
using testing::finished_disk;
using testing::kDatabaseFolder;
using testing::LifeOptions;
using testing::load_keeper;
using testing::Machine;
using testing::opened_rows;
using testing::placed_record;
using testing::TestImage;
using testing::Told;
using testing::VacancyProcess;
using testing::vacant_record;
using End = FaultDisk::End;

inline const std::string kFirst = "sim:m0";
inline const std::string kSecond = "sim:n0";

// A process that follows the region's primary.
class CopyProcess {
 public:
  CopyProcess(SimWorld& world, FaultDisk& disk, End end, SharedConfiguration& shared,
              const std::string& address, std::uint64_t stop_at = FaultDisk::kNever)
      : world_(world), disk_(disk), node_(world.add_node(address)), store_(node_, shared) {
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
    following.options.settle_bytes = 2U << 10;
    following.options.make_image = [this, &disk] {
      return Result<std::unique_ptr<CopyImage>>(
          std::make_unique<TestImage>(node_, disk, testing::durable_server_options(), &derive_step_));
    };
    process_ = std::make_unique<VacancyProcess>(world, node_, disk, *keeper_, address, ArrivalOptions(),
                                                std::move(following));
  }
  ~CopyProcess() {
    process_->close();
    world_.run(node_, store_.close());
    // Its region in memory is the same that a restart makes of its folder.
    has_image();
    if (image_ != nullptr) static_cast<TestImage&>(*image_).check(world_, node_, disk_);
  }
  CopyProcess(const CopyProcess&) = delete;
  CopyProcess& operator=(const CopyProcess&) = delete;

  SimNode& node() { return node_; }
  MemoryStore& store() { return store_; }
  Vacancy& vacancy() { return process_->vacancy(); }
  bool ended() const { return process_->ended(); }
  const Status& status() const { return process_->status(); }
  PlaceState state() const { return keeper_->record().state; }
  bool here() const { return ended() && state() == PlaceState::here; }
  bool in_sync() const { return follower() != nullptr && follower()->in_sync(); }
  // All of its log is in the region that it has in memory.
  bool has_applied() const { return follower() != nullptr && follower()->unapplied_bytes() == 0; }
  // Once it has taken over: it has the region in memory.
  bool has_image() {
    if (here() && image_ == nullptr) image_ = vacancy().take_image();
    return image_ != nullptr;
  }
  // Of a take-over.
  DeriveStep& derive_step() { return derive_step_; }
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  const Follower* follower() const { return ended() ? nullptr : process_->vacancy().follower(); }

  SimWorld& world_;
  FaultDisk& disk_;
  SimNode& node_;
  MemoryStore store_;
  DeriveStep derive_step_;
  std::vector<std::string> lines_;
  std::unique_ptr<PlaceKeeper> keeper_;
  std::unique_ptr<VacancyProcess> process_;
  std::unique_ptr<CopyImage> image_;
};

// A process that has the region.
class PrimaryProcess {
 public:
  PrimaryProcess(FaultDisk& disk, End end, SharedConfiguration& shared, const std::string& address,
                 std::uint64_t stop_at = FaultDisk::kNever)
      : life_(disk, end, options(address, stop_at)), store_(node(), shared) {
    if (!life_.status().ok()) return;
    parts().has_store = true;
    parts().options.notice = [this](const std::string& line) { lines_.push_back(line); };
    keeper_ = load_keeper(world(), node(), disk, placed_record());
    ClaimOptions claim;
    claim.address = address;
    claim.database_id = testing::kDatabaseId;
    claim.known = keeper_->record().configuration.place(0);
    auto stored = world().run(node(), claim_region(&node(), &store_, std::move(claim)));
    refusal_ = stored.status();
    if (!refusal_.ok()) return;
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
    // Its failure is one of the disk.
    static_cast<void>(world().run(node(), copies_->start()));
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
  // By the store, before it had the region: failed() is true then.
  const Status& refusal() const { return refusal_; }
  const std::vector<std::string>& lines() const { return lines_; }
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

  std::vector<std::string> lines_;  // the server has lines to the end
  DurableLife life_;
  MemoryStore store_;
  std::unique_ptr<PlaceKeeper> keeper_;
  std::unique_ptr<Checkpoints> checkpoints_;
  std::unique_ptr<RegionHost> host_;
  std::unique_ptr<Copies> copies_;
  Status refusal_;
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
inline void lose(PrimaryProcess& primary, CopyProcess& copy) {
  primary.world().block(primary.node(), copy.node(), true);
  primary.store().set_reachable(false);
}

// Of the checkpoints on two disks: files of one name are the same.
inline bool checkpoints_fit(SimWorld& world, SimNode& node, FaultDisk& disk, FaultDisk& other) {
  const std::string folder = kDatabaseFolder + "/checkpoint";
  const auto names = world.run(node, disk.list(folder));
  REQUIRE(names.ok());
  return std::ranges::all_of(*names, [&](const std::string& name) {
    const std::string path = folder + "/" + name;
    return !other.has(path) || other.bytes(path) == disk.bytes(path);
  });
}

inline bool has_line(const std::vector<std::string>& lines, const std::string& words) {
  return std::ranges::any_of(lines,
                             [&](const std::string& line) { return line.find(words) != std::string::npos; });
}

inline const Place& place_in(const SharedConfiguration& shared) {
  return shared.stored.configuration.place(0);
}

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
  // As namctl calls, with an answer that comes when it likes.
  void call_later(const std::string& address, std::uint16_t method, std::string request,
                  std::optional<Status>* answer) {
    SimNode& tool = world().add_node("patient tool");
    tool.spawn(calls, call_for(&tool, address, method, std::move(request), answer));
  }
  static reactor::Task<void> call_for(SimNode* tool, std::string address, std::uint16_t method,
                                      std::string request, std::optional<Status>* answer) {
    SimClientFabric fabric(*tool);
    std::string hello = tool_hello(tool->random(), "tool");
    const auto reply = co_await placement::call_once(tool, &fabric, std::move(address), std::move(hello),
                                                     method, std::move(request), 60 * kSecond_ns);
    *answer = reply.status();
  }
  reactor::Gate calls;
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
}  // namespace namdb::memory
