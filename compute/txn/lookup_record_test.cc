// A lookup's decisions about a record's bytes: torn or whole, the key's or another's, and its end when the
// protocol has checked it.
#include <catch2/catch.hpp>
#include <functional>

#include "common/layout/record_trailer.h"
#include "compute/testing/lookup_scene.h"
#include "compute/txn/lookup.h"

namespace namdb::protocol::testing {
namespace {

using layout::GlobalAddress;
using layout::HeaderWord;
using layout::Stamp;

constexpr Stamp kHolder{31, 8};
constexpr Stamp kVersion{16, 10};

struct RecordRow {
  const char* name;
  std::function<void(LookupScene&)> put;
  std::string decision;
  std::uint32_t looks = 1;
  std::size_t reads = 0;  // 0: not checked
};

void check_records(const std::vector<RecordRow>& rows, const TestOptions& options,
                   const std::function<void(LookupScene&)>& start) {
  for (const RecordRow& row : rows) {
    INFO(row.name);
    LookupScene scene(options);
    row.put(scene);
    start(scene);
    CHECK(scene.run(row.looks) == row.decision);
    if (row.reads != 0) CHECK(scene.reads == row.reads);
    CHECK(scene.worker.fabric.outside() == 0);
  }
}

void start_by_key(LookupScene& scene) {
  scene.start();
}

void start_at_record(LookupScene& scene) {
  scene.start_at(kRecord, static_cast<std::uint16_t>(Version().incarnation));
}

}  // namespace

TEST_CASE("a record's bytes and what a lookup decides", "[lookup]") {
  const std::vector<RecordRow> rows = {
      {"a torn body under a lock is waited for, with the lock",
       [](LookupScene& s) {
         s.stored({});
         s.bytes.torn_record(kRecord, lock_word(kHolder));
       },
       "waits for record 31.8 locked"},
      {"a torn body that is not locked is read again",
       [](LookupScene& s) {
         s.stored({});
         s.bytes.torn_record(kRecord, free_word(kVersion));
       },
       "reads again"},
      {"the same torn body, not locked, seven times: it may be written yet",
       [](LookupScene& s) {
         s.stored({});
         s.bytes.torn_record(kRecord, free_word(kVersion));
       },
       "reads again", SteadyBytes::kLooks - 1},
      {"the same torn body, not locked, eight times: damaged",
       [](LookupScene& s) {
         s.stored({});
         s.bytes.torn_record(kRecord, free_word(kVersion));
       },
       "damaged", SteadyBytes::kLooks},
      {"the header's value recurs with a torn body that differs: no damage",
       [](LookupScene& s) {
         s.stored({});
         for (std::uint64_t i = 1; i < 40; ++i)
           s.worker.fabric.before_batch(i, [&s, i] {
             s.bytes.torn_record(kRecord, free_word(kVersion), static_cast<std::int64_t>(i));
           });
       },
       "reads again", 30},
      {"the header's value recurs with the same body, after an abort: the record is read",
       [](LookupScene& s) {
         s.stored({.stamp = kVersion, .value = 41});
         s.bytes.torn_record(kRecord, lock_word(kHolder));
         s.worker.fabric.before_batch(2, [&s] { s.bytes.record(kRecord, {.stamp = kVersion, .value = 41}); });
       },
       "present 41", 2},
      {"the same body with one header and then another is not steady",
       [](LookupScene& s) {
         s.stored({});
         for (std::uint32_t i = 1; i < 40; ++i)
           s.worker.fabric.before_batch(i, [&s, i] { s.bytes.torn_record(kRecord, free_word({16, i})); });
       },
       "reads again", 30},
      {"a torn body under a lock is not damage, however often it is the same",
       [](LookupScene& s) {
         s.stored({});
         s.bytes.torn_record(kRecord, lock_word(kHolder));
       },
       "waits for record 31.8 locked", 30},
      {"a torn body under the transaction's own lock is damage: no other transaction writes it",
       [](LookupScene& s) {
         s.stored({});
         s.bytes.torn_record(kRecord, lock_word(kHolder));
         s.visibility().held = kRecord;
       },
       "damaged", SteadyBytes::kLooks},
      {"a body certifies at its own address only",
       [](LookupScene& s) {
         s.stored({});
         s.bytes.write(kRecord + 8, body_of(s.table, kOtherRecord, {.value = 41}));
       },
       "reads again"},
      {"a certified body is read, whatever unlocked word is in front of it",
       [](LookupScene& s) {
         s.stored({});
         s.bytes.record(kRecord, free_word({16, 9}), {.stamp = kVersion, .value = 41});
       },
       "present 41"},
      {"a visible tombstone: absent", [](LookupScene& s) { s.stored({.deleted = true}); },
       "absent, with a record"},
      {"locked by other: the lock is waited for, and named",
       [](LookupScene& s) {
         s.stored({});
         s.bytes.record(kRecord, lock_word(kHolder), {});
         s.decide(ScriptedVisibility::always(ReadDecision::locked_by_other));
       },
       "waits for record 31.8 locked"},
      {"torn: read again, and not damage while it changes",
       [](LookupScene& s) {
         s.stored({});
         for (std::uint32_t i = 1; i < 40; ++i)
           s.worker.fabric.before_batch(i, [&s, i] { s.bytes.record(kRecord, free_word({16, i}), {}); });
         s.decide(ScriptedVisibility::always(ReadDecision::torn));
       },
       "reads again", 30},
      {"torn of the same bytes eight times: header and body of two versions are damage",
       [](LookupScene& s) {
         s.stored({});
         s.bytes.record(kRecord, free_word({16, 11}), {.stamp = kVersion});
         s.decide(ScriptedVisibility::always(ReadDecision::torn));
       },
       "damaged", SteadyBytes::kLooks},
      {"conflict: the transaction gives way",
       [](LookupScene& s) {
         s.stored({});
         s.decide(ScriptedVisibility::always(ReadDecision::conflict));
       },
       "serialization_failure"},
      {"unknown slot: it is asked for",
       [](LookupScene& s) {
         s.stored({.stamp = {77, 1}});
         s.decide(ScriptedVisibility::always(ReadDecision::unknown_slot));
       },
       "asks for slot 77"},
      {"invisible and with the birth marker: absent",
       [](LookupScene& s) {
         s.stored({.stamp = {16, 200}});
         s.decide(ScriptedVisibility::up_to(100));
       },
       "absent, with a record"},
      {"invisible and with a displaced version: that one is looked for, in the ring",
       [](LookupScene& s) {
         s.stored({.stamp = {16, 200}, .value = 50, .displaced = {16, 90}, .ring_slot = 2});
         s.bytes.ring(kRecord, 2, {.stamp = {16, 90}, .value = 49});
         s.decide(ScriptedVisibility::up_to(100));
       },
       "present 49", 1, 3},
      {"invisible, and so is the one before: absent at its birth marker, not before",
       [](LookupScene& s) {
         s.stored({.stamp = {16, 200}, .displaced = {16, 190}, .ring_slot = 2});
         s.bytes.ring(kRecord, 2, {.stamp = {16, 190}});
         s.decide(ScriptedVisibility::up_to(100));
       },
       "absent, with a record"},
      {"the older version is a tombstone: absent",
       [](LookupScene& s) {
         s.stored({.stamp = {16, 200}, .displaced = {16, 90}, .ring_slot = 1});
         s.bytes.ring(kRecord, 1, {.stamp = {16, 90}, .deleted = true});
         s.decide(ScriptedVisibility::up_to(100));
       },
       "absent, with a record"},
      {"a tombstone that is too new hides nothing: the version before it is read",
       [](LookupScene& s) {
         s.stored({.stamp = {16, 200}, .displaced = {16, 90}, .deleted = true, .ring_slot = 1});
         s.bytes.ring(kRecord, 1, {.stamp = {16, 90}, .value = 48});
         s.decide(ScriptedVisibility::up_to(100));
       },
       "present 48"},
      {"a displaced version that is in no place: again from the record, with a bound",
       [](LookupScene& s) {
         s.stored({.stamp = {16, 200}, .displaced = {16, 90}, .ring_slot = 1});
         s.decide(ScriptedVisibility::up_to(100));
       },
       "version_collected"},
      {"a displaced version that was moved meanwhile is found when the record is read again",
       [](LookupScene& s) {
         s.stored({.stamp = {16, 200}, .displaced = {16, 90}, .ring_slot = 1});
         s.decide(ScriptedVisibility::up_to(100));
         s.worker.fabric.before_batch(3, [&s] {
           s.bytes.overflow(kGroup_offset, 0, {}, kRecord, {.stamp = {16, 90}, .value = 47});
           s.bytes.overflow_head(kRecord, s.bytes.link(kGroup_offset, 0));
         });
       },
       "present 47"},
      {"a body that names a ring slot that there is not",
       [](LookupScene& s) {
         s.stored({.stamp = {16, 200}, .displaced = {16, 90}, .ring_slot = 4});
         s.decide(ScriptedVisibility::up_to(100));
       },
       "corrupt_data"},
  };
  check_records(rows, {}, start_by_key);
}

TEST_CASE("cached locations and what a lookup decides", "[lookup]") {
  const std::vector<RecordRow> rows = {
      {"key and incarnation are the record's: one READ",
       [](LookupScene& s) {
         s.stored({.value = 41});
         s.remember(kRecord);
       },
       "present 41", 1, 1},
      {"the cache knows the incarnation's low bits only: others do not count",
       [](LookupScene& s) {
         s.stored({.value = 41});
         s.remember(kRecord, (Version().incarnation & 0xff) | 0x3300);
       },
       "present 41", 1, 1},
      {"another key's record: a miss, and the chain is asked",
       [](LookupScene& s) {
         s.stored({.value = 41});
         s.bytes.record(kOtherRecord, {.value = 7, .key = 2});
         s.remember(kOtherRecord);
       },
       "present 41", 1, 3},
      {"another incarnation of the key's record: a miss",
       [](LookupScene& s) {
         s.stored({.value = 41});
         s.bytes.record(kOtherRecord, {.value = 7, .incarnation = Version().incarnation + 1});
         s.remember(kOtherRecord);
       },
       "present 41", 1, 3},
      {"another table's record, with the same key and incarnation: a miss",
       [](LookupScene& s) {
         s.stored({.value = 41});
         s.bytes.record(kOtherRecord, {.value = 7, .table = kTable + 1});
         s.remember(kOtherRecord);
       },
       "present 41", 1, 3},
      {"a tombstone of the key and incarnation counts: absent",
       [](LookupScene& s) {
         s.stored({.value = 41});
         s.bytes.record(kOtherRecord, {.deleted = true});
         s.remember(kOtherRecord);
       },
       "absent, with a record", 1, 1},
      {"a tombstone of another incarnation was reclaimed: a miss",
       [](LookupScene& s) {
         s.stored({.value = 41});
         s.bytes.record(kOtherRecord, {.deleted = true, .incarnation = Version().incarnation + 1});
         s.remember(kOtherRecord);
       },
       "present 41", 1, 3},
      {"a miss, and the key is in no chain: absent without a record",
       [](LookupScene& s) {
         s.bytes.bucket(s.bytes.main_bucket(1), {});
         s.bytes.record(kOtherRecord, {.value = 7, .key = 2});
         s.remember(kOtherRecord);
       },
       "absent, chain of 1", 1, 2},
      {"what never certifies is other memory by now: after a while the chain is asked",
       [](LookupScene& s) {
         s.stored({.value = 41});
         s.bytes.torn_record(kOtherRecord, lock_word(kHolder));
         s.remember(kOtherRecord);
       },
       "present 41", 20, SteadyBytes::kLooks + 2},
      {"a location beyond the memory that is known is not asked for",
       [](LookupScene& s) {
         s.stored({.value = 41});
         s.worker.locations.insert(s.bytes.entry(1, GlobalAddress(0, kRegion_bytes)));
       },
       "present 41", 1, 2},
  };
  check_records(rows, {}, start_by_key);
}

TEST_CASE("after a miss the cache has what the chain says", "[lookup]") {
  LookupScene scene;
  scene.stored({.value = 41});
  scene.bytes.record(kOtherRecord, {.value = 7, .key = 2});
  scene.remember(kOtherRecord);
  scene.start();
  REQUIRE(scene.run() == "present 41");
  const auto location = scene.worker.locations.find(scene.bytes.hash(1));
  REQUIRE(location.has_value());
  CHECK(location->offset == kRecord.offset());
}

TEST_CASE("a bucket's other entries are remembered while the cache has room for them", "[lookup]") {
  const bool full = GENERATE(false, true);
  CAPTURE(full);
  LookupScene scene;
  storage::LocationCache& locations = scene.worker.locations;
  Random random(3);
  while (full && locations.has_room(scene.bytes.hash(1)))
    locations.insert(layout::BucketEntry::make(random.next(), 64, 1));
  // There is room for the other one, wherever most others stand.
  std::uint64_t hash = random.next();
  while (!locations.has_room(hash)) hash = random.next();
  const layout::BucketEntry other = layout::BucketEntry::make(hash, kOtherRecord.offset(), 1);
  scene.stored({.value = 41});
  scene.bytes.bucket(scene.bytes.main_bucket(1), {.entries = {scene.bytes.entry(1, kRecord), other}});
  scene.start();
  REQUIRE(scene.run() == "present 41");
  CHECK(locations.find(scene.bytes.hash(1)).has_value());
  CHECK(locations.find(other.key_hash).has_value() == !full);
}

TEST_CASE("records at known places and what a lookup decides", "[lookup]") {
  const std::vector<RecordRow> rows = {
      {"the incarnation is the record's, whatever its key",
       [](LookupScene& s) { s.bytes.record(kRecord, {.value = 41, .key = 5}); }, "present 41", 1, 1},
      {"another incarnation: it was reclaimed, and no snapshot sees it",
       [](LookupScene& s) {
         s.bytes.record(kRecord, {.value = 41, .incarnation = Version().incarnation + 1});
       },
       "absent", 1, 1},
      {"all 16 bits of an entry's incarnation count",
       [](LookupScene& s) {
         s.bytes.record(kRecord, {.value = 41, .incarnation = Version().incarnation ^ 0x8000});
       },
       "absent", 1, 1},
      {"another table's record",
       [](LookupScene& s) { s.bytes.record(kRecord, {.value = 41, .table = kTable + 1}); }, "absent", 1, 1},
      {"a tombstone", [](LookupScene& s) { s.bytes.record(kRecord, {.deleted = true}); },
       "absent, with a record"},
      {"a torn body, eight times the same",
       [](LookupScene& s) { s.bytes.torn_record(kRecord, free_word(kVersion)); }, "damaged",
       SteadyBytes::kLooks},
  };
  check_records(rows, {}, start_at_record);
}

TEST_CASE("the first record of a place, half-written, is absent while no snapshot can see it", "[lookup]") {
  const auto torn_update = [](LookupScene& s) {
    s.bytes.record(kRecord, free_word(kVersion), {.stamp = kVersion, .displaced = {16, 3}});
    s.bytes.word(kRecord + 8 + layout::kBodyPrefix_bytes + 16, 0x7043);
    s.decide(ScriptedVisibility::up_to(9));
  };
  const std::vector<RecordRow> rows = {
      {"behind an unlocked header word that is not visible",
       [](LookupScene& s) {
         s.bytes.torn_record(kRecord, free_word(kVersion));
         s.decide(ScriptedVisibility::up_to(9));
       },
       "absent", SteadyBytes::kLooks, SteadyBytes::kLooks},
      {"it may be whole at the next READ",
       [](LookupScene& s) {
         s.bytes.torn_record(kRecord, free_word(kVersion));
         s.decide(ScriptedVisibility::up_to(9));
       },
       "reads again", SteadyBytes::kLooks - 1},
      {"its header word is still to come",
       [](LookupScene& s) {
         s.bytes.torn_record(kRecord, HeaderWord());
         s.decide(ScriptedVisibility::up_to(9));
       },
       "absent", SteadyBytes::kLooks, SteadyBytes::kLooks},
      {"nothing of it is there yet", [](LookupScene&) {}, "absent", SteadyBytes::kLooks, SteadyBytes::kLooks},
      {"under a lock it is waited for, as any other",
       [](LookupScene& s) {
         s.bytes.torn_record(kRecord, lock_word(kHolder));
         s.decide(ScriptedVisibility::up_to(9));
       },
       "waits for record 31.8 locked", 30},
      {"the snapshot sees its commit: damaged",
       [](LookupScene& s) {
         s.bytes.torn_record(kRecord, free_word(kVersion));
         s.decide(ScriptedVisibility::up_to(10));
       },
       "damaged", SteadyBytes::kLooks},
      {"the snapshot sees the header word's commit: damaged",
       [](LookupScene& s) {
         s.bytes.torn_record(kRecord, free_word({16, 5}));
         s.decide(ScriptedVisibility::up_to(9));
       },
       "damaged", SteadyBytes::kLooks},
      {"it has displaced a version, which may be visible: damaged", torn_update, "damaged",
       SteadyBytes::kLooks},
  };
  check_records(rows, {}, [](LookupScene& s) {
    start_at_record(s);
    s.lookup.expect_half_written();
  });
}

TEST_CASE("of a half-written record, too, the slot directory knows whether it is visible", "[lookup]") {
  for (const bool visible : {false, true}) {
    LookupScene scene;
    scene.bytes.torn_record(kRecord, free_word({77, 1}));
    scene.decide([](const RecordRead& read) {
      return read.body.stamp.slot == 77 ? ReadDecision::unknown_slot : ReadDecision::invisible;
    });
    start_at_record(scene);
    scene.lookup.expect_half_written();
    REQUIRE(scene.run(SteadyBytes::kLooks) == "asks for slot 77");
    scene.decide(ScriptedVisibility::always(visible ? ReadDecision::visible : ReadDecision::invisible));
    CHECK(scene.lookup.advance(scene.worker.state, scene.visibility()) == 0);
    CHECK(describe(scene.lookup) == (visible ? "damaged" : "absent"));
  }
}

TEST_CASE("first versions and the ring, where versions have timestamps", "[lookup]") {
  const auto before_100 = [](const RecordRead& seen) {
    return seen.body.timestamp() < 100 ? ReadDecision::visible : ReadDecision::invisible;
  };
  const std::vector<RecordRow> rows = {
      {"too new, and the first: absent",
       [&](LookupScene& s) {
         s.stored({.timestamp = 200, .ring_slot = layout::kNoRingSlot});
         s.decide(before_100);
       },
       "absent, with a record"},
      {"too new, and its timestamp is no birth marker: the ring is asked",
       [&](LookupScene& s) {
         s.stored({.stamp = {16, 11}, .timestamp = 200, .ring_slot = 1});
         s.bytes.ring(kRecord, 1, {.value = 46, .timestamp = 60, .ring_slot = layout::kNoRingSlot});
         s.decide(before_100);
       },
       "present 46"},
      {"too new, and what it displaced was overwritten: the transaction is too old",
       [&](LookupScene& s) {
         s.stored({.stamp = {16, 11}, .timestamp = 200, .ring_slot = 1});
         s.bytes.ring(kRecord, 1, {.timestamp = 300, .ring_slot = layout::kNoRingSlot});
         s.decide(before_100);
       },
       "serialization_failure"},
  };
  check_records(rows, {.protocol = "mvcc"}, start_by_key);
}

TEST_CASE("a lookup tells what the current version is, and whether that is what was read", "[lookup]") {
  LookupScene scene;
  scene.stored({.stamp = {16, 200}, .displaced = {16, 90}, .ring_slot = 2});
  scene.bytes.word(kRecord, lock_word(kHolder).value());
  scene.bytes.ring(kRecord, 2, {.stamp = {16, 90}, .value = 49});
  scene.decide(ScriptedVisibility::up_to(100));
  scene.start();
  REQUIRE(scene.run() == "present 49");
  CHECK(scene.lookup.record() == kRecord);
  CHECK_FALSE(scene.lookup.current_is_visible());
  CHECK(scene.lookup.current().stamp == Stamp{16, 200});
  CHECK(scene.lookup.header_seen() == lock_word(kHolder));
}

TEST_CASE("the slot directory is asked with the same bytes, and decides", "[lookup]") {
  LookupScene scene;
  scene.stored({.stamp = {77, 1}, .value = 41});
  scene.decide(ScriptedVisibility::always(ReadDecision::unknown_slot));
  scene.start();
  REQUIRE(scene.run() == "asks for slot 77");
  scene.bytes.record(kRecord, {.stamp = {77, 2}, .value = 42});
  scene.decide(ScriptedVisibility::always(ReadDecision::visible));
  CHECK(scene.lookup.advance(scene.worker.state, scene.visibility()) == 0);
  CHECK(describe(scene.lookup) == "present 41");
}

TEST_CASE("a lease is of a moment before the record was READ", "[lookup]") {
  LookupScene scene({.protocol = "sundial"});
  scene.stored({.value = 41});
  scene.bytes.lease(kRecord, 77);
  scene.remember(kRecord);
  scene.start();
  scene.lookup.read_with_lease();
  REQUIRE(scene.run() == "present 41");
  CHECK(scene.lookup.lease() == 77);
  CHECK(scene.bytes.lease(kRecord) == 77);
}

TEST_CASE("a lookup with the waiter word has it from the same READ", "[lookup]") {
  LookupScene scene({.protocol = "waitdie"});
  scene.stored({.value = 41});
  scene.bytes.word(kRecord + layout::waiter_offset(scene.table.record), lock_word(kHolder).value());
  scene.start();
  scene.lookup.read_with_lock(true);
  REQUIRE(scene.run() == "present 41");
  CHECK(scene.lookup.waiter() == lock_word(kHolder));
}

}  // namespace namdb::protocol::testing
