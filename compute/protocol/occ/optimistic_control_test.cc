#include "compute/protocol/occ/optimistic_control.h"

#include <catch2/catch.hpp>
#include <functional>

#include "compute/testing/protocol_scene.h"

namespace namdb::protocol::testing {
namespace {

using layout::HeaderWord;
using layout::Stamp;

constexpr Stamp kCommitted{16, 10};
constexpr Stamp kOwnStamp{kOwnSlot, 1000};

struct OptimisticRow {
  const char* name;
  HeaderWord header;
  Version version;
  const char* decision;
};

}  // namespace

// Under all orders of transactions, where a record has one version it is read as it is committed now.
TEST_CASE("which versions are committed now, by the bytes of the record", "[occ]") {
  const std::vector<OptimisticRow> rows = {
      {"header and body of one version", free_word(kCommitted), {.stamp = kCommitted}, "visible"},
      {"a tombstone", tombstone_word(kCommitted), {.stamp = kCommitted, .deleted = true}, "visible"},
      {"a header that is newer than the body", free_word({16, 11}), {.stamp = kCommitted}, "torn"},
      {"a body that is newer than the header", free_word(kCommitted), {.stamp = {16, 11}}, "torn"},
      {"header and body of the same counter of two slots",
       free_word({17, 10}),
       {.stamp = kCommitted},
       "torn"},
      {"a header without the body's tombstone",
       free_word(kCommitted),
       {.stamp = kCommitted, .deleted = true},
       "torn"},
      {"a tombstone's header in front of a row", tombstone_word(kCommitted), {.stamp = kCommitted}, "torn"},
      {"another transaction holds it", lock_word({30, 7}), {.stamp = kCommitted}, "locked by other"},
      {"another transaction holds it, and its body is there",
       lock_word({30, 7}),
       {.stamp = {30, 7}},
       "locked by other"},
      {"another transaction holds it with the body's stamp",
       lock_word(kCommitted),
       {.stamp = kCommitted},
       "locked by other"},
      {"the memory server holds it",
       lock_word({layout::kCollectorSlot, 3}),
       {.stamp = kCommitted},
       "locked by other"},
      {"the transaction's own commit holds it", lock_word(kOwnStamp), {.stamp = kCommitted}, "visible"},
      {"another commit of its slot holds it",
       lock_word({kOwnSlot, 1001}),
       {.stamp = kCommitted},
       "locked by other"},
  };
  for (const char* const protocol : {"occ", "sundial"}) {
    for (const OptimisticRow& row : rows) {
      INFO(row.name << ", " << protocol);
      ProtocolScene scene({.protocol = protocol});
      REQUIRE(scene.begin().ok());
      scene.control().lock_stamp(kOwnStamp);
      CHECK(scene.decide(row.header, row.version) == row.decision);
      // A search for newest versions ignores locks, and checks the header words itself.
      scene.visibility().ignore_locks(true);
      CHECK(scene.decide(row.header, row.version) == "visible");
      scene.visibility().ignore_locks(false);
      CHECK(scene.decide(row.header, row.version) == row.decision);
    }
  }
}

TEST_CASE("whether a chain's lock word lets a missing key be believed", "[occ]") {
  struct AbsenceRow {
    const char* name;
    HeaderWord lock;
    bool looks_through;
    bool believed;
  };
  const std::vector<AbsenceRow> rows = {
      {"it is not locked", free_word(kCommitted), false, true},
      {"a chain that was never locked", {}, false, true},
      {"another transaction holds it", lock_word({30, 7}), false, false},
      {"the memory server holds it", lock_word({layout::kCollectorSlot, 3}), false, false},
      {"another transaction holds it, and locks are ignored", lock_word({30, 7}), true, true},
  };
  for (const char* const protocol : {"occ", "nowait", "waitdie", "sundial", "mvcc", "calvin", "drtm"}) {
    for (const AbsenceRow& row : rows) {
      INFO(row.name << ", " << protocol);
      ProtocolScene scene({.protocol = protocol});
      scene.visibility().ignore_locks(row.looks_through);
      CHECK(scene.visibility().absence_is_certain(row.lock) == row.believed);
    }
  }
  // A snapshot shows no row of a commit that is under way.
  CHECK(ProtocolScene({}).visibility().absence_is_certain(lock_word({30, 7})));
}

TEST_CASE("whether reads were true at one moment, by the bytes since", "[occ]") {
  struct ConfirmRow {
    const char* name;
    std::function<void(ProtocolScene&)> since;
    const char* one;  // record was read
    const char* two;
  };
  const std::vector<ConfirmRow> rows = {
      {"nothing has changed", [](ProtocolScene&) {}, "ok", "ok"},
      {"one READ is of one moment, whatever came since",
       [](ProtocolScene& s) { s.bytes.record(kRecord, {.stamp = {16, 11}}); }, "ok", "serialization_failure"},
      {"another transaction holds what was read",
       [](ProtocolScene& s) { s.bytes.word(kRecord, lock_word({30, 7}).value()); }, "ok",
       "serialization_failure"},
      {"the memory server holds what was read",
       [](ProtocolScene& s) { s.bytes.word(kRecord, lock_word({layout::kCollectorSlot, 3}).value()); }, "ok",
       "serialization_failure"},
      {"what was not read has changed",
       [](ProtocolScene& s) { s.bytes.record({0, 0x58000}, {.stamp = {16, 11}, .key = 3}); }, "ok", "ok"},
  };
  for (const ConfirmRow& row : rows) {
    for (const bool two : {false, true}) {
      INFO(row.name << (two ? ", two rows" : ", one row"));
      ProtocolScene scene({.protocol = "occ"});
      scene.stored({.stamp = kCommitted});
      scene.stored({.stamp = kCommitted, .key = 2}, kOtherRecord);
      scene.get(1);
      if (two) scene.get(2);
      REQUIRE(scene.fetch().ok());
      row.since(scene);
      CHECK(words_of(scene.worker.run(scene.validation().confirm_reads(true))) == (two ? row.two : row.one));
    }
  }
}

TEST_CASE("records that a commit locks itself need no validation, and all others do", "[occ]") {
  struct ValidateRow {
    const char* name;
    std::function<void(ProtocolScene&)> since;
    const char* end;
  };
  const std::vector<ValidateRow> rows = {
      {"the own lock on what is written",
       [](ProtocolScene& s) { s.bytes.word(kRecord, lock_word(kOwnStamp).value()); }, "ok"},
      {"a row that is written is locked from the word that was read: its word is not checked",
       [](ProtocolScene& s) { s.bytes.word(kRecord, free_word({16, 11}).value()); }, "ok"},
      {"a row that was only read has changed",
       [](ProtocolScene& s) { s.bytes.record(kOtherRecord, {.stamp = {16, 11}, .key = 2}); },
       "serialization_failure"},
      {"another transaction holds what was only read",
       [](ProtocolScene& s) { s.bytes.word(kOtherRecord, lock_word({30, 7}).value()); },
       "serialization_failure"},
  };
  for (const ValidateRow& row : rows) {
    INFO(row.name);
    ProtocolScene scene({.protocol = "occ"});
    scene.stored({.stamp = kCommitted});
    scene.stored({.stamp = kCommitted, .key = 2}, kOtherRecord);
    const txn::RowId written = scene.get(1);
    scene.get(2);
    REQUIRE(scene.fetch().ok());
    REQUIRE(scene.transaction->update(written).set_integer(1, 5).ok());
    scene.control().lock_stamp(kOwnStamp);
    row.since(scene);
    txn::BatchSet batches(scene.worker.cluster);
    const ChainLocks chains(scene.worker.state, batches, scene.worker.counters);
    const Validation::Locked locked{chains, false, false};
    CHECK(words_of(scene.worker.run(scene.validation().validate(locked))) == row.end);
  }
}

}  // namespace namdb::protocol::testing
