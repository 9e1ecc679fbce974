// Values of more than a word as rows and keys of indexes hold them: intervals, and decimals with a scale of
// their own. Fields are little-endian without padding.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "common/layout/schema.h"
#include "common/layout/wide_bytes.h"

namespace namdb::layout {

// Numbers of at most so many digits are stored in a word; others are wide.
inline constexpr unsigned kMaxWordDigits = 18;

struct IntervalField {
  std::int64_t time_us = 0;
  std::int32_t days = 0;
  std::int32_t months = 0;
};
static_assert(sizeof(IntervalField) == kIntervalField_bytes);

// value / 10^scale; less than 10^38 in size.
struct DecimalField {
  __int128 value = 0;
  std::uint8_t scale = 0;
};

// The bytes of a field, of the length that its column says; the rest is zero.
using WideField = std::array<std::byte, kDecimalField_bytes>;

inline WideField wide_field(const IntervalField& interval) {
  WideField field{};
  std::memcpy(field.data(), &interval, sizeof interval);
  return field;
}

inline WideField wide_field(const DecimalField& decimal) {
  WideField field{};
  std::memcpy(field.data(), &decimal.value, sizeof decimal.value);
  field.back() = static_cast<std::byte>(decimal.scale);
  return field;
}

inline IntervalField interval_of(const std::byte* field) {
  IntervalField interval;
  std::memcpy(&interval, field, sizeof interval);
  return interval;
}

inline DecimalField decimal_of(const std::byte* field) {
  DecimalField decimal;
  std::memcpy(&decimal.value, field, sizeof decimal.value);
  decimal.scale = std::to_integer<std::uint8_t>(field[sizeof decimal.value]);
  return decimal;
}

// Bytes in the order of the values, equal where these are: months count 30 days, and 1.0 is 1.00. They do not
// tell the value's own form. Always wide_key_bytes() of them.
void append_wide_key(std::string& out, const Column& column, const std::byte* field);
std::uint32_t wide_key_bytes(const Column& column);

}  // namespace namdb::layout
