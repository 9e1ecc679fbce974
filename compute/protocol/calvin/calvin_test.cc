#include "compute/protocol/calvin/calvin.h"

#include <catch2/catch.hpp>

#include "compute/testing/protocol_scene.h"

namespace namdb::protocol::testing {
namespace {

using layout::HeaderWord;
using layout::Stamp;

constexpr Stamp kOrderStored{16, 10};
constexpr Stamp kComesBefore{30, 0};
constexpr Stamp kComesLater{30, 8};
constexpr Stamp kInNoOrder{30, 9};
// The first number of a worker.
constexpr std::uint32_t kNumber = 2;
constexpr HeaderWord kOrderLock = lock_word({kOwnSlot, kNumber});

struct OrderScene : ProtocolScene {
  OrderScene() : ProtocolScene({.protocol = "calvin"}) {
    no_rows();
    stored({.stamp = kOrderStored, .value = 5, .key = 1});
    stored({.stamp = kOrderStored, .value = 6, .key = 2}, kOtherRecord);
  }
};

}  // namespace

TEST_CASE("the meaning of a met lock under CALVIN, by the bytes of the record", "[calvin]") {
  struct MetRow {
    const char* name;
    HeaderWord header;
    bool holds;  // a row is locked; else the transaction has no turn yet
    const char* decision;
  };
  const std::vector<MetRow> rows = {
      {"it is not locked", free_word(kOrderStored), false, "visible"},
      {"it is not locked, and another row is", free_word(kOrderStored), true, "visible"},
      {"header and body of two versions", free_word({16, 11}), false, "torn"},
      {"its own lock", kOrderLock, true, "visible"},
      {"the own stamp without a lock is a version", free_word({kOwnSlot, kNumber}), true, "torn"},
      {"without a turn no lock is its own", kOrderLock, false, "locked by other"},
      {"without locks it waits for one that comes before", lock_word(kComesBefore), false, "locked by other"},
      {"without locks it waits for one that comes later", lock_word(kComesLater), false, "locked by other"},
      {"with locks it waits for one that comes before", lock_word(kComesBefore), true, "locked by other"},
      {"with locks it gives way to one that comes later", lock_word(kComesLater), true, "conflict"},
      {"of equal numbers the smaller slot's comes before", lock_word({kOwnSlot - 1, kNumber}), true,
       "locked by other"},
      {"of equal numbers the greater slot's comes later", lock_word({kOwnSlot + 1, kNumber}), true,
       "conflict"},
      {"a later transaction of the same slot", lock_word({kOwnSlot, kNumber + 2}), true, "conflict"},
      {"with locks it waits for a commit in no order", lock_word(kInNoOrder), true, "locked by other"},
      {"a number of the round before comes before", lock_word({30, layout::kMaxCounter - 1}), true,
       "locked by other"},
      {"the memory server holds it for a moment", lock_word({layout::kCollectorSlot, 8}), true,
       "locked by other"},
  };
  for (const MetRow& row : rows) {
    INFO(row.name);
    OrderScene scene;
    REQUIRE(scene.begin().ok());
    if (row.holds) REQUIRE(scene.fetched(scene.get(2)) == "6");
    CHECK(scene.decide(row.header, {.stamp = kOrderStored}) == row.decision);
  }
}

TEST_CASE("the rows of the first fetch are locked under the transaction's number, later ones are not",
          "[calvin]") {
  OrderScene scene;
  CHECK(scene.fetched(scene.get(1)) == "5");
  CHECK(scene.bytes.header(kRecord) == kOrderLock);
  const txn::RowId later = scene.get(2);
  CHECK(scene.fetched(later) == "6");
  CHECK(scene.bytes.header(kOtherRecord) == free_word(kOrderStored));
  CHECK(!scene.access(later).locked);
  scene.transaction->abort();
  scene.worker.executor.run_ready();
  CHECK(scene.bytes.header(kRecord) == free_word(kOrderStored));
}

TEST_CASE("rows of a first fetch are waited for, whichever transaction has locked them", "[calvin]") {
  for (const Stamp holder : {kComesBefore, kComesLater, kInNoOrder}) {
    OrderScene scene;
    scene.bytes.word(kOtherRecord, lock_word(holder).value());
    scene.worker.fabric.before_batch(
        40, [&scene] { scene.bytes.word(kOtherRecord, free_word(kOrderStored).value()); });
    const txn::RowId first = scene.get(1);
    const txn::RowId second = scene.get(2);
    CHECK(scene.fetched(first) == "5");
    CHECK(scene.seen(second) == "6");
    CHECK(scene.bytes.header(kOtherRecord) == kOrderLock);
  }
}

TEST_CASE("a transaction that holds rows waits for those that come before, and for commits in no order",
          "[calvin]") {
  struct Row {
    const char* name;
    Stamp holder;
    const char* seen;
  };
  for (const Row& row : {Row{"it comes before", kComesBefore, "6"},
                         Row{"it comes later", kComesLater, "serialization_failure"},
                         Row{"of equal numbers the smaller slot's comes before", {19, kNumber}, "6"},
                         Row{"it commits, in no order", kInNoOrder, "6"},
                         Row{"the memory server holds it", {layout::kCollectorSlot, 8}, "6"}}) {
    INFO(row.name);
    OrderScene scene;
    CHECK(scene.fetched(scene.get(1)) == "5");
    scene.bytes.word(kOtherRecord, lock_word(row.holder).value());
    scene.worker.fabric.before_batch(
        20, [&scene] { scene.bytes.word(kOtherRecord, free_word(kOrderStored).value()); });
    CHECK(scene.fetched(scene.get(2)) == row.seen);
  }
}

TEST_CASE("the next attempt declares the rows that the one before had found", "[calvin]") {
  OrderScene scene;
  CHECK(scene.fetched(scene.get(1)) == "5");
  scene.bytes.word(kOtherRecord, lock_word(kComesLater).value());
  CHECK(scene.fetched(scene.get(2)) == "serialization_failure");
  scene.transaction->abort();
  CHECK(scene.session.ordered_rows.size() == 2);
  scene.bytes.word(kOtherRecord, free_word(kOrderStored).value());
  scene.again();
  CHECK(scene.fetched(scene.read(1)) == "5");
  CHECK(scene.bytes.header(kRecord) == free_word(kOrderStored));
  CHECK(scene.fetched(scene.get(2)) == "6");
  CHECK(scene.bytes.header(kOtherRecord) == lock_word({kOwnSlot, kNumber + 2}));
  scene.transaction->abort();
  CHECK(scene.session.ordered_rows.empty());
}

}  // namespace namdb::protocol::testing
