// LIKE: % matches any text, _ one character, and a backslash makes the next character literal.
#pragma once

#include <cstddef>
#include <string_view>

#include "common/base/error.h"
#include "compute/sql/expression/work.h"

namespace namdb::sql {

// The progress of a match. A new match begins at the start of both strings.
struct LikePosition {
  std::size_t text = 0;
  std::size_t pattern = 0;
  // The part of the pattern behind the last %, and the place in the text where it was tried last: the match
  // goes on from there when that part does not fit. npos: there was no %.
  std::size_t retry_pattern = std::string_view::npos;
  std::size_t retry_text = 0;
};

// Matches a text and a pattern in UTF-8, in linear time, except for parts of the pattern between two % that
// contain _: such a part may take its length times the text's, and the work is paused then (Work::paused());
// `position` is where to go on. Error invalid_escape_sequence.
Status match_like(std::string_view text, std::string_view pattern, Work& work, LikePosition& position,
                  bool& matches);

}  // namespace namdb::sql
