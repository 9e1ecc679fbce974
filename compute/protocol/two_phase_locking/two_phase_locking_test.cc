#include "compute/protocol/two_phase_locking/two_phase_locking.h"

#include <catch2/catch.hpp>
#include <functional>

#include "compute/testing/protocol_scene.h"

namespace namdb::protocol::testing {
namespace {

using layout::HeaderWord;
using layout::Stamp;

constexpr Stamp kStored{16, 10};
constexpr Stamp kLater{16, 11};
constexpr Stamp kHolder{30, 7};
constexpr Stamp kCollector{layout::kCollectorSlot, 3};
// The priority that the transaction draws, and its lock word.
constexpr std::uint32_t kPriority = 1000;
constexpr HeaderWord kOwnLock = lock_word({kOwnSlot, kPriority});

struct LockingScene : ProtocolScene {
  explicit LockingScene(const char* protocol = "nowait") : ProtocolScene({.protocol = protocol}) {
    worker.executor.advance(kPriority * PriorityClock::kTick_ns);
    no_rows();
  }
};

struct LockRow {
  const char* name;
  std::function<void(LockingScene&)> put;
  std::string seen;       // by get() and fetch()
  HeaderWord while_held;  // the record's header then
  HeaderWord afterwards;  // when the transaction has given up
  bool noted = false;     // kHolder's lock
};

void check_locks(const std::vector<LockRow>& rows, const char* protocol) {
  for (const LockRow& row : rows) {
    INFO(row.name << ", " << protocol);
    LockingScene scene(protocol);
    row.put(scene);
    CHECK(scene.fetched(scene.get(1)) == row.seen);
    CHECK(scene.bytes.header(kRecord) == row.while_held);
    CHECK(scene.visibility().holds(kRecord) == (row.while_held == kOwnLock));
    CHECK(scene.worker.locks.has(kRecord, lock_word(kHolder)) == row.noted);
    scene.transaction->abort();
    scene.worker.executor.run_ready();
    CHECK(scene.bytes.header(kRecord) == row.afterwards);
  }
}

// A bucket and then the record are READ first: the CAS is in the third batch.
constexpr std::size_t kCas = 2;

void guessed(LockingScene& scene, HeaderWord guess) {
  scene.worker.cluster.saw_memory(kRecord, scene.worker.table->record.record_bytes());
  scene.worker.locations.insert(scene.bytes.entry(1, kRecord));
  static_cast<LockingProtocol&>(*scene.worker.worker_protocol)
      .lockers()
      .guesses.note(kRecord, guess, scene.worker.registry.learned());
}

}  // namespace

TEST_CASE("whether a row that is asked for is locked, by the bytes that READ and CAS find", "[nowait]") {
  const Version five{.stamp = kStored, .value = 5};
  const Version six{.stamp = kLater, .value = 6};
  const auto cas_finds = [five](std::function<void(LockingScene&)> change) {
    return [five, change = std::move(change)](LockingScene& s) {
      s.stored(five);
      s.worker.fabric.before_batch(kCas, [&s, change] { change(s); });
    };
  };
  const std::vector<LockRow> rows = {
      {"it is not locked: locked from the version that was read", [&](LockingScene& s) { s.stored(five); },
       "5", kOwnLock, free_word(kStored)},
      {"a tombstone is locked, so that no other transaction revives it",
       [](LockingScene& s) { s.stored({.stamp = kStored, .deleted = true}); }, "not found", kOwnLock,
       tombstone_word(kStored)},
      {"there is no record: nothing to lock", [](LockingScene&) {}, "not found", {}, {}},
      {"another transaction holds it: a conflict",
       [&](LockingScene& s) {
         s.stored(five);
         s.bytes.word(kRecord, lock_word(kHolder).value());
       },
       "serialization_failure", lock_word(kHolder), lock_word(kHolder), true},
      {"the memory server holds it: waited for",
       [&](LockingScene& s) {
         s.stored(five);
         s.bytes.word(kRecord, lock_word(kCollector).value());
         s.worker.fabric.before_batch(20, [&s, five] { s.bytes.record(kRecord, five); });
       },
       "5", kOwnLock, free_word(kStored)},
      {"the CAS finds another version: read again, and locked from that",
       cas_finds([six](LockingScene& s) { s.bytes.record(kRecord, six); }), "6", kOwnLock, free_word(kLater)},
      {"the CAS finds another transaction's lock: a conflict",
       cas_finds([](LockingScene& s) { s.bytes.word(kRecord, lock_word(kHolder).value()); }),
       "serialization_failure", lock_word(kHolder), lock_word(kHolder), true},
      {"the CAS finds the memory server's lock: waited for", cas_finds([five](LockingScene& s) {
         s.bytes.word(kRecord, lock_word(kCollector).value());
         s.worker.fabric.before_batch(20, [&s, five] { s.bytes.record(kRecord, five); });
       }),
       "5", kOwnLock, free_word(kStored)},
      {"the CAS finds that the record was reclaimed: the row is not there", cas_finds([](LockingScene& s) {
         s.bytes.record(kRecord, {.stamp = kLater, .deleted = true, .incarnation = 0x20106});
         s.no_rows();
       }),
       "not found", tombstone_word(kLater), tombstone_word(kLater)},
      {"a guess that is right: the lock is sent with the READ",
       [&](LockingScene& s) {
         s.stored(five);
         guessed(s, free_word(kStored));
         // There is no other batch.
         s.worker.fabric.before_batch(1, [&s] { s.bytes.word(kRecord, 0); });
       },
       "5", kOwnLock, free_word(kStored)},
      {"a guess that is wrong: locked from what was read",
       [&](LockingScene& s) {
         s.stored(six);
         guessed(s, free_word(kStored));
       },
       "6", kOwnLock, free_word(kLater)},
      {"a guess of a row that another transaction holds",
       [&](LockingScene& s) {
         s.stored(five);
         s.bytes.word(kRecord, lock_word(kHolder).value());
         guessed(s, free_word(kStored));
       },
       "serialization_failure", lock_word(kHolder), lock_word(kHolder), true},
      {"a guess that leads to another key's record: the lock there is given back",
       [&](LockingScene& s) {
         s.bytes.record(kRecord, {.stamp = kStored, .key = 2});
         guessed(s, free_word(kStored));
       },
       "not found", kOwnLock, free_word(kStored)},
  };
  check_locks(rows, "nowait");
  check_locks(rows, "waitdie");
}

TEST_CASE("a row that was shown without a lock is locked as it was shown, or there is a conflict",
          "[nowait]") {
  struct ShownRow {
    const char* name;
    std::function<void(LockingScene&)> since;
    const char* end;
  };
  const std::vector<ShownRow> rows = {
      {"as it was", [](LockingScene&) {}, "5"},
      {"changed since", [](LockingScene& s) { s.bytes.record(kRecord, {.stamp = kLater, .value = 6}); },
       "serialization_failure"},
      {"deleted since", [](LockingScene& s) { s.bytes.record(kRecord, {.stamp = kLater, .deleted = true}); },
       "serialization_failure"},
      {"held by another transaction",
       [](LockingScene& s) { s.bytes.word(kRecord, lock_word(kHolder).value()); }, "serialization_failure"},
      {"held by the memory server: it may delete the row",
       [](LockingScene& s) { s.bytes.word(kRecord, lock_word(kCollector).value()); },
       "serialization_failure"},
  };
  for (const char* const protocol : {"nowait", "waitdie"}) {
    for (const ShownRow& row : rows) {
      INFO(row.name << ", " << protocol);
      LockingScene scene(protocol);
      scene.stored({.stamp = kStored, .value = 5});
      const txn::RowId shown = scene.read(1);
      REQUIRE(scene.fetched(shown) == "5");
      CHECK(scene.bytes.header(kRecord) == free_word(kStored));
      row.since(scene);
      CHECK(scene.get(1) == shown);
      CHECK(scene.fetched(shown) == row.end);
      scene.transaction->abort();
      scene.worker.executor.run_ready();
      CHECK(scene.bytes.header(kRecord) != kOwnLock);
    }
  }
}

TEST_CASE("once the connection is given up nothing is released, though its channels fail only later",
          "[locks]") {
  LockingScene scene;
  scene.stored({.stamp = kStored, .value = 5, .key = 1});
  CHECK(scene.fetched(scene.get(1)) == "5");
  REQUIRE(scene.bytes.header(kRecord) == kOwnLock);
  scene.worker.fabric.fail_late();
  scene.worker.cluster.give_up(Status(ErrorCode::connection_failure, "the connection has ended"));
  REQUIRE(!scene.worker.cluster.channel(0).failed());
  const std::size_t batches = scene.worker.fabric.batches();
  scene.transaction->abort();
  scene.worker.executor.run_ready();
  CHECK(scene.worker.fabric.batches() == batches);
  CHECK(scene.bytes.header(kRecord) == kOwnLock);
  scene.worker.slot_keeper.fail();
}

}  // namespace namdb::protocol::testing
