#include "tools/namsql/utf8.h"

#include <algorithm>
#include <iterator>
#include <span>

namespace namdb::namsql {
namespace {

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};

// In order. Marks that combine with the character before, and characters without a shape.
constexpr Range kWithoutWidth[] = {
    {0x0300, 0x036F}, {0x0483, 0x0489},   {0x0591, 0x05BD},   {0x0610, 0x061A}, {0x064B, 0x065F},
    {0x0900, 0x0902}, {0x093C, 0x093C},   {0x0941, 0x0948},   {0x094D, 0x094D}, {0x0E31, 0x0E31},
    {0x0E34, 0x0E3A}, {0x0E47, 0x0E4E},   {0x1AB0, 0x1AFF},   {0x1DC0, 0x1DFF}, {0x200B, 0x200F},
    {0x202A, 0x202E}, {0x2060, 0x2064},   {0x20D0, 0x20F0},   {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F},
    {0xFEFF, 0xFEFF}, {0x1F3FB, 0x1F3FF}, {0xE0100, 0xE01EF},
};
constexpr Range kWide[] = {
    {0x1100, 0x115F},   {0x231A, 0x231B}, {0x23E9, 0x23EC},   {0x2614, 0x2615},   {0x2648, 0x2653},
    {0x26A1, 0x26A1},   {0x26BD, 0x26BE}, {0x2705, 0x2705},   {0x270A, 0x270B},   {0x2728, 0x2728},
    {0x274C, 0x274C},   {0x2753, 0x2755}, {0x2757, 0x2757},   {0x2795, 0x2797},   {0x2B1B, 0x2B1C},
    {0x2B50, 0x2B50},   {0x2B55, 0x2B55}, {0x2E80, 0x303E},   {0x3041, 0x33FF},   {0x3400, 0x4DBF},
    {0x4E00, 0xA4CF},   {0xA960, 0xA97F}, {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},
    {0xFF01, 0xFF60},   {0xFFE0, 0xFFE6}, {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF},
    {0x20000, 0x3FFFD},
};

bool contains(std::span<const Range> ranges, std::uint32_t code_point) {
  const auto behind =
      std::upper_bound(ranges.begin(), ranges.end(), code_point,
                       [](std::uint32_t value, const Range& range) { return value < range.first; });
  return behind != ranges.begin() && code_point <= std::prev(behind)->last;
}

bool is_control(std::uint32_t code_point) {
  return code_point < 0x20 || (code_point >= 0x7F && code_point < 0xA0);
}

void append_escaped(std::string& out, std::string_view bytes) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    out += "\\x";
    out += kDigits[value >> 4];
    out += kDigits[value & 15];
  }
}

}  // namespace

CodePoint first_code_point(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i]));
  };
  const std::uint32_t first = byte(0);
  if (first < 0x80) return {first, 1, true};
  const CodePoint broken{first, 1, false};
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC2 ? 2 : 0;
  if (length == 0 || first > 0xF4 || text.size() < length) return broken;
  std::uint32_t value = first & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return broken;
    value = value << 6 | (byte(i) & 0x3F);
  }
  const std::uint32_t smallest = length == 2 ? 0x80 : length == 3 ? 0x800 : 0x10000;
  if (value < smallest || value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) return broken;
  return {value, length, true};
}

std::size_t width_of(std::uint32_t code_point) {
  if (code_point < 0x300) return 1;
  if (contains(kWithoutWidth, code_point)) return 0;
  return contains(kWide, code_point) ? 2 : 1;
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    width += point.valid ? width_of(point.value) : 1;
    text.remove_prefix(point.bytes);
  }
  return width;
}

std::string printable(std::string_view text, LineEnds line_ends) {
  std::string out;
  out.reserve(text.size());
  std::size_t column = 0;
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    const std::string_view bytes = text.substr(0, point.bytes);
    text.remove_prefix(point.bytes);
    if (point.value == '\n' && line_ends == LineEnds::keep) {
      out += '\n';
      column = 0;
    } else if (point.value == '\t') {
      const std::size_t blanks = 8 - column % 8;
      out.append(blanks, ' ');
      column += blanks;
    } else if (point.value == '\r' && point.valid) {
      out += "\\r";
      column += 2;
    } else if (!point.valid || is_control(point.value)) {
      append_escaped(out, bytes);
      column += 4 * bytes.size();
    } else {
      out += bytes;
      column += width_of(point.value);
    }
  }
  return out;
}

}  // namespace namdb::namsql
