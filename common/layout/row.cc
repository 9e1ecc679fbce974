#include "common/layout/row.h"

#include <limits>

#include "common/layout/real_value.h"

namespace namdb::layout {
namespace {

constexpr std::int64_t power_of_ten(unsigned exponent) {
  std::int64_t value = 1;
  while (exponent-- > 0) value *= 10;
  return value;
}

bool fits(const Column& column, std::int64_t value) {
  const auto within = [value](std::int64_t low, std::int64_t high) { return value >= low && value <= high; };
  switch (column.type) {
    case ColumnType::integer:
    case ColumnType::date:
      return within(std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max());
    case ColumnType::smallint:
      return within(std::numeric_limits<std::int16_t>::min(), std::numeric_limits<std::int16_t>::max());
    case ColumnType::boolean:
      return within(0, 1);
    case ColumnType::numeric: {
      const std::int64_t bound = power_of_ten(column.precision);
      return within(1 - bound, bound - 1);
    }
    default:
      return true;
  }
}

}  // namespace

std::int64_t RowView::integer(std::uint32_t column) const {
  switch (schema_->columns()[column].type) {
    case ColumnType::integer:
    case ColumnType::date:
      return load<std::int32_t>(column);
    case ColumnType::smallint:
      return load<std::int16_t>(column);
    case ColumnType::boolean:
      return load<std::uint8_t>(column);
    default:
      return load<std::int64_t>(column);
  }
}

double RowView::real(std::uint32_t column) const {
  return schema_->columns()[column].type == ColumnType::real ? static_cast<double>(load<float>(column))
                                                             : load<double>(column);
}

std::string_view RowView::text(std::uint32_t column) const {
  const std::size_t length =
      std::min<std::size_t>(load<std::uint16_t>(column), schema_->columns()[column].length_bytes);
  return {reinterpret_cast<const char*>(bytes_.data() + schema_->field_offset(column) + 2), length};
}

void RowWriter::mark(std::uint32_t column, bool null) {
  const auto bit = static_cast<std::byte>(1U << (column % 8));
  if (null) {
    bytes_[column / 8] |= bit;
  } else {
    bytes_[column / 8] &= ~bit;
  }
}

void RowWriter::set_null(std::uint32_t column) {
  mark(column, true);
  std::memset(bytes_.data() + schema_->field_offset(column), 0, schema_->columns()[column].field_bytes());
}

Status RowWriter::set_integer(std::uint32_t column, std::int64_t value) {
  Status status =
      store_integer(schema_->columns()[column], bytes_.data() + schema_->field_offset(column), value);
  if (status.ok()) mark(column, false);
  return status;
}

void RowWriter::set_real(std::uint32_t column, double value) {
  mark(column, false);
  store_real(schema_->columns()[column], bytes_.data() + schema_->field_offset(column), value);
}

Status RowWriter::set_text(std::uint32_t column, std::string_view value) {
  Status status =
      store_text(schema_->columns()[column], bytes_.data() + schema_->field_offset(column), value);
  if (status.ok()) mark(column, false);
  return status;
}

void RowWriter::set_wide(std::uint32_t column, const std::byte* field) {
  mark(column, false);
  std::memcpy(bytes_.data() + schema_->field_offset(column), field, schema_->columns()[column].field_bytes());
}

Status store_integer(const Column& column, std::byte* field, std::int64_t value) {
  if (!fits(column, value)) {
    if (column.type == ColumnType::numeric) {
      return Status(ErrorCode::numeric_out_of_range,
                    "numeric field overflow in column \"" + column.name + "\"");
    }
    return Status(ErrorCode::numeric_out_of_range, std::string(column_type_name(column.type)) +
                                                       " out of range in column \"" + column.name + "\"");
  }
  // Little-endian: the low bytes of the word are the value in every width.
  std::memcpy(field, &value, column.field_bytes());
  return {};
}

void store_real(const Column& column, std::byte* field, double value) {
  value = stored_real(column, value);
  if (column.type == ColumnType::real) {
    const auto single = static_cast<float>(value);
    std::memcpy(field, &single, sizeof single);
  } else {
    std::memcpy(field, &value, sizeof value);
  }
}

Status store_text(const Column& column, std::byte* field, std::string_view value) {
  if (column.type == ColumnType::character) {
    while (!value.empty() && value.back() == ' ') value.remove_suffix(1);
  }
  if (value.size() > column.length_bytes) {
    return Status(ErrorCode::string_too_long, "value too long for column \"" + column.name + "\" of type " +
                                                  std::string(column_type_name(column.type)) + "(" +
                                                  std::to_string(column.length_bytes) + ")");
  }
  std::memset(field, 0, column.field_bytes());
  const auto length = static_cast<std::uint16_t>(value.size());
  std::memcpy(field, &length, 2);
  value.copy(reinterpret_cast<char*>(field) + 2, value.size());  // may be null, of no length
  return {};
}

}  // namespace namdb::layout
