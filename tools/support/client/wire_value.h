// Values of rows and procedures in PostgreSQL's wire forms: integers in binary, all else as text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/layout/row.h"
#include "common/layout/schema.h"
#include "compute/procedure/procedure.h"

namespace namdb::support {

// The parameters of one statement, in the arrays that libpq takes. Reusable; keeps its capacity.
class WireParameters {
 public:
  void clear();
  // `scale` is that of a numeric.
  void add(const procedure::Value& value, layout::ColumnType type, unsigned scale);
  void add(const layout::RowView& row, std::uint32_t column);

  int count() const { return static_cast<int>(lengths_.size()); }
  // Valid until the next add() or clear().
  const char* const* values();
  const int* lengths() const { return lengths_.data(); }
  const int* formats() const { return formats_.data(); }

 private:
  void add_null();
  void add_integer(std::int64_t value, layout::ColumnType type, unsigned scale);
  void add_text(std::string_view text);

  std::string bytes_;
  std::vector<std::ptrdiff_t> offsets_;  // -1: NULL
  std::vector<int> lengths_;
  std::vector<int> formats_;
  std::vector<const char*> values_;
};

// PostgreSQL's type number for parameters that are sent in binary; 0 leaves it to the server.
unsigned wire_type(layout::ColumnType type);

// "-12.30" of -1230 and scale 2.
std::string numeric_text(std::int64_t value, unsigned scale);
// The inverse; also reads integers. nullopt when the text is not a number or has more digits than fit. Digits
// beyond the scale must be zero.
std::optional<std::int64_t> parse_numeric(std::string_view text, unsigned scale);
// "2026-01-31 12:00:00.000001" of microseconds since 2000-01-01.
std::string timestamp_text(std::int64_t value_us);
// The inverse, with or without a fraction. nullopt when the text is not a point in time.
std::optional<std::int64_t> parse_timestamp(std::string_view text);

// Sets a column to what PostgreSQL's text format says. corrupt_data when it is not a value of the column.
Status set_from_text(layout::RowWriter row, std::uint32_t position, const layout::Column& column,
                     std::string_view text);

}  // namespace namdb::support
