// For tests of regions that go from host to host, in virtual time: records of places, and a process whose
// region is elsewhere.
#pragma once

#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "memory/opening/testing/disk_lives.h"
#include "memory/placement/vacancy.h"

namespace namdb::memory::testing {

inline PlaceRecord vacant_record() {
  PlaceRecord record;
  record.state = PlaceState::vacant;
  record.configuration = placement::Configuration(1);
  return record;
}

inline PlaceRecord placed_record() {
  PlaceRecord record;
  record.database_id = kDatabaseId;
  record.configuration = placement::Configuration(1);
  return record;
}

// With the record that the disk has, or else this one.
inline std::unique_ptr<PlaceKeeper> load_keeper(fabric::sim::SimWorld& world, fabric::sim::SimNode& node,
                                                FaultDisk& disk, PlaceRecord otherwise) {
  auto found = world.run(node, PlaceKeeper::load(disk, kDatabaseFolder));
  REQUIRE(found.ok());
  if (*found) otherwise = **found;
  return std::make_unique<PlaceKeeper>(node, disk, kDatabaseFolder, std::move(otherwise));
}

// Runs a Vacancy on a node until it ends by itself, or with this object. All arguments by reference outlive
// it.
class VacancyProcess {
 public:
  VacancyProcess(fabric::sim::SimWorld& world, fabric::sim::SimNode& node, FaultDisk& disk,
                 PlaceKeeper& keeper, const std::string& address, ArrivalOptions options,
                 std::optional<Following> following = std::nullopt)
      : world_(world), node_(node), memory_(64) {
    const Vacancy::MakeServer make_server = [this](fabric::Service& service) {
      return std::make_unique<fabric::sim::SimServerFabric>(node_, std::as_writable_bytes(std::span(memory_)),
                                                            service);
    };
    vacancy_ = std::make_unique<Vacancy>(node_, std::make_unique<fabric::sim::SimClientFabric>(node_),
                                         make_server, disk, keeper, std::move(options), std::move(following));
    node_.spawn(gate_, run(address));
    world_.run_until([this] { return listens_ || ended_; }, kSecond_ns);
  }
  ~VacancyProcess() { close(); }
  VacancyProcess(const VacancyProcess&) = delete;
  VacancyProcess& operator=(const VacancyProcess&) = delete;

  // Ends what runs. The vacancy stays, for what it still has to give.
  void close() {
    if (closed_) return;
    closed_ = true;
    vacancy_->stop();
    world_.run(node_, close_gate());
  }

  Vacancy& vacancy() { return *vacancy_; }
  const Vacancy& vacancy() const { return *vacancy_; }
  bool ended() const { return ended_; }
  // Once it has ended.
  const Status& status() const { return status_; }

 private:
  reactor::Task<void> run(std::string address) {
    status_ = co_await vacancy_->run(std::move(address), [this] { listens_ = true; });
    ended_ = true;
  }
  reactor::Task<void> close_gate() { co_await gate_.close(); }

  fabric::sim::SimWorld& world_;
  fabric::sim::SimNode& node_;
  std::vector<std::uint64_t> memory_;
  std::unique_ptr<Vacancy> vacancy_;
  Status status_;
  bool listens_ = false;
  bool ended_ = false;
  bool closed_ = false;
  reactor::Gate gate_;
};

}  // namespace namdb::memory::testing
