// UTF-8 as a terminal shows it: columns instead of bytes, and nothing that a terminal would obey.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace namdb::namsql {

struct CodePoint {
  std::uint32_t value = 0;
  std::size_t bytes = 0;  // 1 for a byte that belongs to no code point
  bool valid = false;
};

// The first code point of a text that is not empty.
CodePoint first_code_point(std::string_view text);

// Columns of one code point: 0 for marks that are put on the one before, 2 for wide ones of East Asia and for
// pictures, else 1.
std::size_t width_of(std::uint32_t code_point);

// Columns of a text without control characters.
std::size_t display_width(std::string_view text);

// The text as it may be sent to a terminal: tabs are filled up to the next multiple of 8 columns, other
// control characters and bytes that are not UTF-8 are written as \x1B. Line ends stay with LineEnds::keep.
enum class LineEnds : std::uint8_t { keep, escape };
std::string printable(std::string_view text, LineEnds line_ends = LineEnds::escape);

}  // namespace namdb::namsql
