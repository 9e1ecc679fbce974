// Write sets that are locked as they are read, on the bytes of records: which rows are locked, where the
// transaction then finds its place, and what it makes of the locks of others.
#include "compute/protocol/timestamp_ordering/write_set_locks.h"

#include <catch2/catch.hpp>
#include <functional>

#include "compute/testing/timestamp_scene.h"
#include "compute/txn/lock_time.h"

namespace namdb::protocol::testing {
namespace write_set_locks_test {

using layout::HeaderWord;

// A worker's clock then; priorities and MVCC's timestamps come from it.
constexpr std::uint64_t kNow = 1'600'000;
const HeaderWord kHeld = lock_word({30, 7});
const HeaderWord kStored = free_word({16, 10});

struct FetchScene : TimestampScene {
  explicit FetchScene(const char* protocol) : TimestampScene(protocol, kNow, txn::LockTime::fetch) {}

  bool locked(layout::GlobalAddress record) {
    const HeaderWord header = bytes.header(record);
    return header.locked() && header.stamp().slot == kOwnSlot && visibility().holds(record);
  }
  void give_up() {
    transaction->abort();
    worker.executor.run_ready();
  }
};

TEST_CASE("rows that may be written are locked as they are read, and those that are only read are not",
          "[lock-time]") {
  const char* const protocol = GENERATE("mvcc", "sundial");
  CAPTURE(protocol);
  FetchScene scene(protocol);
  scene.row(kRecord, 1, 50, 60);
  scene.row(kOtherRecord, 2, 50, 60);
  scene.get(1);
  const txn::RowId read = scene.transaction->get_to_read(scene.worker.table, key_of(*scene.worker.table, 2));
  REQUIRE(scene.fetched(read) == "5");
  CHECK(scene.locked(kRecord));
  CHECK(scene.bytes.header(kOtherRecord) == kStored);
  scene.give_up();
  CHECK(scene.bytes.header(kRecord) == kStored);
}

TEST_CASE("a row that was read is locked as it was shown once it may be written, or there is a conflict",
          "[lock-time]") {
  const char* const protocol = GENERATE("mvcc", "sundial");
  CAPTURE(protocol);
  struct ShownRow {
    const char* name;
    std::function<void(FetchScene&)> since;
    const char* end;
  };
  const std::vector<ShownRow> rows = {
      {"as it was", [](FetchScene&) {}, "5"},
      {"changed since", [](FetchScene& s) { s.overwrite(kRecord, 1, 90); }, "serialization_failure"},
      {"held by another transaction", [](FetchScene& s) { s.bytes.word(kRecord, kHeld.value()); },
       "serialization_failure"},
  };
  for (const ShownRow& row : rows) {
    INFO(row.name);
    FetchScene scene(protocol);
    scene.row(kRecord, 1, 50, 60);
    const txn::RowId shown = scene.read(1);
    REQUIRE(scene.fetched(shown) == "5");
    CHECK(scene.bytes.header(kRecord) == kStored);
    row.since(scene);
    CHECK(scene.get(1) == shown);
    CHECK(scene.fetched(shown) == row.end);
    CHECK(scene.locked(kRecord) == (std::string_view(row.end) == "5"));
    scene.give_up();
    CHECK(!scene.locked(kRecord));
  }
}

TEST_CASE("a transaction that locked as it read goes after what stood behind its locks then", "[lock-time]") {
  struct PlaceRow {
    const char* name;
    std::uint64_t rts;
    std::uint64_t floor;
    std::function<void(FetchScene&)> since;
    const char* end;
  };
  const auto nothing = [](FetchScene&) {};
  const std::vector<PlaceRow> rows = {
      {"after the lease of what it displaces", 60, 0, nothing, "at 61"},
      {"after the version, where that has no lease", 0, 0, nothing, "at 51"},
      {"after the floor of the table", 60, 90, nothing, "at 91"},
      {"a lease that is raised behind the lock is of a reader that finds the row locked, and fails", 60, 0,
       [](FetchScene& s) { s.bytes.lease(kRecord, 75); }, "at 61"},
      {"so is a floor", 60, 0, [](FetchScene& s) { s.bytes.word(s.floor(), 75); }, "at 61"},
  };
  for (const PlaceRow& row : rows) {
    INFO(row.name);
    FetchScene scene("sundial");
    scene.row(kRecord, 1, 50, row.rts);
    scene.bytes.word(scene.floor(), row.floor);
    const txn::RowId written = scene.get(1);
    REQUIRE(scene.fetched(written) == "5");
    row.since(scene);
    CHECK(scene.commit_write(written) == row.end);
    scene.give_up();
  }
}

TEST_CASE("a lease and a floor are READ behind the lock, and not with a READ before it", "[lock-time]") {
  struct BehindRow {
    const char* name;
    std::function<void(FetchScene&)> before_cas;
    const char* end;
  };
  const std::vector<BehindRow> rows = {
      {"a lease", [](FetchScene& s) { s.bytes.lease(kRecord, 75); }, "at 76"},
      {"a floor", [](FetchScene& s) { s.bytes.word(s.floor(), 75); }, "at 76"},
  };
  for (const BehindRow& row : rows) {
    INFO(row.name);
    FetchScene scene("sundial");
    scene.row(kRecord, 1, 50, 60);
    const txn::RowId written = scene.get(1);
    // Bucket, record, CAS.
    scene.worker.fabric.before_batch(2, [&scene, &row] { row.before_cas(scene); });
    REQUIRE(scene.fetched(written) == "5");
    CHECK(scene.commit_write(written) == row.end);
    scene.give_up();
  }
}

TEST_CASE("a row that was locked and not written keeps older writers out after its release", "[lock-time]") {
  FetchScene scene("sundial");
  scene.session.timestamp = 70;
  scene.again();
  scene.row(kRecord, 1, 50, 60);
  REQUIRE(scene.fetched(scene.get(1)) == "5");
  REQUIRE(scene.locked(kRecord));
  CHECK(scene.commit_reads() == "at 70");
  CHECK(scene.bytes.lease(kRecord) == 70);
  scene.give_up();
}

TEST_CASE(
    "an MVCC transaction that meets a newer lease behind its lock takes a newer timestamp, unless it "
    "has read an older version",
    "[lock-time]") {
  constexpr std::uint64_t kNewer = kNow + 500;
  FetchScene fresh("mvcc");
  fresh.row(kRecord, 1, 50, kNewer);
  const txn::RowId written = fresh.get(1);
  REQUIRE(fresh.fetched(written) == "5");
  CHECK(fresh.commit_write(written) == "at " + std::to_string(kNewer + 1));
  fresh.give_up();

  FetchScene bound("mvcc");
  bound.row(kOtherRecord, 2, 50, 60);
  bound.row(kRecord, 1, 50, kNewer);
  REQUIRE(bound.fetched(bound.read(2)) == "5");
  // The version before the current one is read of this row.
  bound.overwrite(kOtherRecord, 2, kNow + 100);
  bound.row({0, 0x48000}, 3, 50, 60);
  bound.overwrite({0, 0x48000}, 3, kNow + 100);
  REQUIRE(bound.fetched(bound.read(3)) == "5");
  CHECK(bound.fetched(bound.get(1)) == "serialization_failure");
  bound.give_up();
  CHECK(bound.bytes.header(kRecord) == kStored);
}

TEST_CASE("an MVCC transaction does not lock a row whose current version is newer than what it reads",
          "[lock-time]") {
  FetchScene scene("mvcc");
  scene.row(kOtherRecord, 2, 50, 60);
  REQUIRE(scene.fetched(scene.read(2)) == "5");
  scene.row(kRecord, 1, 50, 60);
  scene.overwrite(kRecord, 1, kNow + 100);
  CHECK(scene.fetched(scene.get(1)) == "serialization_failure");
  CHECK(scene.bytes.header(kRecord) == free_word({30, 7}));
}

TEST_CASE("a transaction that holds rows gives way to a lock, and one that holds none waits", "[lock-time]") {
  const char* const protocol = GENERATE("mvcc", "sundial");
  CAPTURE(protocol);
  FetchScene holder(protocol);
  holder.row(kRecord, 1, 50, 60);
  holder.row(kOtherRecord, 2, 50, 60);
  REQUIRE(holder.fetched(holder.get(1)) == "5");
  holder.bytes.word(kOtherRecord, kHeld.value());
  CHECK(holder.fetched(holder.read(2)) == "serialization_failure");
  CHECK(holder.worker.locks.has(kOtherRecord, kHeld));
  holder.give_up();
  CHECK(holder.bytes.header(kRecord) == kStored);

  FetchScene waiter(protocol);
  waiter.row(kRecord, 1, 50, 60);
  waiter.bytes.word(kRecord, kHeld.value());
  waiter.worker.fabric.before_batch(20, [&waiter] { waiter.bytes.word(kRecord, kStored.value()); });
  CHECK(waiter.fetched(waiter.get(1)) == "5");
  CHECK(waiter.locked(kRecord));
  waiter.give_up();
}

TEST_CASE("a time to lock is refused under protocols that leave no choice", "[lock-time]") {
  const auto refusal = [](txn::LockTime time, std::string_view protocol) {
    const Status status = txn::check_lock_time(time, *protocol::find_protocol(protocol));
    return status.ok() ? std::string() : status.message();
  };
  CHECK(refusal(txn::LockTime::fetch, "mvcc").empty());
  CHECK(refusal(txn::LockTime::commit, "sundial").empty());
  CHECK(refusal(txn::LockTime::automatic, "nowait").empty());
  CHECK(refusal(txn::LockTime::fetch, "occ") ==
        "--lock-at fetch: protocol occ leaves no choice; mvcc and sundial do");
  CHECK(refusal(txn::LockTime::commit, "nowait") ==
        "--lock-at commit: protocol nowait leaves no choice; mvcc and sundial do");
}

}  // namespace write_set_locks_test
}  // namespace namdb::protocol::testing
