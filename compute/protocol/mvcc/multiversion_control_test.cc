// MVCC's decisions as RCC has them (its §4.4), on the bytes that are READ: R1 and R2 of reads, W1 and W2 of
// writes. wts is a version's timestamp, rts the record's lease, and ctts the transaction's own timestamp.
#include "compute/protocol/mvcc/multiversion_control.h"

#include <catch2/catch.hpp>
#include <functional>

#include "compute/testing/timestamp_scene.h"

namespace namdb::protocol::testing {
namespace {

using layout::HeaderWord;
using layout::Stamp;

constexpr std::uint64_t kOwnTime = 1000;  // ctts
constexpr Stamp kFrom{16, 10};
const HeaderWord kTaken = lock_word({30, 7});

struct VersionScene : TimestampScene {
  VersionScene() : TimestampScene("mvcc", kOwnTime) {}
  // The transaction has read a row: its timestamp stays.
  void read_something() {
    row(kOtherRecord, 2, 1, 0);
    REQUIRE(fetched(get(2)) == "5");
  }
};

Version at(std::uint64_t timestamp) {
  return {.stamp = kFrom, .timestamp = timestamp, .ring_slot = layout::kNoRingSlot};
}

}  // namespace

TEST_CASE("which current versions an MVCC transaction reads, by the bytes of the record", "[mvcc]") {
  struct CurrentRow {
    const char* name;
    HeaderWord header;
    std::uint64_t wts;
    const char* decision;         // once it has read something
    const char* first;            // as the first that it reads
    std::uint64_t ctts_if_first;  // afterwards
  };
  const std::vector<CurrentRow> rows = {
      {"older than the transaction (R1)", free_word(kFrom), kOwnTime - 1, "visible", "visible", kOwnTime},
      {"as old as the transaction: not older", free_word(kFrom), kOwnTime, "invisible", "visible",
       kOwnTime + 1},
      {"newer than the transaction", free_word(kFrom), kOwnTime + 5, "invisible", "visible", kOwnTime + 6},
      {"of the data as it was loaded", free_word(kFrom), 0, "visible", "visible", kOwnTime},
      {"header and body of two versions", free_word({16, 11}), 1, "torn", "torn", kOwnTime},
      {"another slot's header", free_word({17, 10}), 1, "torn", "torn", kOwnTime},
      {"another holds it (R2): its writes may be older than the transaction", kTaken, 1, "locked by other",
       "locked by other", kOwnTime},
      {"the memory server holds it", lock_word({layout::kCollectorSlot, 1}), 1, "locked by other",
       "locked by other", kOwnTime},
      {"another transaction holds it, and the version is newer", kTaken, kOwnTime + 5, "locked by other",
       "locked by other", kOwnTime},
  };
  for (const CurrentRow& row : rows) {
    INFO(row.name);
    VersionScene first;
    REQUIRE(first.begin().ok());
    CHECK(first.decide(row.header, at(row.wts)) == row.first);
    CHECK(first.timestamps().commit_timestamp() == row.ctts_if_first);
    VersionScene later;
    later.read_something();
    CHECK(later.decide(row.header, at(row.wts)) == row.decision);
    CHECK(later.timestamps().commit_timestamp() == kOwnTime);
    later.visibility().ignore_locks(true);
    CHECK(later.decide(row.header, at(row.wts)) == "visible");
  }
}

TEST_CASE("which old versions an MVCC transaction reads: locks do not count", "[mvcc]") {
  struct OldRow {
    const char* name;
    HeaderWord header;
    std::uint64_t wts;
    const char* decision;
  };
  const std::vector<OldRow> rows = {
      {"older than the transaction", free_word({30, 7}), kOwnTime - 1, "visible"},
      {"as old as the transaction", free_word({30, 7}), kOwnTime, "invisible"},
      {"newer than the transaction", free_word({30, 7}), kOwnTime + 5, "invisible"},
      {"older than the transaction, and another transaction holds the record", kTaken, kOwnTime - 1,
       "visible"},
  };
  for (const OldRow& row : rows) {
    INFO(row.name);
    VersionScene scene;
    scene.read_something();
    CHECK(scene.decide_old(row.header, at(row.wts)) == row.decision);
  }
}

TEST_CASE("the version that an MVCC transaction reads is the newest older one, if the ring has it",
          "[mvcc]") {
  struct RingRow {
    const char* name;
    std::vector<std::uint64_t> wts;  // newest first; the value is the timestamp
    std::uint64_t in_slot;           // what stands in the last version's ring slot; 0: that version
    const char* seen;
    const char* may_write;  // W1
  };
  const std::vector<RingRow> rows = {
      {"the current one", {990, 980}, 0, "990", "ok"},
      {"the one before", {1500, 990}, 0, "990", "serialization_failure"},
      {"the one before that", {1600, 1500, 990}, 0, "990", "serialization_failure"},
      {"none is older: it was not there yet", {1600, 1500}, 0, "not found", "serialization_failure"},
      {"it was overwritten: the transaction is too old", {1600, 990}, 1700, "serialization_failure", ""},
  };
  for (const RingRow& row : rows) {
    INFO(row.name);
    VersionScene scene;
    scene.read_something();
    for (std::size_t i = 0; i < row.wts.size(); ++i) {
      const bool last = i + 1 == row.wts.size();
      Version version{.stamp = {16, static_cast<std::uint32_t>(100 - i)},
                      .value = static_cast<std::int64_t>(row.wts[i]),
                      .timestamp = row.wts[i],
                      .ring_slot = last ? layout::kNoRingSlot : static_cast<std::uint32_t>(i)};
      if (i == 0) {
        scene.stored(version);
        continue;
      }
      if (last && row.in_slot != 0) version.timestamp = row.in_slot;
      scene.bytes.ring(kRecord, static_cast<std::uint32_t>(i - 1), version);
    }
    const txn::RowId asked = scene.get(1);
    CHECK(scene.fetched(asked) == row.seen);
    if (*row.may_write != 0) CHECK(words_of(scene.control().may_write(scene.access(asked))) == row.may_write);
  }
}

TEST_CASE("whether an MVCC transaction may write at its timestamp (W1), by what stands behind its lock",
          "[mvcc]") {
  struct PlaceRow {
    const char* name;
    std::uint64_t wts;
    std::uint64_t rts;
    std::uint64_t floor;
    const char* end;
  };
  const std::vector<PlaceRow> rows = {
      {"newer than version and lease", 900, 950, 0, "at 1000"},
      {"the lease ends just before", 900, kOwnTime - 1, 0, "at 1000"},
      {"another transaction counts on the version at the same timestamp", 900, kOwnTime, 0,
       "serialization_failure"},
      {"a newer transaction has read it", 900, kOwnTime + 1, 0, "serialization_failure"},
      {"the version is just older", kOwnTime - 1, 0, 0, "at 1000"},
      {"a newer transaction counts on all rows of the table", 900, 950, kOwnTime, "serialization_failure"},
      {"another transaction counted on all rows of the table just before", 900, 950, kOwnTime - 1, "at 1000"},
  };
  for (const PlaceRow& row : rows) {
    INFO(row.name);
    VersionScene scene;
    scene.row(kRecord, 1, row.wts, 0);
    const txn::RowId written = scene.get(1);
    REQUIRE(scene.fetched(written) == "5");
    // Renewed since it was read.
    scene.bytes.lease(kRecord, row.rts);
    scene.bytes.word(scene.floor(), row.floor);
    CHECK(scene.commit_write(written) == row.end);
  }
}

TEST_CASE("whether what an MVCC transaction has read holds at its timestamp", "[mvcc]") {
  struct HoldRow {
    const char* name;
    std::uint64_t rts;
    std::function<void(VersionScene&)> since;
    const char* end;
    std::uint64_t rts_afterwards;
  };
  const auto nothing = [](VersionScene&) {};
  const auto overwritten = [](std::uint64_t timestamp) {
    return [timestamp](VersionScene& s) { s.overwrite(kRecord, 1, timestamp); };
  };
  const std::vector<HoldRow> rows = {
      {"the lease covers that", 1100, nothing, "at 1000", 1100},
      {"the lease ends before: renewed", 950, nothing, "at 1000", kOwnTime},
      {"overwritten by a newer transaction: it reads what was before that", 950, overwritten(1200), "at 1000",
       kOwnTime},
      {"overwritten by an older transaction: it should have read that", 950, overwritten(980),
       "serialization_failure", kOwnTime},
      {"overwritten twice, in between by an older transaction", 950,
       [](VersionScene& s) {
         s.overwrite(kRecord, 1, 980);
         const std::byte* const current = s.worker.fabric.at(kRecord + 8);
         s.bytes.write(kRecord + s.worker.table->record.ring_payload_offset(2),
                       {current, s.worker.table->record.body_bytes()});
         s.bytes.record(kRecord, {.stamp = {30, 8}, .timestamp = 1200, .ring_slot = 2});
       },
       "serialization_failure", kOwnTime},
      {"another holds it: it may write at an older timestamp, and is not waited for", 950,
       [](VersionScene& s) { s.bytes.word(kRecord, kTaken.value()); }, "serialization_failure", kOwnTime},
      {"held by another transaction, and the lease covers the transaction", 1100,
       [](VersionScene& s) { s.bytes.word(kRecord, kTaken.value()); }, "at 1000", 1100},
      {"reclaimed: its version is unknown", 950,
       [](VersionScene& s) { s.bytes.record(kRecord, {.stamp = {16, 11}, .incarnation = 0x20106}); },
       "serialization_failure", kOwnTime},
  };
  for (const HoldRow& row : rows) {
    INFO(row.name);
    VersionScene scene;
    scene.row(kRecord, 1, 900, row.rts);
    REQUIRE(scene.fetched(scene.get(1)) == "5");
    row.since(scene);
    CHECK(scene.commit_reads() == row.end);
    CHECK(scene.bytes.lease(kRecord) == row.rts_afterwards);
  }
}

TEST_CASE("an MVCC transaction goes after its session's last one, whatever its clock says", "[mvcc]") {
  VersionScene scene;
  scene.session.timestamp = 5000;
  scene.again();
  REQUIRE(scene.begin().ok());
  CHECK(scene.timestamps().commit_timestamp() == 5001);
}

}  // namespace namdb::protocol::testing
