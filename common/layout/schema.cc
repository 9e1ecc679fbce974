#include "common/layout/schema.h"

#include <algorithm>

#include "common/layout/record.h"
#include "common/layout/wide_bytes.h"

namespace namdb::layout {

std::string_view column_type_name(ColumnType type) {
  switch (type) {
    case ColumnType::bigint:
      return "bigint";
    case ColumnType::integer:
      return "integer";
    case ColumnType::smallint:
      return "smallint";
    case ColumnType::boolean:
      return "boolean";
    case ColumnType::double_precision:
      return "double precision";
    case ColumnType::numeric:
      return "numeric";
    case ColumnType::character:
      return "character";
    case ColumnType::varchar:
      return "character varying";
    case ColumnType::text:
      return "text";
    case ColumnType::timestamp:
      return "timestamp without time zone";
    case ColumnType::date:
      return "date";
    case ColumnType::time:
      return "time without time zone";
    case ColumnType::timestamp_with_time_zone:
      return "timestamp with time zone";
    case ColumnType::real:
      return "real";
    case ColumnType::uuid:
      return "uuid";
    case ColumnType::bytea:
      return "bytea";
    case ColumnType::json:
      return "json";
    case ColumnType::interval:
      return "interval";
    case ColumnType::decimal:
      return "numeric";
    case ColumnType::jsonb:
      return "jsonb";
    case ColumnType::boolean_array:
      return "boolean[]";
    case ColumnType::smallint_array:
      return "smallint[]";
    case ColumnType::integer_array:
      return "integer[]";
    case ColumnType::bigint_array:
      return "bigint[]";
    case ColumnType::real_array:
      return "real[]";
    case ColumnType::double_precision_array:
      return "double precision[]";
    case ColumnType::numeric_array:
      return "numeric[]";
    case ColumnType::text_array:
      return "text[]";
    case ColumnType::varchar_array:
      return "character varying[]";
    case ColumnType::timestamp_array:
      return "timestamp without time zone[]";
    case ColumnType::timestamp_with_time_zone_array:
      return "timestamp with time zone[]";
    case ColumnType::date_array:
      return "date[]";
    case ColumnType::time_array:
      return "time without time zone[]";
    case ColumnType::interval_array:
      return "interval[]";
    case ColumnType::uuid_array:
      return "uuid[]";
    case ColumnType::bytea_array:
      return "bytea[]";
    case ColumnType::json_array:
      return "json[]";
    case ColumnType::jsonb_array:
      return "jsonb[]";
    case ColumnType::time_with_time_zone:
      return "time with time zone";
    case ColumnType::time_with_time_zone_array:
      return "time with time zone[]";
  }
  return "unknown";
}

std::optional<ColumnType> column_type_from_code(std::uint32_t code) {
  if (code < static_cast<std::uint32_t>(ColumnType::bigint) ||
      code > static_cast<std::uint32_t>(ColumnType::time_with_time_zone_array)) {
    return std::nullopt;
  }
  return static_cast<ColumnType>(code);
}

std::uint32_t Column::field_bytes() const {
  switch (type) {
    case ColumnType::integer:
    case ColumnType::date:
    case ColumnType::real:
      return 4;
    case ColumnType::smallint:
      return 2;
    case ColumnType::boolean:
      return 1;
    case ColumnType::interval:
      return kIntervalField_bytes;
    case ColumnType::decimal:
      return kDecimalField_bytes;
    default:
      return is_string() ? 2 + length_bytes : 8;
  }
}

Result<Schema> Schema::create(std::vector<Column> columns, std::vector<std::uint32_t> key,
                              std::vector<std::uint32_t> partition) {
  if (columns.empty())
    return Status(ErrorCode::invalid_table_definition, "a table needs at least one column");
  if (columns.size() > kMaxColumns) {
    return Status(ErrorCode::limit_exceeded,
                  "tables can have at most " + std::to_string(kMaxColumns) + " columns");
  }
  if (key.empty()) return Status(ErrorCode::invalid_table_definition, "a table needs a primary key");
  Schema schema;
  schema.key_position_.assign(columns.size(), -1);
  schema.offsets_.assign(columns.size(), 0);
  for (Column& column : columns) {
    if (!column.is_string()) continue;
    if (column.type == ColumnType::uuid) column.length_bytes = kUuid_bytes;
    if (column.length_bytes == 0) column.length_bytes = kDefaultText_bytes;
    if (column.length_bytes > kMaxString_bytes) {
      return Status(ErrorCode::limit_exceeded, "column \"" + column.name + "\" is longer than " +
                                                   std::to_string(kMaxString_bytes) + " bytes");
    }
  }
  schema.key_offset_ = static_cast<std::uint32_t>((columns.size() + 63) / 64 * 8);
  std::uint32_t offset = schema.key_offset_;
  for (std::size_t i = 0; i < key.size(); ++i) {
    const std::uint32_t column = key[i];
    if (column >= columns.size() || schema.key_position_[column] >= 0) {
      return Status(ErrorCode::invalid_table_definition,
                    "the primary key names a column twice or one that is not there");
    }
    if (!columns[column].can_be_key()) {
      return Status(ErrorCode::feature_not_supported,
                    "a primary key with a column of type " +
                        std::string(column_type_name(columns[column].type)) + " is not supported");
    }
    schema.key_position_[column] = static_cast<int>(i);
    columns[column].not_null = true;
    schema.offsets_[column] = offset;
    offset += columns[column].field_bytes();
  }
  schema.key_bytes_ = offset - schema.key_offset_;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (schema.key_position_[i] >= 0) continue;
    schema.offsets_[i] = offset;
    offset += columns[i].field_bytes();
  }
  schema.row_bytes_ = (offset + 7) & ~7U;
  if (schema.row_bytes_ > kMaxPayload_bytes) {
    return Status(ErrorCode::limit_exceeded,
                  "a row would take " + std::to_string(schema.row_bytes_) + " bytes; at most " +
                      std::to_string(kMaxPayload_bytes) + " fit",
                  "declare shorter strings");
  }
  for (std::size_t i = 0; i < partition.size(); ++i) {
    const std::uint32_t column = partition[i];
    const bool twice = std::find(partition.begin(), partition.begin() + static_cast<std::ptrdiff_t>(i),
                                 column) != partition.begin() + static_cast<std::ptrdiff_t>(i);
    if (column >= columns.size() || schema.key_position_[column] < 0 || twice) {
      return Status(ErrorCode::invalid_table_definition,
                    "a table is partitioned by columns of its primary key, each named once");
    }
  }
  schema.columns_ = std::move(columns);
  schema.partition_ = std::move(partition);
  schema.key_ = std::move(key);
  return schema;
}

std::optional<std::uint32_t> Schema::find(std::string_view name) const {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].name == name) return static_cast<std::uint32_t>(i);
  }
  return std::nullopt;
}

}  // namespace namdb::layout
