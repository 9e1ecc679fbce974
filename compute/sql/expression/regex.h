// Regular expressions (~ and its like), by RE2: the time is linear in the text whatever the pattern is. Back
// references and looking around do not exist there.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

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

// The compiled patterns of a statement, which uses the same ones for each row.
class RegexPatterns {
 public:
  RegexPatterns();
  ~RegexPatterns();
  RegexPatterns(RegexPatterns&&) noexcept;
  RegexPatterns& operator=(RegexPatterns&&) noexcept;

  // Whether a part of the text matches. invalid_regex; limit_exceeded: text or pattern are too long.
  Status match(std::string_view text, std::string_view pattern, bool ignores_case, bool& matches);
  void clear();

 private:
  const re2::RE2& find(std::string_view pattern, bool ignores_case);

  absl::flat_hash_map<std::string, std::unique_ptr<re2::RE2>> patterns_;
};

}  // namespace namdb::sql
