// The record of a folder's region on disk: at each end of a process the old one is there, or the new one.
#include "memory/placement/place_record.h"

#include <catch2/catch.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "common/reactor/testing/manual_executor.h"
#include "memory/log/testing/fault_disk.h"

namespace namdb::memory {
namespace {

using reactor::testing::ManualExecutor;
using testing::FaultDisk;

PlaceRecord first_record() {
  PlaceRecord record;
  record.state = PlaceState::here;
  record.database_id = 0x1234;
  record.server_id = 1;
  record.configuration = placement::Configuration(2);
  record.configuration.set(1, {1, "first:1"});
  return record;
}

PlaceRecord second_record() {
  PlaceRecord record = first_record();
  record.state = PlaceState::departed;
  record.claim = 77;
  record.configuration.set(1, {2, "second:1"});
  return record;
}

template <typename T>
reactor::Task<void> keep_result(reactor::Task<T> task, std::optional<T>* result) {
  T value = co_await task;
  result->emplace(std::move(value));
}

template <typename T>
T run(ManualExecutor& executor, reactor::Task<T> task) {
  reactor::Gate gate;
  std::optional<T> result;
  executor.spawn(gate, keep_result(std::move(task), &result));
  executor.run_until([&result] { return result.has_value(); });
  executor.run_ready();
  return std::move(*result);
}

}  // namespace

TEST_CASE("places that a record learns change nothing that is stored at the same time", "[placement]") {
  ManualExecutor executor;
  FaultDisk disk(executor, 1);
  REQUIRE(run(executor, disk.make_folder("data")).ok());
  PlaceKeeper keeper(executor, disk, "data", first_record());
  placement::Configuration places(2);
  places.set(0, {5, "zero:1"});
  reactor::Gate gate;
  std::optional<Status> first;
  std::optional<Status> second;
  std::optional<Status> learned;
  executor.spawn(gate, keep_result(keeper.store(first_record()), &first));
  executor.spawn(gate, keep_result(keeper.store(second_record()), &second));
  executor.spawn(gate, keep_result(keeper.learn(places), &learned));
  executor.run_until([&] { return first && second && learned; });
  executor.run_ready();
  CHECK((first->ok() && second->ok() && learned->ok()));
  CHECK(keeper.record().state == PlaceState::departed);
  CHECK(keeper.record().configuration.place(1) == second_record().configuration.place(1));
  CHECK(keeper.record().configuration.place(0) == placement::Place{5, "zero:1"});
}

TEST_CASE("a place record's bytes are read back, and damaged ones are refused", "[placement]") {
  PlaceRecord record = second_record();
  record.state = PlaceState::whole;
  record.position = 4711;
  record.from = "old:1";
  record.address = "new:1";
  const std::string bytes = write_place_record(record);
  const auto read = read_place_record(std::as_bytes(std::span(bytes)));
  REQUIRE(read.ok());
  CHECK(*read == record);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    INFO("byte " << i);
    CHECK_FALSE(read_place_record(std::as_bytes(std::span(damaged))).ok());
    CHECK_FALSE(read_place_record(std::as_bytes(std::span(bytes).first(i))).ok());
  }
}

TEST_CASE("a disk may end at any step, and the old place record is there or the new one", "[placement]") {
  const FaultDisk::End end = GENERATE(FaultDisk::End::killed, FaultDisk::End::power_lost);
  bool stored = false;
  for (std::uint64_t step = 0; !stored; ++step) {
    INFO("step " << step);
    ManualExecutor executor;
    FaultDisk disk(executor, step);
    PlaceKeeper keeper(executor, disk, "data", first_record());
    REQUIRE(run(executor, disk.make_folder("data")).ok());
    REQUIRE(run(executor, PlaceKeeper::load(disk, "data"))->has_value() == false);
    REQUIRE(run(executor, keeper.store(first_record())).ok());
    disk.stop_at(disk.steps() + step);
    stored = run(executor, keeper.store(second_record())).ok();
    disk.restart(end);
    const auto found = run(executor, PlaceKeeper::load(disk, "data"));
    REQUIRE(found.ok());
    REQUIRE(found->has_value());
    if (stored) {
      CHECK(**found == second_record());
    } else {
      CHECK((**found == first_record() || **found == second_record()));
    }
    // It does not change any more: the reader has made it durable.
    disk.restart(FaultDisk::End::power_lost);
    CHECK(**run(executor, PlaceKeeper::load(disk, "data")) == **found);
  }
}

}  // namespace namdb::memory
