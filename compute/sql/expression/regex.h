// Regular expressions (~ and its like), by RE2: the time is linear in the text whatever the pattern is. Back
// references and looking around do not exist there.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"

namespace re2 {
class RE2;
}

namespace namdb::sql {

// So that a match is a short step, whatever the pattern is.
inline constexpr std::size_t kMaxRegexText_bytes = 256 << 10;
inline constexpr std::size_t kMaxRegexPattern_bytes = 4 << 10;
// The work of a byte of the text, in units of Work.
inline constexpr std::uint64_t kRegexByte_units = 8;

struct RegexOptions {
  bool ignores_case = false;
  bool lines = false;  // ^ and $ match at the ends of lines, and . does not match a line's end
};

// The parts of the text that a match and the groups of its pattern have. A group that has none has no bytes,
// and a null pointer to them.
struct RegexMatch {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::vector<std::string_view> groups;
};

// The compiled patterns of a statement, which uses the same ones for each row.
class RegexPatterns {
 public:
  RegexPatterns();
  ~RegexPatterns();
  RegexPatterns(RegexPatterns&&) noexcept;
  RegexPatterns& operator=(RegexPatterns&&) noexcept;

  // Whether a part of the text matches. invalid_regex; limit_exceeded: text or pattern are too long.
  Status match(std::string_view text, std::string_view pattern, bool ignores_case, bool& matches);
  // Finds the first match that begins at `from` or behind it, the longest one, or, of a pattern whose
  // quantifiers are not greedy, the shortest. feature_not_supported: it has quantifiers of both kinds.
  Status search(std::string_view text, std::string_view pattern, RegexOptions options, std::size_t from,
                RegexMatch& match, bool& found);
  void clear();

 private:
  const re2::RE2& find(std::string_view pattern, RegexOptions options, bool longest);

  absl::flat_hash_map<std::string, std::unique_ptr<re2::RE2>> patterns_;
};

}  // namespace namdb::sql
