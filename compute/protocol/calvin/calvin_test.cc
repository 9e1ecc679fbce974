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
