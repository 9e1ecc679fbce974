// A table's columns and where each lies in a row. Compute servers and the catalog share it; the memory
// server itself only knows the payload's length.
//
// A row (the payload of a body, record.h) is
//   null bitmap: one bit a column, in whole 8-byte words; 1 = NULL
//   the columns of the primary key, in key order, without gaps: the key bytes
//   the other columns, in table order
//   zero bytes up to a multiple of 8
// Fixed-size types are little-endian. Strings, and bytes of any other meaning, are a 2-byte length and a
// field of the declared maximum, zero-filled, so that equal keys are equal bytes. NULL columns are
// zero-filled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"

namespace namdb::layout {

enum class ColumnType : std::uint8_t {
  bigint = 1,  // int64
  integer,     // int32
  smallint,    // int16
  boolean,     // one byte, 0 or 1
  double_precision,
  numeric,                   // int64 scaled by 10^scale; precision at most 18
  character,                 // char(n): trailing blanks are dropped when stored and added when shown
  varchar,                   // varchar(n): n bytes of UTF-8
  text,                      // text: 256 bytes unless declared otherwise
  timestamp,                 // int64 microseconds since 2000-01-01
  date,                      // int32 days since 2000-01-01
  time,                      // int64 microseconds since midnight
  timestamp_with_time_zone,  // int64 microseconds since 2000-01-01 in UTC
  real,                      // IEEE single precision
  uuid,                      // 16 bytes
  bytea,                     // 256 bytes unless declared otherwise
  json,                      // likewise
  interval,                  // months, days and microseconds (wide_value.h)
  decimal,                   // numeric without a precision, or of one above 18 (wide_value.h)
  jsonb,                     // its normal form as a text; 256 bytes unless declared otherwise
  // Arrays of one dimension: the bytes of their elements; likewise.
  boolean_array,
  smallint_array,
  integer_array,
  bigint_array,
  real_array,
  double_precision_array,
  numeric_array,
  text_array,
  varchar_array,
  timestamp_array,
  timestamp_with_time_zone_array,
  date_array,
  time_array,
  interval_array,
  uuid_array,
  bytea_array,
  json_array,
  jsonb_array,
  time_with_time_zone,  // int64 in the order of such times: of UTC, then of offsets
  time_with_time_zone_array,
};

std::string_view column_type_name(ColumnType type);  // PostgreSQL's name
std::optional<ColumnType> column_type_from_code(std::uint32_t code);

inline constexpr std::uint32_t kDefaultText_bytes = 256;
inline constexpr std::uint32_t kUuid_bytes = 16;
inline constexpr std::uint32_t kMaxString_bytes = 16 * 1024;
inline constexpr std::uint32_t kMaxColumns = 512;

struct Column {
  std::string name;
  ColumnType type = ColumnType::bigint;
  // Strings and bytes: the maximum. Interval: its fields and digits, as SQL encodes them; 0: all. Else 0.
  std::uint32_t length_bytes = 0;
  std::uint8_t precision = 0;  // numeric; decimal, where 0 means undeclared
  std::uint8_t scale = 0;      // numeric, decimal
  bool not_null = false;
  std::optional<std::string> default_text;  // in the type's text form

  // Its value has any number of bytes up to a maximum: RowView::text().
  bool is_string() const {
    return type == ColumnType::character || type == ColumnType::varchar || type == ColumnType::text ||
           type == ColumnType::uuid || type == ColumnType::bytea || type == ColumnType::json ||
           type == ColumnType::jsonb || is_array();
  }
  bool is_array() const {
    return (type >= ColumnType::boolean_array && type <= ColumnType::jsonb_array) ||
           type == ColumnType::time_with_time_zone_array;
  }
  // Its value is a field of several words: RowView::wide().
  bool is_wide() const { return type == ColumnType::interval || type == ColumnType::decimal; }
  // Equal values are equal bytes: it can be in a primary key, and in a hash index.
  bool can_be_key() const { return !is_wide() && !is_array() && type != ColumnType::jsonb; }
  // Its value is a floating-point number: RowView::real().
  bool is_real() const { return type == ColumnType::double_precision || type == ColumnType::real; }
  // Bytes in a row: fixed size, or 2 + length_bytes.
  std::uint32_t field_bytes() const;
};

class Schema {
 public:
  Schema() = default;
  // `key` holds column positions in key order, at least one, without repetition. Key columns become NOT NULL.
  // `partition` names some of them, without repetition: their values alone decide on a row's memory server
  // (placement.h). Empty: all of the key does.
  // Error invalid_table_definition or limit_exceeded when the row would not fit a record.
  static Result<Schema> create(std::vector<Column> columns, std::vector<std::uint32_t> key,
                               std::vector<std::uint32_t> partition = {});

  const std::vector<Column>& columns() const { return columns_; }
  const std::vector<std::uint32_t>& key() const { return key_; }
  const std::vector<std::uint32_t>& partition() const { return partition_; }
  // Rows with the same values in the partition columns, of which there are some, are in one bucket chain
  // (placement.h), not only on one memory server.
  void chain_by_partition() { chained_ = true; }
  bool chained() const { return chained_; }
  std::optional<std::uint32_t> find(std::string_view name) const;
  bool is_key_column(std::uint32_t column) const { return key_position_[column] >= 0; }
  // Where in the key bytes the column comes: 0, 1, ...; -1 when it is not in the key.
  int key_position(std::uint32_t column) const { return key_position_[column]; }

  // Offset of the column's field in the row, after the null bitmap.
  std::uint32_t field_offset(std::uint32_t column) const { return offsets_[column]; }
  std::uint32_t key_offset() const { return key_offset_; }
  std::uint32_t key_bytes() const { return key_bytes_; }
  // Multiple of 8.
  std::uint32_t row_bytes() const { return row_bytes_; }

 private:
  std::vector<Column> columns_;
  std::vector<std::uint32_t> key_;
  std::vector<std::uint32_t> partition_;
  std::vector<int> key_position_;
  std::vector<std::uint32_t> offsets_;
  std::uint32_t key_offset_ = 0;
  std::uint32_t key_bytes_ = 0;
  std::uint32_t row_bytes_ = 0;
  bool chained_ = false;
};

}  // namespace namdb::layout
