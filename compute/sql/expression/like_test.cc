#include "compute/sql/expression/like.h"

#include <catch2/catch.hpp>
#include <string>

#include "common/base/random.h"
#include "compute/sql/value/characters.h"

namespace namdb::sql {
namespace {

// The definition, for short texts.
bool matches_by_definition(std::string_view text, std::string_view pattern) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] == '%') {
    for (std::size_t at = 0; at <= text.size(); ++at) {
      const bool boundary = at == text.size() || begins_character(text[at]);
      if (boundary && matches_by_definition(text.substr(at), pattern.substr(1))) return true;
    }
    return false;
  }
  if (text.empty()) return false;
  if (pattern[0] == '_') return matches_by_definition(text.substr(character_bytes(text)), pattern.substr(1));
  if (pattern[0] == '\\') pattern.remove_prefix(1);
  return pattern[0] == text[0] && matches_by_definition(text.substr(1), pattern.substr(1));
}

bool matches_in_turns(std::string_view text, std::string_view pattern, std::uint64_t turn_units,
                      std::size_t& turns) {
  Work work(turn_units);
  LikePosition position;
  bool matches = false;
  for (turns = 1;; ++turns) {
    const Status status = match_like(text, pattern, work, position, matches);
    if (!work.paused()) {
      REQUIRE(status.ok());
      return matches;
    }
    work.begin_turn();
  }
}

}  // namespace

TEST_CASE("LIKE answers as its definition says, however often it pauses", "[like]") {
  Random random(7);
  const std::array<std::string_view, 4> characters = {"a", "b", "ä", "%"};
  const std::array<std::string_view, 8> parts = {"a", "b", "ä", "_", "%", "%", "\\%", "\\a"};
  std::size_t matched = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    std::string pattern;
    for (std::uint64_t n = random.below(9); n > 0; --n) text += characters[random.below(4)];
    for (std::uint64_t n = random.below(8); n > 0; --n) pattern += parts[random.below(8)];
    const bool expected = matches_by_definition(text, pattern);
    matched += expected ? 1 : 0;
    CAPTURE(text, pattern);
    std::size_t turns = 0;
    REQUIRE(matches_in_turns(text, pattern, Work::kTurn_units, turns) == expected);
    REQUIRE(turns == 1);
    REQUIRE(matches_in_turns(text, pattern, 1, turns) == expected);
  }
  CHECK(matched > 1000);
}

TEST_CASE("LIKE looks at each byte a few times when there is no _ between two %", "[like]") {
  constexpr std::size_t kText_bytes = 1 << 20;
  const std::string text(kText_bytes, 'a');
  std::string many;
  for (int i = 0; i < 100'000; ++i) many += "%aa";
  for (const std::string& pattern :
       {'%' + std::string(kText_bytes / 2, 'a') + "b%", '%' + std::string(kText_bytes / 2, 'a') + 'b',
        "%a%" + std::string(kText_bytes / 2, 'a') + "b%", many + "%b%", std::string(kText_bytes, '%'),
        std::string(kText_bytes, '_')}) {
    std::size_t turns = 0;
    matches_in_turns(text, pattern, 2 * Work::kLikeStep_units * kText_bytes, turns);
    CHECK(turns == 1);
  }
}

TEST_CASE("a LIKE that takes long pauses", "[like]") {
  const std::string text(2000, 'a');
  std::size_t turns = 0;
  CHECK_FALSE(matches_in_turns(text, '%' + std::string(500, 'a') + "_b%", 1000, turns));
  CHECK(turns > 700);
}

TEST_CASE("a pattern must not end with its escape", "[like]") {
  Work work;
  LikePosition position;
  bool matches = false;
  CHECK(match_like("ab", "a\\", work, position, matches).code() == ErrorCode::invalid_escape_sequence);
  position = {};
  CHECK(match_like("ab", "%\\", work, position, matches).code() == ErrorCode::invalid_escape_sequence);
}

}  // namespace namdb::sql
