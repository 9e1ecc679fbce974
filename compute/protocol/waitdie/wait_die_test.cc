#include "compute/protocol/waitdie/wait_die.h"
#include "common/layout/record_trailer.h"

#include <catch2/catch.hpp>
#include <functional>

#include "compute/testing/protocol_scene.h"

namespace namdb::protocol::testing {
namespace {

using layout::GlobalAddress;
using layout::HeaderWord;
using layout::Stamp;

// Priorities are the times at which transactions began: this one, one before it and one after it.
constexpr std::uint32_t kAge = 1000;
constexpr Stamp kOlder{30, kAge - 1};
constexpr Stamp kYounger{30, kAge + 1};
constexpr HeaderWord kOwn = lock_word({kOwnSlot, kAge});
constexpr Stamp kRow{16, 10};

struct AgeScene : ProtocolScene {
  AgeScene() : ProtocolScene({.protocol = "waitdie"}) {
    worker.executor.advance(kAge * PriorityClock::kTick_ns);
    no_rows();
    stored({.stamp = kRow, .value = 5});
    worker.list_slots({{30, control::SLOT_LEASED}}, 31);
  }
  GlobalAddress waiter_word() const { return kRecord + layout::waiter_offset(worker.table->record); }
};

}  // namespace

TEST_CASE("the meaning of a met lock under WAITDIE, by the bytes of the record", "[waitdie]") {
  struct AgeRow {
    const char* name;
    HeaderWord header;
    bool holds_nothing;  // the transaction has asked for no lock yet
    const char* decision;
  };
  constexpr std::uint32_t kHalf = 1U << 31;
  const std::vector<AgeRow> rows = {
      {"it is not locked", free_word(kRow), false, "visible"},
      {"header and body of two versions", free_word({16, 11}), false, "torn"},
      {"a younger transaction holds it: the older waits", lock_word(kYounger), false, "locked by other"},
      {"an older transaction holds it: the younger gives way", lock_word(kOlder), false, "conflict"},
      {"of equal ages the lower slot is older: it waits", lock_word({kOwnSlot + 1, kAge}), false,
       "locked by other"},
      {"of equal ages the higher slot is younger: it gives way", lock_word({kOwnSlot - 1, kAge}), false,
       "conflict"},
      {"half a round of the clock later is younger", lock_word({30, kAge + kHalf - 1}), false,
       "locked by other"},
      {"more than half a round later is older: the clock went round", lock_word({30, kAge + kHalf + 1}),
       false, "conflict"},
      {"the oldest of the round before", lock_word({30, layout::kMaxCounter}), false, "conflict"},
      {"the memory server holds it, and has no age", lock_word({layout::kCollectorSlot, 1}), false,
       "locked by other"},
      {"the own lock", kOwn, false, "visible"},
      {"without locks it may wait for an older one", lock_word(kOlder), true, "locked by other"},
      {"without locks, and a younger one holds it", lock_word(kYounger), true, "locked by other"},
  };
  for (const AgeRow& row : rows) {
    INFO(row.name);
    AgeScene scene;
    REQUIRE(scene.begin().ok());
    if (!row.holds_nothing) REQUIRE(scene.worker.run(scene.locking().before_fetch()).ok());
    CHECK(scene.decide(row.header, {.stamp = kRow}) == row.decision);
  }
}

TEST_CASE("whether a row is locked under WAITDIE, by the bytes that READ and CAS find", "[waitdie]") {
  struct MeetRow {
    const char* name;
    std::function<void(AgeScene&)> put;
    std::string seen;
    HeaderWord waiter;      // the waiter word afterwards
    HeaderWord afterwards;  // the same, when the transaction has given up
  };
  const auto locked_until = [](Stamp holder, std::size_t batch) {
    return [holder, batch](AgeScene& s) {
      s.bytes.word(kRecord, lock_word(holder).value());
      s.worker.fabric.before_batch(batch, [&s] { s.bytes.record(kRecord, {.stamp = {30, 2}, .value = 6}); });
    };
  };
  const auto waits = [](HeaderWord waiter) {
    return [waiter](AgeScene& s) { s.bytes.word(s.waiter_word(), waiter.value()); };
  };
  const HeaderWord older = lock_word(kOlder);
  const HeaderWord younger = lock_word(kYounger);
  const std::vector<MeetRow> rows = {
      {"neither locked nor waited for", [](AgeScene&) {}, "5", {}, {}},
      {"a younger one holds it: waited for, and the record says so",
       locked_until(kYounger, 20),
       "6",
       kOwn,
       {}},
      {"an older one holds it: given way, without a wait",
       locked_until(kOlder, 20),
       "serialization_failure",
       {},
       {}},
      {"an older one waits: given way, though it is not locked", waits(older), "serialization_failure", older,
       older},
      {"a younger one waits: the older goes first", waits(younger), "5", younger, younger},
      {"one that waits and is no longer there is forgotten",
       [&](AgeScene& s) {
         s.worker.list_slots({{30, control::SLOT_RETIRED}}, 31);
         waits(older)(s);
       },
       "5",
       {},
       {}},
      {"one that waits and is dead, not closed yet, is forgotten",
       [&](AgeScene& s) {
         s.worker.list_slots({{30, control::SLOT_DEAD}}, 31);
         waits(older)(s);
       },
       "5",
       {},
       {}},
      {"waiting behind an older one that waits: its word stays",
       [&](AgeScene& s) {
         waits(older)(s);
         locked_until(kYounger, 20)(s);
       },
       "serialization_failure", older, older},
      {"waiting before a younger one that waits: the word is the older's now",
       [&](AgeScene& s) {
         waits(younger)(s);
         locked_until(kYounger, 20)(s);
       },
       "6",
       kOwn,
       {}},
      {"the CAS finds the lock of a younger one: waited for",
       [](AgeScene& s) {
         s.worker.fabric.before_batch(2, [&s] { s.bytes.word(kRecord, lock_word(kYounger).value()); });
         s.worker.fabric.before_batch(20, [&s] { s.bytes.record(kRecord, {.stamp = {30, 2}, .value = 6}); });
       },
       "6",
       kOwn,
       {}},
      {"the own lock of the attempt before, which is being released: waited for",
       [](AgeScene& s) {
         s.session.priority = kAge;
         s.session.priority_taken_ns = s.worker.executor.now_ns();
         s.bytes.word(kRecord, kOwn.value());
         s.worker.fabric.before_batch(20, [&s] { s.bytes.word(kRecord, free_word(kRow).value()); });
       },
       "5",
       {},
       {}},
      {"behind the CAS stands an older one that waits: the lock is given back",
       [&](AgeScene& s) { s.worker.fabric.before_batch(2, [&s, waits, older] { waits(older)(s); }); },
       "serialization_failure", older, older},
  };
  for (const MeetRow& row : rows) {
    INFO(row.name);
    AgeScene scene;
    row.put(scene);
    CHECK(scene.fetched(scene.get(1)) == row.seen);
    CHECK(scene.bytes.header(scene.waiter_word()) == row.waiter);
    scene.transaction->abort();
    scene.worker.executor.run_ready();
    CHECK(scene.bytes.header(scene.waiter_word()) == row.afterwards);
    CHECK(scene.bytes.header(kRecord) != kOwn);
  }
}

TEST_CASE(
    "a transaction that gave way tries again with the same age, and after a commit the session is young "
    "again",
    "[waitdie]") {
  AgeScene scene;
  scene.bytes.word(kRecord, lock_word(kOlder).value());
  REQUIRE(scene.fetched(scene.get(1)) == "serialization_failure");
  scene.again();
  scene.worker.executor.advance(100 * PriorityClock::kTick_ns);
  scene.bytes.record(kRecord, {.stamp = kRow, .value = 5});
  REQUIRE(scene.fetched(scene.get(1)) == "5");
  CHECK(scene.bytes.header(kRecord) == kOwn);
  REQUIRE(scene.worker.run(scene.transaction->commit()).ok());
  scene.worker.executor.run_ready();
  CHECK(scene.bytes.header(kRecord) == free_word(kRow));
  scene.again();
  REQUIRE(scene.fetched(scene.get(1)) == "5");
  CHECK(scene.bytes.header(kRecord).stamp().counter > kAge);
}

}  // namespace namdb::protocol::testing
