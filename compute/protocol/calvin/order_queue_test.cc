#include "compute/protocol/calvin/order_queue.h"

#include <catch2/catch.hpp>

namespace namdb::protocol {
namespace {

constexpr OrderRow reads(std::uint32_t row) {
  return row << 1;
}
constexpr OrderRow writes(std::uint32_t row) {
  return (row << 1) | 1;
}

struct Place {
  std::uint32_t number = 0;
  std::uint32_t slot = 16;
  std::uint32_t sequence = 0;
  bool remote = false;
};

OrderQueue::Ref transaction(std::vector<OrderRow> rows, Place place) {
  auto made = std::make_shared<OrderedTransaction>();
  normalize(rows);
  made->rows = std::move(rows);
  made->number = place.number;
  made->slot = place.slot;
  made->sequence = place.sequence;
  made->remote = place.remote;
  return made;
}

}  // namespace

TEST_CASE("rows that are asked for twice are there once, with the right to write", "[order]") {
  std::vector<OrderRow> rows{writes(9), reads(3), reads(9), writes(3), reads(5), reads(5)};
  normalize(rows);
  CHECK(rows == std::vector<OrderRow>{writes(3), reads(5), writes(9)});
  CHECK(order_row(7, 1, true) == (order_row(7, 1, false) | 1));
  CHECK(order_row(7, 1, false) != order_row(8, 1, false));
  CHECK(order_row(7, 1, false) != order_row(7, 2, false));
}

TEST_CASE("transactions that share a row go one after another, unless both read it", "[order]") {
  OrderQueue queue;
  const auto first = transaction({writes(1), reads(2)}, {.number = 2, .sequence = 1});
  const auto second = transaction({writes(1)}, {.number = 4, .sequence = 2});
  const auto third = transaction({writes(1)}, {.number = 6, .sequence = 3});
  const auto reader = transaction({reads(2)}, {.number = 8, .sequence = 4});
  const auto writer = transaction({writes(2)}, {.number = 10, .sequence = 5});
  for (const auto& each : {first, second, third, reader, writer}) queue.add(each);
  CHECK(first->may_go());
  CHECK(!second->may_go());
  CHECK(!third->may_go());
  CHECK(reader->may_go());
  CHECK(!writer->may_go());
  // A transaction that gives up frees none that also waits for others.
  CHECK(queue.remove(*second).empty());
  CHECK(queue.remove(*first) == std::vector{third});
  CHECK(queue.remove(*reader) == std::vector{writer});
  queue.remove(*third);
  queue.remove(*writer);
  CHECK(queue.empty());
}

TEST_CASE("the order is that of numbers, then of slots, then of a worker's own", "[order]") {
  const auto before = [](Place one, Place other) {
    return transaction({}, one)->comes_before(*transaction({}, other));
  };
  CHECK(before({.number = 2}, {.number = 4}));
  CHECK(!before({.number = 4}, {.number = 2}));
  CHECK(before({.number = ~1U}, {.number = 2}));  // round and round
  CHECK(before({.number = 2, .slot = 16}, {.number = 2, .slot = 17}));
  CHECK(!before({.number = 2, .slot = 17}, {.number = 2, .slot = 16}));
  CHECK(before({.number = 2, .sequence = 1}, {.number = 2, .sequence = 2}));
}

TEST_CASE("a transaction of another worker is waited for as far as it may come before", "[order]") {
  OrderQueue queue;
  const auto earlier = transaction({writes(1)}, {.number = 2, .slot = 17, .remote = true});
  const auto later = transaction({writes(1)}, {.number = 6, .slot = 17, .remote = true});
  const auto announced = transaction({writes(1)}, {.number = 0, .slot = 18, .remote = true});
  for (const auto& each : {earlier, later, announced}) queue.add(each);
  const auto own = transaction({writes(1)}, {.number = 4});
  queue.add(own);
  CHECK(own->waits_for == 2);
  CHECK(own->waits_for_remote == 2);
  CHECK(queue.remove(*earlier).empty());
  SECTION("its number turns out to be greater") {
    CHECK(queue.settle(*announced, 8) == std::vector{own});
    const auto next = transaction({reads(1)}, {.number = 10, .sequence = 2});
    queue.add(next);
    CHECK(next->waits_for == 3);
  }
  SECTION("its number turns out to be smaller") {
    CHECK(queue.settle(*announced, 2).empty());
    CHECK(!own->may_go());
    CHECK(queue.remove(*announced) == std::vector{own});
  }
  CHECK(own->may_go());
  CHECK(own->waits_for_remote == 0);
}

TEST_CASE("one that has left is not woken", "[order]") {
  OrderQueue queue;
  const auto first = transaction({writes(1)}, {.number = 2, .sequence = 1});
  const auto second = transaction({writes(1)}, {.number = 4, .sequence = 2});
  queue.add(first);
  queue.add(second);
  queue.remove(*second);
  CHECK(queue.remove(*first).empty());
  CHECK(!second->may_go());
  CHECK(queue.empty());
}

}  // namespace namdb::protocol
