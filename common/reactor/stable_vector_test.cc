#include "common/reactor/stable_vector.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <ranges>
#include <utility>
#include <vector>

namespace namdb::reactor {
namespace {

struct Element {
  int number;
  std::shared_ptr<int> held;  // counts the elements that there are
};

std::vector<int> numbers(const StableVector<Element>& elements) {
  std::vector<int> all;
  for (const Element& element : elements) all.push_back(element.number);
  return all;
}

}  // namespace

static_assert(std::ranges::random_access_range<StableVector<Element>>);
static_assert(std::ranges::random_access_range<const StableVector<Element>>);
static_assert(std::is_convertible_v<StableVector<Element>::iterator, StableVector<Element>::const_iterator>);
static_assert(!std::is_convertible_v<StableVector<Element>::const_iterator, StableVector<Element>::iterator>);

TEST_CASE("elements of a stable vector stay where they are", "[stable_vector]") {
  const auto held = std::make_shared<int>();
  StableVector<Element> elements;
  std::vector<const Element*> places;
  for (int i = 0; i < 100; ++i) places.push_back(&elements.emplace_back(i, held));
  for (std::size_t i = 0; i < 100; ++i) CHECK(&elements[i] == places[i]);

  StableVector<Element> moved = std::move(elements);
  CHECK(elements.empty());  // NOLINT(bugprone-use-after-move)
  for (std::size_t i = 0; i < 100; ++i) CHECK(&moved[i] == places[i]);
  moved.erase_if([](const Element& element) { return element.number % 10 != 3; });
  REQUIRE(moved.size() == 10);
  for (std::size_t i = 0; i < 10; ++i) CHECK(&moved[i] == places[10 * i + 3]);
}

TEST_CASE("a stable vector destroys each element once", "[stable_vector]") {
  const auto held = std::make_shared<int>();
  {
    StableVector<Element> elements;
    for (int i = 0; i < 8; ++i) elements.push_back({i, held});
    CHECK(held.use_count() == 9);
    elements.pop_front();
    elements.erase_if([](const Element& element) { return element.number % 2 == 0; });
    CHECK(numbers(elements) == std::vector{1, 3, 5, 7});
    CHECK(held.use_count() == 5);
    StableVector<Element> others;
    others.push_back({9, held});
    others = std::move(elements);
    CHECK(held.use_count() == 5);
    others.clear();
    CHECK(others.empty());
    CHECK(held.use_count() == 1);
    others.push_back({10, held});
    CHECK(held.use_count() == 2);
  }
  CHECK(held.use_count() == 1);
}

TEST_CASE("a stable vector is searched like any range", "[stable_vector]") {
  StableVector<Element> elements;
  for (int i = 0; i < 20; ++i) elements.push_back({i, nullptr});
  CHECK(std::ranges::find(elements, 7, &Element::number) - elements.begin() == 7);
  CHECK(std::ranges::find(std::as_const(elements), 20, &Element::number) == elements.end());
  CHECK(std::ranges::lower_bound(elements, 12, {}, &Element::number)->number == 12);
  CHECK(elements.front().number == 0);
  CHECK(elements.back().number == 19);
  CHECK((elements.end() - 1)->number == 19);
}

}  // namespace namdb::reactor
