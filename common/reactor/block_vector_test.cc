#include "common/reactor/block_vector.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <ranges>
#include <vector>

namespace namdb::reactor {
namespace block_vector_test {

struct Element {
  Element(int wanted, std::shared_ptr<int> counter) : number(wanted), held(std::move(counter)) {}
  int number;
  std::shared_ptr<int> held;  // counts the elements that there are
};
using Elements = BlockVector<Element, 3>;

std::vector<int> numbers(const Elements& elements) {
  std::vector<int> all;
  for (const Element& element : elements) all.push_back(element.number);
  return all;
}

static_assert(std::ranges::random_access_range<Elements>);
static_assert(std::ranges::random_access_range<const Elements>);
static_assert(std::is_convertible_v<Elements::iterator, Elements::const_iterator>);
static_assert(!std::is_convertible_v<Elements::const_iterator, Elements::iterator>);

TEST_CASE("elements of a block vector stay where they are while others come and go behind them",
          "[block_vector]") {
  const auto held = std::make_shared<int>();
  Elements elements;
  std::vector<const Element*> places;
  for (int i = 0; i < 100; ++i) places.push_back(&elements.emplace_back(i, held));
  for (int i = 0; i < 50; ++i) elements.pop_back();
  for (int i = 50; i < 100; ++i) elements.emplace_back(i, held);
  REQUIRE(elements.size() == 100);
  for (std::size_t i = 0; i < 50; ++i) CHECK(&elements[i] == places[i]);
  for (int i = 0; i < 100; ++i) CHECK(elements[static_cast<std::size_t>(i)].number == i);
  CHECK(elements.back().number == 99);
  const auto found = std::ranges::find(elements, 71, &Element::number);
  CHECK(found - elements.begin() == 71);
  CHECK(elements.begin()[13].number == 13);
}

TEST_CASE("a block vector destroys each element once", "[block_vector]") {
  const auto held = std::make_shared<int>();
  {
    Elements elements;
    CHECK(elements.empty());
    for (int i = 0; i < 8; ++i) elements.emplace_back(i, held);
    CHECK(held.use_count() == 9);
    elements.pop_back();
    CHECK(held.use_count() == 8);
    CHECK(elements.erase_if([](const Element& element) { return element.number % 2 == 0; }) == 4);
    CHECK(numbers(elements) == std::vector{1, 3, 5});
    CHECK(held.use_count() == 4);
    elements.clear();
    CHECK(elements.empty());
    CHECK(held.use_count() == 1);
    for (int i = 0; i < 4; ++i) elements.emplace_back(i, held);
  }
  CHECK(held.use_count() == 1);
}

}  // namespace block_vector_test
}  // namespace namdb::reactor
