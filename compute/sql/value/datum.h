// One SQL value while a statement runs. The expression's type decides which member counts; a datum itself
// only knows whether it is NULL. Strings are borrowed: from the row, from the parameters, from the plan or
// from the statement's arena. A datum is small and is copied freely.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <memory_resource>
#include <span>
#include <string>
#include <string_view>

#include "compute/sql/value/decimal.h"
#include "compute/sql/value/interval_parts.h"

namespace namdb::sql {

struct Datum {
  bool null = true;
  std::uint8_t scale = 0;  // numeric
  // Integers, booleans, timestamps (µs since 2000-01-01), dates (days since then), times of day (µs since
  // midnight), and the µs of intervals.
  std::int64_t integer = 0;
  union {
    double real = 0;  // float4 and float8
    Int128 unscaled;  // numeric
    struct {
      std::int32_t months;
      std::int32_t days;
    } calendar;  // interval
  };
  std::string_view text;  // strings and bytes; char(n) with its trailing blanks

  // The value of a field of a record to which no row has been assigned; `record`: its name. As a parameter it
  // is an error (is_unassigned()); otherwise it is a NULL.
  static Datum unassigned(std::string_view record) {
    Datum datum;
    datum.scale = kUnassigned;
    datum.text = record;
    return datum;
  }
  bool is_unassigned() const { return null && scale == kUnassigned; }
  static constexpr std::uint8_t kUnassigned = 0xff;  // no numeric's scale

  // A value that does not lie in its row (common/layout/long_value.h): `text` is its packed place. Only
  // columns of rows have such values; evaluate() gives the value itself.
  static Datum of_place(std::string_view packed) {
    Datum datum = of_text(packed);
    datum.scale = kPlace;
    return datum;
  }
  bool is_place() const { return scale == kPlace && !null; }
  static constexpr std::uint8_t kPlace = 0xfe;  // likewise

  static Datum of_integer(std::int64_t value) {
    Datum datum;
    datum.null = false;
    datum.integer = value;
    return datum;
  }
  static Datum of_boolean(bool value) { return of_integer(value ? 1 : 0); }
  static Datum of_real(double value) {
    Datum datum;
    datum.null = false;
    datum.real = value;
    return datum;
  }
  static Datum of_decimal(const Decimal& value) {
    Datum datum;
    datum.null = false;
    datum.scale = static_cast<std::uint8_t>(value.scale);
    datum.unscaled = value.value;
    return datum;
  }
  static Datum of_interval(const Interval& value) {
    Datum datum = of_integer(value.time_us);
    datum.calendar = {value.months, value.days};
    return datum;
  }
  static Datum of_text(std::string_view value) {
    Datum datum;
    datum.null = false;
    datum.text = value;
    return datum;
  }
  Decimal decimal() const { return {unscaled, scale}; }
  Interval interval() const { return {calendar.months, calendar.days, integer}; }
  bool is_true() const { return !null && integer != 0; }
};

// Memory of the strings that expressions make, until the statement's next row.
class Arena {
 public:
  std::string_view copy(std::string_view text) {
    if (text.empty()) return {};
    char* bytes = allocate(text.size());
    std::memcpy(bytes, text.data(), text.size());
    return {bytes, text.size()};
  }
  char* allocate(std::size_t bytes) {
    allocated_bytes_ += bytes;
    return static_cast<char*>(resource_.allocate(bytes, 1));
  }
  // Copies of the values; the strings that they borrow are not copied.
  std::span<Datum> copy(std::span<const Datum> values) {
    allocated_bytes_ += values.size_bytes();
    auto* const place = static_cast<Datum*>(resource_.allocate(values.size_bytes(), alignof(Datum)));
    std::uninitialized_copy(values.begin(), values.end(), place);
    return {place, values.size()};
  }
  // The value with a copy of its string.
  Datum keep(Datum value) {
    if (!value.null) value.text = copy(value.text);
    return value;
  }
  // Copies of the values with copies of their strings.
  std::span<Datum> keep(std::span<const Datum> values) {
    const std::span<Datum> kept = copy(values);
    for (Datum& value : kept) value = keep(value);
    return kept;
  }
  // So many NULLs.
  std::span<Datum> make(std::size_t count) {
    allocated_bytes_ += count * sizeof(Datum);
    auto* const place = static_cast<Datum*>(resource_.allocate(count * sizeof(Datum), alignof(Datum)));
    std::uninitialized_default_construct_n(place, count);
    return {place, count};
  }
  void reset() {
    if (allocated_bytes_ == 0) return;
    allocated_bytes_ = 0;
    resource_.release();
  }
  std::size_t allocated_bytes() const { return allocated_bytes_; }

 private:
  std::size_t allocated_bytes_ = 0;
  std::pmr::monotonic_buffer_resource resource_{256};
};

}  // namespace namdb::sql
