#include "memory/region/visibility.h"

#include <catch2/catch.hpp>
#include <initializer_list>
#include <string>

#include "common/layout/words.h"

namespace namdb::memory {
namespace visibility_test {

constexpr std::uint32_t kSlot = layout::kFirstLeasedSlot;

std::string copy_of(std::initializer_list<layout::HeaderWord> words) {
  std::string bytes(words.size() * 8, '\0');
  std::byte* at = reinterpret_cast<std::byte*>(bytes.data());
  for (const layout::HeaderWord word : words) {
    layout::store_word(at, word.value());
    at += 8;
  }
  return bytes;
}

layout::HeaderWord word(std::uint32_t slot, std::uint32_t counter) {
  return layout::HeaderWord(layout::Stamp{slot, counter});
}

TEST_CASE("commits are published up to the greatest counter of any copy", "[visibility]") {
  CopiedVisibility visibility;
  CHECK_FALSE(visibility.published({kSlot, 1}));
  CHECK(visibility.published({kSlot - 1, 1}));  // of a slot that nobody leases
  REQUIRE(visibility.learn(copy_of({word(kSlot + 1, 5), word(kSlot, 7)})));
  // A copy that was taken earlier arrives later.
  REQUIRE(visibility.learn(copy_of({word(kSlot + 1, 6), word(kSlot, 3)})));
  CHECK(visibility.published({kSlot, 7}));
  CHECK_FALSE(visibility.published({kSlot, 8}));
  CHECK(visibility.published({kSlot + 1, 6}));
  CHECK_FALSE(visibility.published({kSlot + 1, 7}));
}

TEST_CASE("all commits of a slot are published once the last copy has a later slot and not this one",
          "[visibility]") {
  CopiedVisibility visibility;
  REQUIRE(visibility.learn(copy_of({word(kSlot + 2, 1), layout::HeaderWord(), word(kSlot, 4)})));
  CHECK(visibility.published({kSlot + 1, 100}));
  CHECK_FALSE(visibility.published({kSlot, 5}));
  CHECK_FALSE(visibility.published({kSlot + 3, 1}));
  REQUIRE(visibility.learn(copy_of({word(kSlot + 2, 1)})));
  CHECK(visibility.published({kSlot, 5}));
  // An empty copy says nothing of slots that it lacks.
  REQUIRE(visibility.learn(""));
  CHECK(visibility.published({kSlot, 4}));
  CHECK_FALSE(visibility.published({kSlot, 5}));
}

TEST_CASE("bytes that are not a copy of the vector change nothing", "[visibility]") {
  CopiedVisibility visibility;
  REQUIRE(visibility.learn(copy_of({word(kSlot, 4), word(kSlot + 1, 4)})));
  const layout::Stamp later{kSlot, 9};
  for (const layout::HeaderWord wrong :
       {layout::HeaderWord(later, true), layout::HeaderWord(later, false, true),
        layout::HeaderWord(later, false, false, true)}) {
    CHECK_FALSE(visibility.learn(copy_of({word(kSlot + 2, 9), wrong})));
  }
  CHECK_FALSE(visibility.learn(copy_of({word(kSlot + 2, 9)}).substr(1)));
  CHECK(visibility.published({kSlot, 4}));
  CHECK_FALSE(visibility.published({kSlot, 5}));
  CHECK_FALSE(visibility.published({kSlot + 2, 9}));
}

}  // namespace visibility_test
}  // namespace namdb::memory
