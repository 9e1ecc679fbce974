// One worker's epochs on bytes that stand for the lanes of others.
#include "compute/protocol/calvin/sequencer.h"

#include <catch2/catch.hpp>

#include "compute/testing/test_worker.h"

namespace namdb::protocol {
namespace {

using layout::GlobalAddress;
using layout::OrderWord;
using testing::kOwnSlot;
using testing::RegionFabric;
using testing::TestWorker;

constexpr std::uint32_t kOther = 30;
constexpr std::uint32_t kOtherLane = 0;
constexpr OrderRow kRow = 3;

struct Lanes {
  TestWorker worker{{.protocol = "calvin"}};
  Sequencer sequencer{worker.cluster, worker.slot_keeper, worker.slots, kMillisecond_ns};

  Lanes() = default;
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;
  ~Lanes() { worker.run(sequencer.close()); }

  static GlobalAddress at(std::uint64_t offset) {
    return {0,
            layout::order_lanes_offset(RegionFabric::kVector_offset, RegionFabric::kVectorCapacity) + offset};
  }
  void own(std::uint32_t lane, std::uint32_t slot) { worker.fabric.set_word(at(8 * lane), slot); }
  std::uint64_t owner(std::uint32_t lane) { return worker.fabric.word(at(8 * lane)); }
  OrderWord word(std::uint32_t lane, std::uint32_t place) {
    return OrderWord::of(worker.fabric.word(at(layout::order_words_offset(lane) + 8 * place)));
  }
  void put_word(OrderWord word, std::uint32_t place = 0) {
    worker.fabric.set_word(at(layout::order_words_offset(kOtherLane) + 8 * place), word.value());
  }
  // A transaction of another worker, which writes that row.
  void put(OrderWord word, OrderRow row = kRow, std::uint32_t place = 0) {
    own(kOtherLane, kOther);
    worker.fabric.set_word(at(layout::order_entry_offset(kOtherLane, place)), std::uint64_t{row} << 32 | 1);
    put_word(word, place);
  }
  void lease_other() {
    worker.list_slots({{kOther, control::SLOT_LEASED}, {kOwnSlot, control::SLOT_LEASED}}, kOther + 1);
  }
  // Time passes.
  void run_for(std::uint64_t duration_ns) {
    const std::uint64_t end_ns = worker.executor.now_ns() + duration_ns;
    worker.executor.run_until([&] { return worker.executor.now_ns() >= end_ns; });
    worker.executor.run_ready();
  }
  std::shared_ptr<Turn> enter(std::vector<OrderRow> rows = {kRow}) {
    return sequencer.enter(std::move(rows));
  }
};

constexpr std::uint64_t kLong_ns = 5 * kMillisecond_ns;

}  // namespace

TEST_CASE("transactions of an epoch get their numbers together, and leave the lane when they are over",
          "[order]") {
  Lanes lanes;
  const auto first = lanes.enter();
  const auto second = lanes.enter();
  const auto other = lanes.enter({kRow + 2});
  lanes.run_for(kLong_ns);
  CHECK(lanes.owner(0) == kOwnSlot);
  CHECK((first->number == 2 && second->number == 4 && other->number == 6));
  CHECK(first->may_go());
  CHECK(!second->may_go());
  CHECK(other->may_go());
  CHECK(first->spent.round_trips == 2);
  CHECK(first->spent.writes == 3 + 2);
  CHECK(first->spent.reads == 2);
  CHECK(second->spent.one_sided() == 0);
  CHECK(lanes.word(0, second->places.front()).number == 4);
  lanes.sequencer.leave(*first);
  CHECK(second->may_go());
  lanes.sequencer.leave(*second);
  lanes.sequencer.leave(*other);
  lanes.run_for(kLong_ns);
  for (std::uint32_t place = 0; place < layout::kOrderPlaces; ++place) CHECK(lanes.word(0, place).free());
}

TEST_CASE("a transaction waits for one of another worker with a smaller number", "[order]") {
  Lanes lanes;
  lanes.lease_other();
  lanes.put({7, 10});
  const auto turn = lanes.enter();
  const auto apart = lanes.enter({kRow + 2});
  lanes.run_for(kLong_ns);
  CHECK(turn->number == 12);
  CHECK(!turn->may_go());
  CHECK(apart->may_go());
  SECTION("until it is over") {
    lanes.put_word({0, 0});
  }
  SECTION("until its word says so") {
    lanes.put_word({7, layout::kOrderOver});
  }
  SECTION("until its place is used again") {
    lanes.put_word({8, 0});
  }
  SECTION("until its compute server is dead") {
    lanes.worker.list_slots({{kOther, control::SLOT_DEAD}, {kOwnSlot, control::SLOT_LEASED}}, kOther + 1);
    lanes.run_for(100 * kMillisecond_ns);
  }
  lanes.run_for(kLong_ns);
  CHECK(turn->may_go());
  lanes.sequencer.leave(*turn);
  lanes.sequencer.leave(*apart);
}

TEST_CASE("one that is announced is waited for until its number is known", "[order]") {
  Lanes lanes;
  lanes.lease_other();
  lanes.put({7, 0});
  const auto turn = lanes.enter();
  lanes.run_for(kLong_ns);
  CHECK(turn->number == 2);
  CHECK(!turn->may_go());
  SECTION("it comes later") {
    lanes.put_word({7, 4});
    lanes.run_for(kLong_ns);
    CHECK(turn->may_go());
    const auto next = lanes.enter();
    lanes.sequencer.leave(*turn);
    lanes.run_for(kLong_ns);
    CHECK(next->number == 6);
    CHECK(!next->may_go());
    lanes.sequencer.leave(*next);
  }
  SECTION("it comes before") {
    lanes.put_word({7, 1});
    lanes.run_for(kLong_ns);
    CHECK(!turn->may_go());
    lanes.sequencer.leave(*turn);
  }
  SECTION("of equal numbers that of the smaller slot comes before") {
    lanes.put_word({7, 2});
    lanes.run_for(kLong_ns);
    CHECK(turn->may_go());
    lanes.sequencer.leave(*turn);
  }
}

TEST_CASE("a transaction announced between the two looks is waited for, too", "[order]") {
  Lanes lanes;
  lanes.lease_other();
  lanes.own(kOtherLane, kOther);
  // Owners, the CAS, two for the words of the lane; then the two looks of the epoch.
  lanes.worker.fabric.before_batch(5, [&lanes] { lanes.put({7, 0}); });
  const auto turn = lanes.enter();
  lanes.run_for(kLong_ns);
  CHECK(turn->number == 2);
  CHECK(turn->spent.round_trips == 3);
  CHECK(!turn->may_go());
  lanes.put_word({0, 0});
  lanes.run_for(kLong_ns);
  CHECK(turn->may_go());
  lanes.sequencer.leave(*turn);
}

TEST_CASE("numbers in a lane that was taken after this worker's own count", "[order]") {
  Lanes lanes;
  lanes.lease_other();
  // Owners, the CAS, two for the words of the lane; then the first look of the epoch.
  lanes.worker.fabric.before_batch(4, [&lanes] {
    lanes.own(1, kOther);
    lanes.worker.fabric.set_word(Lanes::at(layout::order_entry_offset(1, 0)), std::uint64_t{kRow} << 32 | 1);
    lanes.worker.fabric.set_word(Lanes::at(layout::order_words_offset(1)), OrderWord{7, 10}.value());
  });
  const auto turn = lanes.enter();
  lanes.run_for(kLong_ns);
  CHECK(lanes.owner(0) == kOwnSlot);
  CHECK(turn->number == 12);
  CHECK(!turn->may_go());
  lanes.sequencer.leave(*turn);
}

TEST_CASE("the lane of a dead worker is taken, and its words are gone", "[order]") {
  Lanes lanes;
  lanes.put({7, 10});
  lanes.worker.list_slots({{kOther, control::SLOT_DEAD}, {kOwnSlot, control::SLOT_LEASED}}, kOther + 1);
  const auto turn = lanes.enter();
  lanes.run_for(kLong_ns);
  CHECK(lanes.owner(kOtherLane) == kOwnSlot);
  CHECK(turn->may_go());
  CHECK(turn->number == 2);
  lanes.sequencer.leave(*turn);
}

TEST_CASE("a lane's epochs go on from owner to owner", "[order]") {
  Lanes lanes;
  lanes.put({7, 10});
  lanes.put_word({5, layout::kOrderOver}, 1);
  lanes.worker.list_slots({{kOther, control::SLOT_DEAD}, {kOwnSlot, control::SLOT_LEASED}}, kOther + 1);
  const auto turn = lanes.enter();
  lanes.run_for(kLong_ns);
  CHECK(lanes.word(kOtherLane, turn->places.front()).epoch == 8);
  lanes.sequencer.leave(*turn);
  lanes.run_for(kLong_ns);
  CHECK(lanes.word(kOtherLane, turn->places.front()).epoch == 8);
}

TEST_CASE("without a lane, and with too many rows, there is no order", "[order]") {
  Lanes lanes;
  SECTION("all lanes are taken") {
    lanes.lease_other();
    for (std::uint32_t lane = 0; lane < layout::kOrderLanes; ++lane) lanes.own(lane, kOther);
    const auto turn = lanes.enter();
    lanes.run_for(kLong_ns);
    CHECK(turn->state == Turn::State::unordered);
    CHECK(lanes.enter()->state == Turn::State::unordered);
  }
  SECTION("too many rows") {
    std::vector<OrderRow> rows;
    for (OrderRow row = 0; row <= Sequencer::kMaxRows; ++row) rows.push_back(row << 1);
    CHECK(lanes.enter(rows)->state == Turn::State::unordered);
    rows.pop_back();
    const auto turn = lanes.enter(rows);
    lanes.run_for(kLong_ns);
    CHECK(turn->may_go());
    CHECK(turn->places.size() == 8);
    lanes.sequencer.leave(*turn);
  }
}

TEST_CASE("more transactions than places wait for those that are under way", "[order]") {
  Lanes lanes;
  std::vector<std::shared_ptr<Turn>> turns;
  for (OrderRow row = 0; row < layout::kOrderPlaces + 1; ++row) turns.push_back(lanes.enter({row << 1}));
  lanes.run_for(kLong_ns);
  CHECK(turns[layout::kOrderPlaces - 1]->may_go());
  CHECK(turns.back()->state == Turn::State::waits);
  lanes.sequencer.leave(*turns.front());
  lanes.run_for(kLong_ns);
  CHECK(turns.back()->may_go());
  for (const auto& turn : turns) lanes.sequencer.leave(*turn);
}

TEST_CASE("transactions that do not wait any longer leave no trace", "[order]") {
  Lanes lanes;
  const auto waits = lanes.enter();
  lanes.sequencer.leave(*waits);
  const auto turn = lanes.enter();
  // Its epoch is under way: its words are announced in the fifth batch.
  lanes.worker.fabric.before_batch(4, [&lanes, &turn] { lanes.sequencer.leave(*turn); });
  lanes.run_for(kLong_ns);
  CHECK(lanes.word(0, turn->places.front()).free());
  const auto next = lanes.enter();
  lanes.run_for(kLong_ns);
  CHECK(next->may_go());
  lanes.sequencer.leave(*next);
}

}  // namespace namdb::protocol
