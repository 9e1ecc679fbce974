// A transaction sees its own writes, whatever bytes are stored.
#include <catch2/catch.hpp>
#include <functional>

#include "compute/testing/protocol_scene.h"

namespace namdb::protocol::testing {
namespace {

using Step = std::function<std::string(ProtocolScene&, txn::RowId)>;

// Steps of a transaction on the row with key 1; each says what the transaction sees afterwards.
const Step kFetch = [](ProtocolScene& s, txn::RowId row) { return s.fetched(row); };

Step update(std::int64_t value) {
  return [value](ProtocolScene& s, txn::RowId row) {
    REQUIRE(s.transaction->update(row).set_integer(1, value).ok());
    return s.seen(row);
  };
}

const Step kErase = [](ProtocolScene& s, txn::RowId row) {
  s.transaction->erase(row);
  return s.seen(row);
};

Step insert(std::int64_t value) {
  return [value](ProtocolScene& s, txn::RowId row) {
    CHECK(s.transaction->insert(s.worker.table, row_of(*s.worker.table, 1, value).bytes()) == row);
    return s.seen(row);
  };
}

// A savepoint, and the return to it.
struct Mark {
  std::shared_ptr<txn::Transaction::Savepoint> at = std::make_shared<txn::Transaction::Savepoint>();
  Step set() const {
    return [at = at](ProtocolScene& s, txn::RowId row) {
      *at = s.transaction->savepoint();
      return s.seen(row);
    };
  }
  Step back() const {
    return [at = at](ProtocolScene& s, txn::RowId row) {
      REQUIRE(s.transaction->rollback_to(*at).ok());
      return s.seen(row);
    };
  }
};

struct OwnRow {
  const char* name;
  std::optional<Version> stored;
  std::vector<std::pair<Step, const char*>> steps;
  WriteKind kind;
};

}  // namespace

TEST_CASE("a transaction sees its own writes, case by case", "[own_writes]") {
  const Version five{.value = 5};
  const Version tombstone{.deleted = true};
  const Mark first;
  const Mark second;
  const std::vector<OwnRow> rows = {
      {"an update is seen", five, {{kFetch, "5"}, {update(6), "6"}}, WriteKind::update},
      {"the last update is seen",
       five,
       {{kFetch, "5"}, {update(6), "6"}, {update(7), "7"}},
       WriteKind::update},
      {"a row that was erased is not there", five, {{kFetch, "5"}, {kErase, "not found"}}, WriteKind::erase},
      {"an update and then an erase",
       five,
       {{kFetch, "5"}, {update(6), "6"}, {kErase, "not found"}},
       WriteKind::erase},
      {"an erase and then an insert is an update of what is stored",
       five,
       {{kFetch, "5"}, {kErase, "not found"}, {insert(8), "8"}},
       WriteKind::update},
      {"an insert over a row that is there",
       five,
       {{kFetch, "5"}, {insert(8), "5"}, {kFetch, "duplicate_key"}},
       WriteKind::none},
      {"an insert that turns out to be of a row that is there",
       five,
       {{insert(8), "8"}, {kFetch, "duplicate_key"}},
       WriteKind::insert},
      {"an insert of a row that is not there",
       {},
       {{kFetch, "not found"}, {insert(8), "8"}},
       WriteKind::insert},
      {"an insert before anything was read", {}, {{insert(8), "8"}, {kFetch, "8"}}, WriteKind::insert},
      {"an insert and then an erase is nothing",
       {},
       {{kFetch, "not found"}, {insert(8), "8"}, {kErase, "not found"}},
       WriteKind::none},
      {"an insert that was erased before it was looked for is no duplicate",
       five,
       {{insert(8), "8"}, {kErase, "not found"}, {kFetch, "5"}},
       WriteKind::none},
      {"an insert over the own insert",
       {},
       {{insert(8), "8"}, {insert(9), "8"}, {kFetch, "duplicate_key"}},
       WriteKind::insert},
      {"an insert where a tombstone is",
       tombstone,
       {{kFetch, "not found"}, {insert(8), "8"}},
       WriteKind::insert},
      {"an own write hides what others write later",
       five,
       {{kFetch, "5"},
        {update(6), "6"},
        {[](ProtocolScene& s, txn::RowId row) {
           s.bytes.record(kRecord, {.stamp = {16, 11}, .value = 99});
           return s.fetched(row);
         },
         "6"}},
       WriteKind::update},
      {"an update is undone to the one before the savepoint",
       five,
       {{kFetch, "5"}, {update(6), "6"}, {first.set(), "6"}, {update(7), "7"}, {first.back(), "6"}},
       WriteKind::update},
      {"an update is undone to what is stored",
       five,
       {{kFetch, "5"}, {first.set(), "5"}, {update(7), "7"}, {first.back(), "5"}},
       WriteKind::none},
      {"an insert is undone",
       {},
       {{kFetch, "not found"}, {first.set(), "not found"}, {insert(8), "8"}, {first.back(), "not found"}},
       WriteKind::none},
      {"an erase is undone",
       five,
       {{kFetch, "5"}, {first.set(), "5"}, {kErase, "not found"}, {first.back(), "5"}},
       WriteKind::none},
      {"an erase of the own insert is undone",
       {},
       {{kFetch, "not found"},
        {insert(8), "8"},
        {first.set(), "8"},
        {kErase, "not found"},
        {first.back(), "8"}},
       WriteKind::insert},
      {"an insert over the own erase is undone",
       five,
       {{kFetch, "5"},
        {kErase, "not found"},
        {first.set(), "not found"},
        {insert(8), "8"},
        {first.back(), "not found"}},
       WriteKind::erase},
      {"after a return changes are undone again",
       five,
       {{kFetch, "5"},
        {first.set(), "5"},
        {update(6), "6"},
        {first.back(), "5"},
        {update(7), "7"},
        {first.back(), "5"}},
       WriteKind::none},
      {"an earlier savepoint undoes what later ones have kept",
       five,
       {{kFetch, "5"},
        {first.set(), "5"},
        {update(6), "6"},
        {second.set(), "6"},
        {kErase, "not found"},
        {second.back(), "6"},
        {update(7), "7"},
        {first.back(), "5"}},
       WriteKind::none},
      {"a duplicate is forgotten",
       five,
       {{kFetch, "5"},
        {first.set(), "5"},
        {insert(8), "5"},
        {kFetch, "duplicate_key"},
        {first.back(), "5"},
        {kFetch, "5"},
        {update(6), "6"}},
       WriteKind::update},
      {"an insert that turned out to be of a row that is there is undone",
       five,
       {{first.set(), "not found"},
        {insert(8), "8"},
        {kFetch, "duplicate_key"},
        {first.back(), "5"},
        {kFetch, "5"}},
       WriteKind::none},
  };
  for (const char* const protocol : {"si", "occ", "sundial", "mvcc", "nowait", "waitdie", "drtm", "calvin"}) {
    for (const OwnRow& row : rows) {
      INFO(row.name << ", " << protocol);
      ProtocolScene scene({.protocol = protocol});
      scene.worker.publish(1, {16, 100});
      scene.worker.executor.advance(1000);
      scene.no_rows();
      if (row.stored) scene.stored(*row.stored);
      const txn::RowId asked = scene.get(1);
      for (const auto& [step, seen] : row.steps) CHECK(step(scene, asked) == seen);
      CHECK(scene.access(asked).write == row.kind);
    }
  }
}

}  // namespace namdb::protocol::testing
