// For tests: lives of a memory server that follow each other on one disk, with what its clients were told.
#pragma once

#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "common/reactor/testing/manual_executor.h"
#include "memory/opening/testing/durable_life.h"

namespace namdb::memory::testing {

struct Machine {
  reactor::testing::ManualExecutor executor;
  FaultDisk disk{executor, 1};
};

// The answers that clients got, and the change for which they got none.
struct Told {
  DurableLife::Rows rows;
  std::optional<DurableLife::Rows> perhaps;  // the change that got no answer is there
  bool is(const DurableLife::Rows& found) const { return found == rows || (perhaps && found == *perhaps); }
};

// One change after the other, until the disk stops.
class Script {
 public:
  explicit Script(Told& told) : told_(told) {}

  void run(DurableLife& life) {
    if (!life.connect().ok()) return;
    const auto tables = [](DurableLife::Rows& rows) { rows["a"]; };
    step([&] { return life.create_table("a"); }, tables);
    for (std::int64_t key = 0; key < 8; ++key) insert(life, "a", key, key);
    update(life, "a", 3, 30);
    step([&] { return life.checkpoint(); }, [](DurableLife::Rows&) {});
    update(life, "a", 3, 31);
    update(life, "a", 4, 40);
    erase(life, "a", 5);
    step([&] { return life.create_table("b"); }, [](DurableLife::Rows& rows) { rows["b"]; });
    for (std::int64_t key = 0; key < 5; ++key) insert(life, "b", key, -key);
    step([&] { return life.create_table("c"); }, [](DurableLife::Rows& rows) { rows["c"]; });
    insert(life, "c", 1, 1);
    step([&] { return life.checkpoint(); }, [](DurableLife::Rows&) {});
    insert(life, "a", 5, 50);
    erase(life, "b", 2);
    step([&] { return life.drop_table("c"); }, [](DurableLife::Rows& rows) { rows.erase("c"); });
    insert(life, "a", 100, 100);
    step([&] { return life.close_slot(); }, [](DurableLife::Rows&) {});
    done_ = !stopped_;
  }
  bool done() const { return done_; }

 private:
  void step(const std::function<Status()>& change, const std::function<void(DurableLife::Rows&)>& effect) {
    if (stopped_) return;
    told_.perhaps = told_.rows;
    effect(*told_.perhaps);
    stopped_ = !change().ok();
    if (!stopped_) told_.rows = *told_.perhaps;
  }
  void insert(DurableLife& life, const std::string& table, std::int64_t key, std::int64_t value) {
    step([&] { return life.insert(table, key, value); },
         [&](DurableLife::Rows& rows) { rows[table][key] = value; });
  }
  void update(DurableLife& life, const std::string& table, std::int64_t key, std::int64_t value) {
    step([&] { return life.update(table, key, value); },
         [&](DurableLife::Rows& rows) { rows[table][key] = value; });
  }
  void erase(DurableLife& life, const std::string& table, std::int64_t key) {
    step([&] { return life.erase(table, key); }, [&](DurableLife::Rows& rows) { rows[table].erase(key); });
  }

  Told& told_;
  bool stopped_ = false;
  bool done_ = false;
};

// The rows that the next life finds, in the records and by its buckets.
DurableLife::Rows opened_rows(FaultDisk& disk, FaultDisk::End end);
// A disk on which a life has come to the end of the script.
std::unique_ptr<FaultDisk> finished_disk(Machine& machine, Told& told);

}  // namespace namdb::memory::testing
