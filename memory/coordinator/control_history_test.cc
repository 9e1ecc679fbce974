// Histories of control state: the entries of any of them give the state that made them, at every prefix, also
// where the log is full for a while.
#include <catch2/catch.hpp>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/base/random.h"
#include "memory/testing/control_subject.h"

namespace namdb::memory {
namespace control_history_test {

using testing::bytes_of;
using testing::ControlSubject;
using testing::replay;

// Draws changes of all kinds, of three channels that come and go.
class ControlHistory {
 public:
  ControlHistory(ControlSubject& subject, std::uint64_t seed) : subject_(subject), random_(seed) {}

  void step() {
    switch (random_.below(16)) {
      case 12:
        return alter();
      case 13:
        return replace();
      case 14:
      case 15:
        return change_routine();
      case 0:
      case 1:
        return begin_table();
      case 2:
      case 3:
        return finish_table();
      case 4:
        return begin_index();
      case 5:
      case 6:
        return advance_index();
      case 7:
        return drop();
      case 8:
        return grow();
      case 9:
        return disconnect();
      default:
        return use_slot();
    }
  }

  std::uint64_t made = 0;  // changes that succeeded
  std::uint64_t tables_replaced = 0;
  std::uint64_t routines_replaced = 0;
  std::uint64_t routines_dropped = 0;

 private:
  fabric::PeerId peer() { return 1 + random_.below(3); }
  std::string name() { return "r" + std::to_string(random_.below(8)); }
  void change(const ControlChanges::Change& edit) {
    const std::string before = subject_.exported().SerializeAsString();
    const Status status = subject_.change(edit);
    if (status.ok()) ++made;
    // A change that fails, for any reason, has changed nothing.
    if (!status.ok()) REQUIRE(subject_.exported().SerializeAsString() == before);
    if (subject_.log.full && !status.ok() && status.code() == ErrorCode::disk_full)
      REQUIRE(status.message() == "the disk is full");
  }

  void begin_table() {
    control::TableDescriptor wanted = testing::accounts(name());
    const auto& tables = subject_.catalog->tables();
    if (!tables.empty() && random_.chance(0.3)) {
      wanted.clear_columns();
      wanted.clear_key();
      wanted.mutable_hash_index()->set_table(tables.begin()->second.id());
      wanted.mutable_hash_index()->add_columns(1);
    }
    if (!tables.empty() && !wanted.has_hash_index() && random_.chance(0.5)) {
      const control::TableDescriptor& replaced =
          std::next(tables.begin(), random_.below(tables.size()))->second;
      wanted.set_name(random_.chance(0.9) ? replaced.name() : name());
      wanted.set_replaces(replaced.id());
    }
    const fabric::PeerId by = peer();
    std::optional<control::TableDescriptor> begun;
    change([&](Catalog& catalog) {
      auto result = catalog.begin(by, wanted);
      if (result.ok()) begun = *result;
      return result.ok() ? Status() : result.status();
    });
    if (!begun) return;
    Begun entry{by, *begun, {}};
    if (random_.chance(0.5) && !begun->has_hash_index()) {
      change([&](Catalog& catalog) {
        auto result = catalog.begin_index(by, index_on(begun->id(), name()));
        if (result.ok()) entry.indexes.push_back(*result);
        return result.ok() ? Status() : result.status();
      });
    }
    begun_.push_back(std::move(entry));
  }
  void finish_table() {
    if (begun_.empty()) return;
    const std::size_t at = random_.below(begun_.size());
    control::FinishCreateTableRequest request;
    *request.mutable_table() = begun_[at].table;
    for (int server = 0; server < 2; ++server)
      request.mutable_table()->add_bucket_base(8 * random_.below(1000));
    for (control::IndexDescriptor index : begun_[at].indexes) {
      index.add_parts()->set_server(static_cast<std::uint32_t>(random_.below(2)));
      *request.add_indexes() = std::move(index);
    }
    request.set_abandon(random_.chance(0.2));
    const fabric::PeerId by = begun_[at].peer;
    change([&](Catalog& catalog) {
      return request.abandon() ? catalog.abandon(by, request.table().id())
                               : catalog.finish(by, request).status();
    });
    begun_.erase(begun_.begin() + static_cast<std::ptrdiff_t>(at));
  }
  static control::IndexDescriptor index_on(std::uint32_t table, const std::string& name) {
    control::IndexDescriptor index;
    index.set_name(name);
    index.set_table(table);
    index.add_columns()->set_column(1);
    return index;
  }
  void begin_index() {
    const auto& tables = subject_.catalog->tables();
    if (tables.empty()) return;
    const fabric::PeerId by = peer();
    control::IndexDescriptor wanted =
        index_on(std::next(tables.begin(), random_.below(tables.size()))->second.id(), name());
    const auto& indexes = subject_.catalog->indexes();
    if (!indexes.empty() && random_.chance(0.5)) {
      wanted.set_replaces(indexes.begin()->second.id());
      wanted.set_balanced_bytes(1 + random_.below(1000));
    }
    change([&](Catalog& catalog) {
      auto result = catalog.begin_index(by, wanted);
      if (result.ok()) building_.push_back({by, *result});
      return result.ok() ? Status() : result.status();
    });
  }
  void advance_index() {
    if (random_.chance(0.2)) {
      change([&](Catalog& catalog) {
        catalog.acknowledged(catalog.version());
        return Status();
      });
      return;
    }
    for (const auto& [name, table] : subject_.catalog->tables()) {
      if (table.hash_index().state() == control::INDEX_BUILDING && random_.chance(0.5))
        return advance(peer(), table.id(), {});
    }
    if (building_.empty()) return;
    Building& building = building_[random_.below(building_.size())];
    if (building.index.parts_size() == 0) {
      building.index.add_parts();
      control::IndexPart& second = *building.index.add_parts();
      second.set_server(1);
      second.set_low("m");
    }
    advance(building.peer, building.index.id(), building.index);
  }
  void advance(fabric::PeerId by, std::uint32_t id, control::IndexDescriptor index) {
    control::AdvanceIndexRequest request;
    *request.mutable_index() = std::move(index);
    request.mutable_index()->set_id(id);
    request.set_state(random_.chance(0.5) ? control::INDEX_BUILDING : control::INDEX_READY);
    request.set_abandon(random_.chance(0.1));
    change([&](Catalog& catalog) { return catalog.advance_index(by, request).status(); });
  }
  void alter() {
    const auto& tables = subject_.catalog->tables();
    if (tables.empty()) return;
    control::AlterTableRequest request;
    control::TableDescriptor& table = *request.mutable_table();
    table = std::next(tables.begin(), random_.below(tables.size()))->second;
    if (random_.chance(0.5)) table.set_name(name());
    if (random_.chance(0.5)) table.mutable_columns(1)->set_name(name());
    if (random_.chance(0.1)) table.mutable_columns(1)->set_length_bytes(77);          // refused
    if (random_.chance(0.1)) table.set_altered_version(table.altered_version() + 1);  // likewise
    if (random_.chance(0.3)) table.add_checks()->set_name(name());
    for (const auto& [known, index] : subject_.catalog->indexes()) {
      if (index.table() != table.id() || request.indexes_size() != 0) continue;
      request.add_indexes()->set_id(index.id());
      request.mutable_indexes(0)->set_name(name());
    }
    change([&](Catalog& catalog) { return catalog.alter(request).status(); });
  }
  void replace() {
    for (const auto& [known, table] : subject_.catalog->tables()) {
      if (table.replaces() == 0) continue;
      const std::uint32_t id = table.id();
      const std::uint32_t old = table.replaces();
      std::uint32_t replaced = 0;
      // The one of the three that has created it.
      for (const fabric::PeerId by : {1, 2, 3}) {
        const std::uint64_t before = made;
        std::uint32_t dropped = 0;
        change([&](Catalog& catalog) {
          const auto result = catalog.replace_table(by, id);
          if (result.ok()) dropped = *result;
          return result.ok() ? Status() : result.status();
        });
        if (made == before) continue;
        replaced = dropped;
        break;
      }
      if (replaced == 0) return;
      REQUIRE(replaced == old);
      for (const auto& [now, other] : subject_.catalog->tables()) {
        REQUIRE(other.id() != old);
        if (other.id() == id) REQUIRE(now == Catalog::final_name(now));
      }
      ++tables_replaced;
      return;
    }
  }
  void drop() {
    const std::string dropped = name();
    if (random_.chance(0.5)) return change([&](Catalog& catalog) { return catalog.drop(dropped).status(); });
    change([&](Catalog& catalog) { return catalog.drop_index(dropped, false).status(); });
  }
  void change_routine() {
    const auto& routines = subject_.catalog->routines();
    const std::string drawn = name();
    const auto known = routines.find(drawn);
    const std::uint32_t id = known == routines.end() ? 0 : known->second.id();
    // Mostly the one that is there.
    std::uint64_t version = known == routines.end() ? 0 : known->second.version();
    if (random_.chance(0.2)) version = random_.below(subject_.catalog->version());
    const std::uint64_t before = made;
    if (random_.chance(0.3)) {
      control::DropRoutineRequest request;
      request.set_name(drawn);
      request.set_version(version);
      change([&](Catalog& catalog) { return catalog.drop_routine(request).status(); });
      if (made == before) return;
      REQUIRE(id != 0);
      REQUIRE_FALSE(routines.contains(drawn));
      ++routines_dropped;
      return;
    }
    control::CreateRoutineRequest request;
    request.set_name(drawn);
    request.set_definition(std::string(random_.below(100), 'd'));
    request.set_replaces_version(version);
    change([&](Catalog& catalog) { return catalog.create_routine(request).status(); });
    if (made == before) return;
    const control::RoutineDescriptor& routine = routines.at(drawn);
    REQUIRE(routine.definition() == request.definition());
    REQUIRE(routine.version() == subject_.catalog->version());
    if (id != 0) {
      REQUIRE(routine.id() == id);
      ++routines_replaced;
      return;
    }
    REQUIRE(routine.id() > newest_routine_);
    newest_routine_ = routine.id();
  }
  void grow() {
    const auto& tables = subject_.catalog->tables();
    if (tables.empty()) return;
    control::GrowTableRequest request;
    request.set_server(static_cast<std::uint32_t>(random_.below(2)));
    request.mutable_table()->set_table(tables.begin()->second.id());
    request.mutable_table()->set_bucket_base(8 * random_.below(1000));
    request.mutable_table()->set_doublings(static_cast<std::uint32_t>(random_.below(4)));
    change([&](Catalog& catalog) { return catalog.grow(request); });
  }
  void disconnect() {
    const fabric::PeerId gone = peer();
    const ControlChanges::Change undo = [&](Catalog& catalog) {
      catalog.disconnected(gone);
      return Status();
    };
    subject_.world.run(subject_.node, subject_.control->change_anyway(undo));
    std::erase_if(begun_, [&](const Begun& begun) { return begun.peer == gone; });
    std::erase_if(building_, [&](const Building& building) { return building.peer == gone; });
  }
  void use_slot() {
    Slots& slots = *subject_.slots;
    if (!leased_.empty() && random_.chance(0.6)) {
      const auto [by, slot] = leased_.back();
      leased_.pop_back();
      const auto counter = static_cast<std::uint32_t>(random_.below(100));
      REQUIRE(slots.close(by, slot, counter, 1).ok());
      const Status logged = subject_.world.run(subject_.node, subject_.control->log_closed(slot, counter));
      REQUIRE(logged.ok() == !(subject_.log.full && subject_.log.reserve_is_used));
      if (random_.chance(0.5)) slots.retire(1000, 1);
      return;
    }
    if (!subject_.world.run(subject_.node, subject_.control->reserve_slot()).ok()) return;
    const fabric::PeerId by = peer();
    const auto leased = slots.lease(by, "id", "c" + std::to_string(by));
    if (!leased.ok()) return;
    REQUIRE((*leased)->id < subject_.control->state().marks().next_slot());
    leased_.emplace_back(by, (*leased)->id);
  }

  struct Begun {
    fabric::PeerId peer;
    control::TableDescriptor table;
    std::vector<control::IndexDescriptor> indexes;
  };
  struct Building {
    fabric::PeerId peer;
    control::IndexDescriptor index;
  };
  ControlSubject& subject_;
  Random random_;
  std::vector<Begun> begun_;
  std::vector<Building> building_;
  std::uint32_t newest_routine_ = 0;
  std::vector<std::pair<fabric::PeerId, std::uint32_t>> leased_;
};

// A table is frozen as long as another one is to take its place.
void check_frozen(const control::ControlState& state) {
  std::set<std::uint32_t> replaced;
  for (const control::TableDescriptor& table : state.tables()) {
    if (table.replaces() != 0) REQUIRE(replaced.insert(table.replaces()).second);
  }
  for (const control::TableDescriptor& table : state.tables())
    REQUIRE(table.frozen() == replaced.contains(table.id()));
}

TEST_CASE("catalog and slots equal their entries' replay and the import of their export, at every prefix",
          "[control]") {
  std::uint64_t changes = 0;
  std::uint64_t replaced = 0;
  std::uint64_t routines_replaced = 0;
  std::uint64_t routines_dropped = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    INFO("seed " << seed);
    fabric::sim::SimWorld world(seed);
    ControlSubject subject(world, "m0");
    REQUIRE(subject.open().ok());
    ControlHistory history(subject, seed);
    Random random(seed);
    std::vector<std::string> states;  // by version
    for (int step = 0; step < 150; ++step) {
      history.step();
      const control::ControlState& state = subject.control->state();
      const std::string bytes = state.SerializeAsString();
      REQUIRE(subject.exported().SerializeAsString() == bytes);
      REQUIRE(state.version() == subject.log.records.size());
      check_frozen(state);
      states.resize(state.version() + 1);
      states[state.version()] = bytes;
    }
    changes += history.made;
    replaced += history.tables_replaced;
    routines_replaced += history.routines_replaced;
    routines_dropped += history.routines_dropped;
    for (std::size_t version = 1; version < states.size(); ++version) {
      if (states[version].empty()) continue;  // made on the way to the next
      control::ControlState state = replay(subject, version);
      REQUIRE(state.SerializeAsString() == states[version]);
      const auto read = read_control_state(bytes_of(states[version]));
      INFO(read.status().to_string());
      REQUIRE(read.ok());
      if (!random.chance(0.2)) continue;
      // Import and export.
      ControlSubject other(world, "m" + std::to_string(version));
      other.catalog->import_state(state);
      other.slots->import_state(state);
      control::ControlState again = state;
      other.catalog->export_state(again);
      other.slots->export_state(again);
      REQUIRE(again.SerializeAsString() == states[version]);
      // A log that begins before the state.
      for (std::size_t i = random.below(version); i < states.size() - 1; ++i) {
        const auto entry = read_control_entry(bytes_of(subject.log.records[i].second));
        REQUIRE(apply_control_entry(again, *entry).ok());
      }
      REQUIRE(again.SerializeAsString() == replay(subject, states.size() - 1).SerializeAsString());
    }
  }
  CHECK(changes > 1000);
  CHECK(replaced > 10);
  CHECK(routines_replaced > 30);
  CHECK(routines_dropped > 30);
}

TEST_CASE("a full log refuses changes and leaves the catalog as it was; closings use its reserve",
          "[control]") {
  for (const bool reserve_is_used : {false, true}) {
    fabric::sim::SimWorld world(7);
    ControlSubject subject(world, "m0");
    REQUIRE(subject.open().ok());
    ControlHistory history(subject, 7);
    for (int round = 0; round < 20; ++round) {
      subject.log.full = round % 2 == 1;
      subject.log.reserve_is_used = reserve_is_used;
      for (int step = 0; step < 20; ++step) history.step();
      if (subject.log.full) continue;
      // Closings that could not be logged come with the next entry at the latest.
      REQUIRE(subject.change([](Catalog&) { return Status(); }).ok());
      REQUIRE(subject.exported().SerializeAsString() == subject.control->state().SerializeAsString());
      REQUIRE(replay(subject, subject.log.records.size()).SerializeAsString() ==
              subject.control->state().SerializeAsString());
    }
  }
}

}  // namespace control_history_test
}  // namespace namdb::memory
