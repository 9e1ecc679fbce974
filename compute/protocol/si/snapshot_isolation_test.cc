#include "compute/protocol/si/snapshot_isolation.h"

#include <catch2/catch.hpp>
#include <functional>

#include "compute/testing/protocol_scene.h"

namespace namdb::protocol::testing {
namespace {

using layout::GlobalAddress;
using layout::HeaderWord;
using layout::Stamp;

constexpr GlobalAddress kVector(0, RegionFabric::kVector_offset);

// A snapshot that shows slot 16 up to 100 and slot 17 up to 50, and no others.
struct SnapshotScene : ProtocolScene {
  SnapshotScene() : ProtocolScene({}) {
    worker.publish(0, {16, 100});
    worker.publish(1, {17, 50});
    worker.executor.advance(1000);
  }
  void refresh_slots() { REQUIRE(worker.run(worker.slots.refresh(nullptr)).ok()); }
};

struct SnapshotRow {
  const char* name;
  HeaderWord header;
  Stamp version;
  const char* decision;
};

}  // namespace

TEST_CASE("which versions a snapshot shows, by the bytes of the record", "[si]") {
  const Stamp shown{16, 90};
  const std::vector<SnapshotRow> rows = {
      {"a counter below the slot's word", free_word(shown), shown, "visible"},
      {"the slot's word itself is published", free_word({16, 100}), {16, 100}, "visible"},
      {"the next counter is not", free_word({16, 101}), {16, 101}, "invisible"},
      {"each slot by its own word", free_word({17, 90}), {17, 90}, "invisible"},
      {"the greatest counter", free_word({16, layout::kMaxCounter}), {16, layout::kMaxCounter}, "invisible"},
      {"the body decides, not an unlocked word of another moment", free_word({16, 101}), shown, "visible"},
      {"the body decides, though the unlocked word is visible", free_word(shown), {16, 101}, "invisible"},
      {"a tombstone is checked like any version", tombstone_word(shown), shown, "visible"},
      {"a commit that the snapshot does not show holds it: no wait", lock_word({16, 101}), shown, "visible"},
      {"a commit that the snapshot shows holds it, and is not installed: its install is waited for",
       lock_word({16, 100}), shown, "locked by other"},
      {"the same by another slot", lock_word({17, 50}), shown, "locked by other"},
      {"the same by another slot, one counter later", lock_word({17, 51}), shown, "visible"},
      {"a commit that the snapshot shows holds it, and its body is there: only its unlock is missing",
       lock_word({16, 100}),
       {16, 100},
       "visible"},
      {"a commit that is shown holds it, and what is there is too new",
       lock_word({17, 50}),
       {16, 101},
       "locked by other"},
      {"a commit that is not shown holds it, and its body is there",
       lock_word({16, 101}),
       {16, 101},
       "invisible"},
      {"the memory server holds it: no wait", lock_word({layout::kCollectorSlot, 3}), shown, "visible"},
      {"a slot that the snapshot does not know holds it: no wait", lock_word({40, 1}), shown, "visible"},
      {"a version of a slot that the snapshot does not know", free_word({40, 1}), {40, 1}, "unknown slot"},
  };
  for (const SnapshotRow& row : rows) {
    INFO(row.name);
    SnapshotScene scene;
    REQUIRE(scene.begin().ok());
    CHECK(scene.decide(row.header, {.stamp = row.version, .deleted = row.header.deleted()}) == row.decision);
  }
}

TEST_CASE("which old versions a snapshot shows: locks do not count", "[si]") {
  const std::vector<SnapshotRow> rows = {
      {"shown", free_word({16, 101}), {16, 90}, "visible"},
      {"not shown", free_word({16, 102}), {16, 101}, "invisible"},
      {"shown, while a commit that is shown holds the record", lock_word({16, 100}), {16, 90}, "visible"},
      {"not shown, while a commit that is shown holds the record",
       lock_word({16, 100}),
       {16, 101},
       "invisible"},
  };
  for (const SnapshotRow& row : rows) {
    INFO(row.name);
    SnapshotScene scene;
    REQUIRE(scene.begin().ok());
    CHECK(scene.decide_old(row.header, {.stamp = row.version}) == row.decision);
  }
}

TEST_CASE("versions of slots that the snapshot does not have, and what the slot directory says", "[si]") {
  struct DirectoryRow {
    const char* name;
    std::function<void(SnapshotScene&)> before;  // the snapshot is taken
    std::function<void(SnapshotScene&)> after;
    const char* decision;
  };
  const auto nothing = [](SnapshotScene&) {};
  const auto refresh = [](SnapshotScene& s) {
    s.worker.executor.advance(1000);
    s.refresh_slots();
  };
  const auto live = [](SnapshotScene& s) { s.worker.list_slots({{40, control::SLOT_LEASED}}, 41); };
  const auto closed = [](SnapshotScene& s) { s.worker.list_slots({{40, control::SLOT_CLOSED}}, 41); };
  const auto retired = [](SnapshotScene& s) { s.worker.list_slots({{40, control::SLOT_RETIRED}}, 41); };
  const auto unlisted = [](SnapshotScene& s) { s.worker.list_slots({}, 41); };
  const auto unborn = [](SnapshotScene& s) { s.worker.list_slots({}, 40); };
  const std::vector<DirectoryRow> rows = {
      {"the directory has not been read yet", nothing, nothing, "unknown slot"},
      {"leased after the snapshot: invisible", live, refresh, "invisible"},
      {"closed, not so long ago: it was leased after the snapshot", closed, refresh, "invisible"},
      {"retired: all its versions are older than any snapshot without it", retired, refresh, "visible"},
      {"no longer listed: retired", unlisted, refresh, "visible"},
      {"not leased as far as the directory knows", unborn, refresh, "invisible"},
      {"what the directory knew of a live slot before the snapshot does not decide",
       [&](SnapshotScene& s) {
         live(s);
         s.refresh_slots();
         s.worker.executor.advance(1000);
       },
       nothing, "unknown slot"},
      {"retired before the snapshot is retired for good",
       [&](SnapshotScene& s) {
         retired(s);
         s.refresh_slots();
         s.worker.executor.advance(1000);
       },
       nothing, "visible"},
  };
  for (const DirectoryRow& row : rows) {
    INFO(row.name);
    SnapshotScene scene;
    row.before(scene);
    REQUIRE(scene.begin().ok());
    row.after(scene);
    CHECK(scene.decide(free_word({40, 1}), {.stamp = {40, 1}}) == row.decision);
  }
}

TEST_CASE("which copies of the timestamp vector are a snapshot", "[si]") {
  struct CopyRow {
    const char* name;
    std::function<void(SnapshotScene&)> between;  // the two READs
    bool counts;
  };
  const std::vector<CopyRow> rows = {
      {"both the same", [](SnapshotScene&) {}, true},
      {"a slot has published in between", [](SnapshotScene& s) { s.worker.publish(0, {16, 101}); }, false},
      {"two slots have published in between",
       [](SnapshotScene& s) {
         s.worker.publish(0, {16, 101});
         s.worker.publish(1, {17, 51});
       },
       false},
      {"the catalog has changed in between",
       [](SnapshotScene& s) { s.bytes.word(kVector + layout::kVectorCatalog_offset, 9); }, false},
      {"a slot was leased in between", [](SnapshotScene& s) { s.worker.publish(2, {40, 0}); }, false},
      {"a slot was leased far behind in between", [](SnapshotScene& s) { s.worker.publish(40, {40, 0}); },
       false},
      {"a word behind the vector's length is another's",
       [](SnapshotScene& s) { s.bytes.word(kVector + layout::kVectorWords_offset + 8 * 50, 77); }, true},
  };
  for (const CopyRow& row : rows) {
    INFO(row.name);
    SnapshotScene scene;
    REQUIRE(scene.worker.run(scene.visibility().prepare()).ok());
    row.between(scene);
    txn::BatchSet batches(scene.worker.cluster);
    scene.visibility().piggyback(batches);
    REQUIRE(scene.worker.run(batches.run(scene.worker.counters)).ok());
    const Result<SnapshotCheck> snapshot = scene.worker.run(scene.visibility().confirm_snapshot());
    REQUIRE(snapshot.ok());
    CHECK((*snapshot == SnapshotCheck::confirmed) == row.counts);
    CHECK(scene.visibility().ready() == row.counts);
    // The vector does not change any more: the copy is a snapshot.
    REQUIRE(scene.begin().ok());
    CHECK(scene.visibility().ready());
  }
}

TEST_CASE("a snapshot that was disturbed shows what its last two copies do", "[si]") {
  SnapshotScene scene;
  REQUIRE(scene.worker.run(scene.visibility().prepare()).ok());
  scene.worker.publish(0, {16, 101});
  REQUIRE(scene.begin().ok());
  CHECK(scene.decide(free_word({16, 101}), {.stamp = {16, 101}}) == "visible");
  CHECK(scene.decide(free_word({16, 102}), {.stamp = {16, 102}}) == "invisible");
}

TEST_CASE("a session's snapshots never go back", "[si]") {
  struct SessionRow {
    const char* name;
    std::function<void(SnapshotScene&)> then;
    const char* end;
  };
  const std::vector<SessionRow> rows = {
      {"the same", [](SnapshotScene&) {}, "ok"},
      {"a slot went on", [](SnapshotScene& s) { s.worker.publish(0, {16, 101}); }, "ok"},
      {"a slot went back", [](SnapshotScene& s) { s.worker.publish(1, {17, 49}); }, "snapshot_went_back"},
      {"a slot's place has another slot, from its beginning",
       [](SnapshotScene& s) { s.worker.publish(1, {41, 0}); }, "ok"},
  };
  for (const SessionRow& row : rows) {
    INFO(row.name);
    SnapshotScene scene;
    REQUIRE(scene.begin().ok());
    scene.again();
    row.then(scene);
    CHECK(words_of(scene.begin()) == row.end);
  }
}

TEST_CASE("whose rows a snapshot's transaction may write", "[si]") {
  struct WriteRow {
    const char* name;
    Version version;
    const char* seen;
    const char* may_write;
  };
  const std::vector<WriteRow> rows = {
      {"a version that it sees", {.stamp = {16, 90}, .value = 5}, "5", "ok"},
      {"a tombstone that it sees is revived", {.stamp = {16, 90}, .deleted = true}, "not found", "ok"},
      {"a first version that it does not see is a rival",
       {.stamp = {16, 101}},
       "not found",
       "serialization_failure"},
      {"a later version than it sees has won",
       {.stamp = {16, 101}, .displaced = {16, 90}, .ring_slot = 1},
       "4",
       "serialization_failure"},
      {"a tombstone that it does not see has won",
       {.stamp = {16, 101}, .displaced = {16, 90}, .deleted = true, .ring_slot = 1},
       "4",
       "serialization_failure"},
  };
  for (const WriteRow& row : rows) {
    INFO(row.name);
    SnapshotScene scene;
    scene.stored(row.version);
    scene.bytes.ring(kRecord, 1, {.stamp = {16, 90}, .value = 4});
    const txn::RowId asked = scene.get(1);
    CHECK(scene.fetched(asked) == row.seen);
    CHECK(words_of(scene.control().may_write(scene.access(asked))) == row.may_write);
  }
}

TEST_CASE("a row that a published commit has not installed yet is waited for", "[si]") {
  SnapshotScene scene;
  scene.stored({.stamp = {16, 90}, .value = 5});
  scene.bytes.word(kRecord, lock_word({16, 100}).value());
  scene.worker.fabric.before_batch(
      30, [&scene] { scene.bytes.record(kRecord, {.stamp = {16, 100}, .value = 6, .displaced = {16, 90}}); });
  CHECK(scene.fetched(scene.get(1)) == "6");
  CHECK(scene.worker.locks.has(kRecord, lock_word({16, 100})));
}

TEST_CASE("a row that is never installed ends in an error when the transaction is too old", "[si]") {
  SnapshotScene scene;
  scene.stored({.stamp = {16, 90}, .value = 5});
  scene.bytes.word(kRecord, lock_word({16, 100}).value());
  CHECK(scene.fetched(scene.get(1)) == "snapshot_too_old");
  CHECK(scene.worker.locks.has(kRecord, lock_word({16, 100})));
}

}  // namespace namdb::protocol::testing
