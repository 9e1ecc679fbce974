#include "common/layout/long_value.h"

#include <cstring>
#include <vector>

#include "common/base/check.h"

namespace namdb::layout {

bool can_be_long(const Column& column) {
  if (column.length_bytes < kLongValuePlace_bytes) return false;
  switch (column.type) {
    case ColumnType::text:
    case ColumnType::bytea:
    case ColumnType::json:
    case ColumnType::jsonb:
      return true;
    case ColumnType::varchar:
      return is_unbounded_varchar(column);
    default:
      return column.is_array();
  }
}

bool is_long(const RowView& row, std::uint32_t column) {
  if (!can_be_long(row.schema().columns()[column]) || row.is_null(column)) return false;
  std::uint16_t length = 0;
  std::memcpy(&length, row.wide(column), sizeof length);
  return length == kLongValueMark;
}

std::string_view long_value_place(const RowView& row, std::uint32_t column) {
  return row.text(column).substr(0, kLongValuePlace_bytes);
}

std::string pack(const LongValuePlace& place) {
  std::string packed(kLongValuePlace_bytes, '\0');
  std::memcpy(packed.data(), &place.length_bytes, 4);
  std::memcpy(packed.data() + 4, &place.table, 4);
  std::memcpy(packed.data() + 8, place.id.data(), kLongValueId_bytes);
  return packed;
}

LongValuePlace unpack_long_value_place(std::string_view packed) {
  NAMDB_CHECK(packed.size() == kLongValuePlace_bytes);
  LongValuePlace place;
  std::memcpy(&place.length_bytes, packed.data(), 4);
  std::memcpy(&place.table, packed.data() + 4, 4);
  std::memcpy(place.id.data(), packed.data() + 8, kLongValueId_bytes);
  return place;
}

void set_long_value(RowWriter writer, std::uint32_t column, std::string_view packed) {
  const Column& definition = writer.view().schema().columns()[column];
  NAMDB_CHECK(can_be_long(definition) && packed.size() == kLongValuePlace_bytes);
  std::vector<std::byte> field(definition.field_bytes());
  std::memcpy(field.data(), &kLongValueMark, sizeof kLongValueMark);
  std::memcpy(field.data() + 2, packed.data(), packed.size());
  writer.set_wide(column, field.data());
}

}  // namespace namdb::layout
