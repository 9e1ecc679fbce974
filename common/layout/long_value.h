// A value that is too long for its column's field in the row (schema.h). The field then says where its bytes
// are, which lie in rows of another table (docs/internals/long-values.md):
//   0   0xffff, where a value that lies in the row has its length
//   2   u32 the value's length
//   6   u32 the number of the table that has its bytes
//  10   16 bytes, the value's id: no other value ever has it
//  26   zero bytes up to the end of the field
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/layout/row.h"

namespace namdb::layout {

// The place of a value: bytes 2 to 26 of the field.
inline constexpr std::uint32_t kLongValuePlace_bytes = 24;
inline constexpr std::uint32_t kLongValueId_bytes = 16;
inline constexpr std::uint16_t kLongValueMark = 0xffff;

struct LongValuePlace {
  std::uint32_t length_bytes = 0;
  std::uint32_t table = 0;
  std::array<char, kLongValueId_bytes> id{};

  std::string_view id_bytes() const { return {id.data(), id.size()}; }
  friend bool operator==(const LongValuePlace&, const LongValuePlace&) = default;
};

// A varchar without a declared length: its length_bytes are only the room in the row.
inline constexpr std::uint8_t kUnboundedVarchar = 1;  // Column::precision
inline bool is_unbounded_varchar(const Column& column) {
  return column.type == ColumnType::varchar && column.precision == kUnboundedVarchar;
}

// Values of the column may be longer than its field.
bool can_be_long(const Column& column);
// Whether the row's value of that column, of whatever type, is not in the row.
bool is_long(const RowView& row, std::uint32_t column);

// The place of a value that is_long(), as it stands in the field; valid as long as the row.
std::string_view long_value_place(const RowView& row, std::uint32_t column);
std::string pack(const LongValuePlace& place);
// `packed` has kLongValuePlace_bytes.
LongValuePlace unpack_long_value_place(std::string_view packed);
// Makes it the value of a column that can_be_long().
void set_long_value(RowWriter writer, std::uint32_t column, std::string_view packed);

}  // namespace namdb::layout
