// SUNDIAL's decisions as RCC has them (its §4.5), on the bytes that are READ: wts is the version's timestamp,
// rts the record's lease.
#include "compute/protocol/sundial/sundial.h"

#include <catch2/catch.hpp>
#include <functional>

#include "compute/testing/timestamp_scene.h"

namespace namdb::protocol::testing {
namespace {

using layout::HeaderWord;

struct SundialScene : TimestampScene {
  SundialScene() : TimestampScene("sundial", 0) {}
};

const HeaderWord kHeld = lock_word({30, 7});

}  // namespace

TEST_CASE("where a SUNDIAL transaction that reads finds its place, and which leases it renews", "[sundial]") {
  struct ReadRow {
    const char* name;
    std::uint64_t wts;
    std::uint64_t rts;
    std::uint64_t session;  // the timestamp of its session's last transaction
    std::function<void(SundialScene&)> since;
    const char* end;
    std::uint64_t rts_afterwards;
    bool noted = false;
  };
  const auto nothing = [](SundialScene&) {};
  const auto overwritten = [](SundialScene& s) { s.overwrite(kRecord, 1, 90); };
  const auto held = [](SundialScene& s) { s.bytes.word(kRecord, kHeld.value()); };
  const auto lease = [](std::uint64_t timestamp) {
    return [timestamp](SundialScene& s) { s.bytes.lease(kRecord, timestamp); };
  };
  const std::vector<ReadRow> rows = {
      {"at the version's timestamp, which its lease covers", 50, 60, 0, nothing, "at 50", 60},
      {"at the version's timestamp, which holds there without a lease", 50, 40, 0, nothing, "at 50", 40},
      {"not before its session's last transaction: the lease still covers that", 50, 60, 60, nothing, "at 60",
       60},
      {"the lease ends before: renewed", 50, 60, 70, nothing, "at 70", 70},
      {"without any lease: renewed from the version's timestamp", 50, 0, 70, nothing, "at 70", 70},
      {"another transaction has renewed it, not so far: renewed further", 50, 60, 70, lease(65), "at 70", 70},
      {"another transaction has renewed it so far", 50, 60, 70, lease(70), "at 70", 70},
      {"another transaction has renewed it further: it stays", 50, 60, 70, lease(80), "at 70", 80},
      {"overwritten since, and the lease covers the transaction: it goes before the writer", 50, 60, 55,
       overwritten, "at 55", 60},
      {"overwritten since, and the lease would have to be renewed: wts is another", 50, 60, 70, overwritten,
       "serialization_failure", 70},
      {"held since, and the lease covers the transaction", 50, 60, 55, held, "at 55", 60},
      {"held since, and the lease would have to be renewed: the writer may have read it", 50, 60, 70, held,
       "serialization_failure", 70, true},
  };
  for (const ReadRow& row : rows) {
    INFO(row.name);
    SundialScene scene;
    scene.session.timestamp = row.session;
    scene.again();
    scene.row(kRecord, 1, row.wts, row.rts);
    REQUIRE(scene.fetched(scene.get(1)) == "5");
    row.since(scene);
    CHECK(scene.commit_reads() == row.end);
    CHECK(scene.bytes.lease(kRecord) == row.rts_afterwards);
    CHECK(scene.worker.locks.has(kRecord, kHeld) == row.noted);
  }
}

TEST_CASE("where a SUNDIAL transaction that reads two rows finds its place", "[sundial]") {
  struct TwoRow {
    const char* name;
    std::uint64_t wts[2];
    std::uint64_t rts[2];
    const char* end;
    std::uint64_t rts_afterwards[2];
  };
  const std::vector<TwoRow> rows = {
      {"at the newer version", {50, 80}, {90, 90}, "at 80", {90, 90}},
      {"the older one's lease ends before: renewed", {50, 80}, {60, 80}, "at 80", {80, 80}},
      {"both versions of one commit", {50, 50}, {50, 50}, "at 50", {50, 50}},
  };
  for (const TwoRow& row : rows) {
    INFO(row.name);
    SundialScene scene;
    scene.row(kRecord, 1, row.wts[0], row.rts[0]);
    scene.row(kOtherRecord, 2, row.wts[1], row.rts[1]);
    scene.get(1);
    scene.get(2);
    REQUIRE(scene.fetch().ok());
    CHECK(scene.commit_reads() == row.end);
    CHECK(scene.bytes.lease(kRecord) == row.rts_afterwards[0]);
    CHECK(scene.bytes.lease(kOtherRecord) == row.rts_afterwards[1]);
  }
}

TEST_CASE("where a SUNDIAL transaction that writes finds its place", "[sundial]") {
  struct WriteRow {
    const char* name;
    std::uint64_t wts;
    std::uint64_t rts;
    std::uint64_t session;
    std::uint64_t floor;                       // of the table
    std::function<void(SundialScene&)> since;  // the row was read, until it is locked
    const char* end;
  };
  const auto nothing = [](SundialScene&) {};
  const std::vector<WriteRow> rows = {
      {"after the lease of what it displaces", 50, 60, 0, 0, nothing, "at 61"},
      {"after the version that it displaces, where that has no lease", 50, 0, 0, 0, nothing, "at 51"},
      {"after a lease that was renewed since the row was read", 50, 60, 0, 0,
       [](SundialScene& s) { s.bytes.lease(kRecord, 75); }, "at 76"},
      {"after the floor of its table: another transaction counts on all its rows", 50, 60, 0, 90, nothing,
       "at 91"},
      {"after a floor that was raised since the row was read", 50, 60, 0, 90,
       [](SundialScene& s) { s.bytes.word(s.floor(), 95); }, "at 96"},
      {"not before its session's last transaction", 50, 60, 200, 90, nothing, "at 200"},
  };
  for (const WriteRow& row : rows) {
    INFO(row.name);
    SundialScene scene;
    scene.session.timestamp = row.session;
    scene.again();
    scene.row(kRecord, 1, row.wts, row.rts);
    scene.bytes.word(scene.floor(), row.floor);
    const txn::RowId written = scene.get(1);
    REQUIRE(scene.fetched(written) == "5");
    row.since(scene);
    CHECK(scene.commit_write(written) == row.end);
  }
}

TEST_CASE("the other records that a writing SUNDIAL transaction has read hold at its timestamp",
          "[sundial]") {
  struct BesideRow {
    const char* name;
    std::uint64_t rts;  // of the row that is only read
    std::function<void(SundialScene&)> since;
    const char* end;
    std::uint64_t rts_afterwards;
  };
  const auto nothing = [](SundialScene&) {};
  const std::vector<BesideRow> rows = {
      {"its lease covers that", 70, nothing, "at 61", 70},
      {"its lease ends before: renewed", 55, nothing, "at 61", 61},
      {"its lease ends before, and it was overwritten", 55,
       [](SundialScene& s) { s.overwrite(kOtherRecord, 2, 90); }, "serialization_failure", 61},
      {"its lease ends before, and another transaction holds it", 55,
       [](SundialScene& s) { s.bytes.word(kOtherRecord, kHeld.value()); }, "serialization_failure", 61},
      {"its lease covers that, and it was overwritten after the lease", 70,
       [](SundialScene& s) { s.overwrite(kOtherRecord, 2, 90); }, "at 61", 70},
  };
  for (const BesideRow& row : rows) {
    INFO(row.name);
    SundialScene scene;
    scene.row(kRecord, 1, 50, 60);
    scene.row(kOtherRecord, 2, 40, row.rts);
    const txn::RowId written = scene.get(1);
    scene.get(2);
    REQUIRE(scene.fetch().ok());
    row.since(scene);
    CHECK(scene.commit_write(written) == row.end);
    CHECK(scene.bytes.lease(kOtherRecord) == row.rts_afterwards);
  }
}

TEST_CASE("a key that is not there is counted on by the floor of its table", "[sundial]") {
  struct AbsentRow {
    const char* name;
    std::uint64_t session;
    std::uint64_t floor;
    std::uint64_t forgotten;
    std::function<void(SundialScene&)> since;
    const char* end;
    std::uint64_t floor_afterwards;
  };
  const auto nothing = [](SundialScene&) {};
  const std::vector<AbsentRow> rows = {
      {"the floor is raised to the transaction's timestamp", 70, 0, 0, nothing, "at 70", 70},
      {"a floor that is above stays", 70, 90, 0, nothing, "at 70", 90},
      {"after what the memory server has forgotten: the key may have been there", 70, 0, 100, nothing,
       "at 101", 101},
      {"another transaction has inserted since", 70, 0, 0, [](SundialScene& s) { s.row(kRecord, 1, 60, 0); },
       "serialization_failure", 70},
      {"another transaction holds the chain", 70, 0, 0,
       [](SundialScene& s) { s.bytes.word(s.bytes.main_bucket(1), kHeld.value()); }, "serialization_failure",
       70},
  };
  for (const AbsentRow& row : rows) {
    INFO(row.name);
    SundialScene scene;
    scene.session.timestamp = row.session;
    scene.again();
    scene.bytes.word(scene.floor(), row.floor);
    scene.bytes.word(scene.forgotten(), row.forgotten);
    REQUIRE(scene.fetched(scene.get(1)) == "not found");
    row.since(scene);
    CHECK(scene.commit_reads() == row.end);
    CHECK(scene.bytes.word(scene.floor()) == row.floor_afterwards);
  }
}

TEST_CASE("a lease is believed only as of before its row was READ", "[sundial]") {
  SundialScene scene;
  scene.session.timestamp = 70;
  scene.again();
  scene.row(kRecord, 1, 50, 60);
  const txn::RowId row = scene.get(1);
  // Bucket, record. Renewed by another transaction that then finds the row locked: not with the READ that
  // shows it free.
  scene.worker.fabric.before_batch(2, [&scene] {
    scene.bytes.lease(kRecord, 80);
    scene.bytes.word(kRecord, kHeld.value());
  });
  REQUIRE(scene.fetched(row) == "5");
  CHECK(scene.commit_reads() == "serialization_failure");
}

}  // namespace namdb::protocol::testing
