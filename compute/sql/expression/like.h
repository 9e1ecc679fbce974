// LIKE: % any text, _ one character, backslash takes the next one literally.
#pragma once

#include <cstddef>
#include <string_view>

#include "common/base/error.h"
#include "compute/sql/expression/work.h"

namespace namdb::sql {

// How far a match is; a new one begins at the start of both.
struct LikePosition {
  std::size_t text = 0;
  std::size_t pattern = 0;
  // Where to go on when the part of the pattern behind the last % does not fit: the part, and the place in
  // the text where it was tried last. npos: there was no %.
  std::size_t retry_pattern = std::string_view::npos;
  std::size_t retry_text = 0;
};

// Both are UTF-8. Linear but for parts of the pattern between two % that contain _: those may take their
// length times the text's, and then the work is paused: Work::paused(), and `position` is where to go on.
// Otherwise invalid_escape_sequence or the answer.
Status match_like(std::string_view text, std::string_view pattern, Work& work, LikePosition& position,
                  bool& matches);

}  // namespace namdb::sql
