#include "common/layout/wide_value.h"

namespace namdb::layout {
namespace {

using UInt128 = unsigned __int128;

constexpr std::uint32_t kIntervalKey_bytes = 16;
// The sign, the exponent, 38 digits.
constexpr std::uint32_t kDecimalKey_bytes = 1 + 2 + 16;
constexpr int kDigits = 38;

void append_bytes(std::string& out, UInt128 value, unsigned width_bytes) {
  for (unsigned i = width_bytes; i > 0; --i) out.push_back(static_cast<char>(value >> (8 * (i - 1))));
}

void append_interval_key(std::string& out, const IntervalField& interval) {
  constexpr std::int64_t kDayOfKey_us = std::int64_t{86'400} * 1'000'000;
  const __int128 size_us =
      (static_cast<__int128>(interval.months) * 30 + interval.days) * kDayOfKey_us + interval.time_us;
  append_bytes(out, static_cast<UInt128>(size_us) ^ (UInt128{1} << 127), kIntervalKey_bytes);
}

void append_decimal_key(std::string& out, const DecimalField& decimal) {
  constexpr char kMinus = 0;
  constexpr char kZero = 1;
  constexpr char kPlus = 2;
  const bool negative = decimal.value < 0;
  out.push_back(decimal.value == 0 ? kZero : negative ? kMinus : kPlus);
  UInt128 digits =
      negative ? UInt128{0} - static_cast<UInt128>(decimal.value) : static_cast<UInt128>(decimal.value);
  // 0.d1d2d3... times 10^exponent.
  int exponent = -static_cast<int>(decimal.scale);
  int count = 0;
  for (UInt128 rest = digits; rest != 0; rest /= 10) ++count;
  exponent += count;
  for (; digits != 0 && count < kDigits; ++count) digits *= 10;
  UInt128 order = digits == 0 ? 0 : static_cast<UInt128>(exponent + 0x8000);
  if (negative) {
    order = ~order;
    digits = ~digits;
  }
  append_bytes(out, order, 2);
  append_bytes(out, digits, 16);
}

}  // namespace

void append_wide_key(std::string& out, const Column& column, const std::byte* field) {
  if (column.type == ColumnType::interval) {
    append_interval_key(out, interval_of(field));
  } else {
    append_decimal_key(out, decimal_of(field));
  }
}

std::uint32_t wide_key_bytes(const Column& column) {
  return column.type == ColumnType::interval ? kIntervalKey_bytes : kDecimalKey_bytes;
}

}  // namespace namdb::layout
