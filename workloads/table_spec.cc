#include "workloads/table_spec.h"

#include <utility>

#include "common/base/check.h"

namespace namdb::workloads {
namespace {

using layout::Column;
using layout::ColumnType;

std::string type_sql(const Column& column) {
  std::string sql(layout::column_type_name(column.type));
  switch (column.type) {
    case ColumnType::numeric:
      return "numeric(" + std::to_string(column.precision) + "," + std::to_string(column.scale) + ")";
    case ColumnType::character:
      return "char(" + std::to_string(column.length_bytes) + ")";
    case ColumnType::varchar:
      return "varchar(" + std::to_string(column.length_bytes) + ")";
    case ColumnType::timestamp:
      return "timestamp";
    default:
      return sql;
  }
}

Column column_of(std::string name, ColumnType type, std::uint32_t length_bytes = 0) {
  Column column;
  column.name = std::move(name);
  column.type = type;
  column.length_bytes = length_bytes;
  return column;
}

}  // namespace

layout::Schema TableSpec::schema() const {
  Result<layout::Schema> result = layout::Schema::create(columns, key, partition);
  NAMDB_CHECK(result.ok());
  return std::move(result).value();
}

Column bigint_column(std::string name) {
  return column_of(std::move(name), ColumnType::bigint);
}
Column integer_column(std::string name) {
  return column_of(std::move(name), ColumnType::integer);
}
Column smallint_column(std::string name) {
  return column_of(std::move(name), ColumnType::smallint);
}
Column numeric_column(std::string name, std::uint8_t precision, std::uint8_t scale) {
  Column column = column_of(std::move(name), ColumnType::numeric);
  column.precision = precision;
  column.scale = scale;
  return column;
}
Column char_column(std::string name, std::uint32_t length) {
  return column_of(std::move(name), ColumnType::character, length);
}
Column varchar_column(std::string name, std::uint32_t length) {
  return column_of(std::move(name), ColumnType::varchar, length);
}
Column timestamp_column(std::string name) {
  return column_of(std::move(name), ColumnType::timestamp);
}

namespace {

std::string column_names(const TableSpec& table, const std::vector<std::uint32_t>& columns) {
  std::string names;
  for (const std::uint32_t column : columns)
    names += (names.empty() ? "" : ", ") + table.columns[column].name;
  return names;
}

}  // namespace

std::string create_index_sql(const TableSpec& table, const IndexSpec& index) {
  std::string columns;
  for (const layout::IndexColumn& column : index.columns) {
    columns += (columns.empty() ? "" : ", ") + table.columns[column.column].name;
    if (column.descending) columns += " DESC";
  }
  return "CREATE INDEX " + index.name + " ON " + table.name + " (" + columns + ")";
}

std::string create_table_sql(const TableSpec& table, std::uint64_t size_hint_rows, SqlDialect dialect) {
  std::string sql = dialect == SqlDialect::postgresql ? "CREATE UNLOGGED TABLE " : "CREATE TABLE ";
  sql += table.name + " (";
  for (const Column& column : table.columns) {
    sql += column.name + " " + type_sql(column);
    if (column.not_null) sql += " NOT NULL";
    sql += ", ";
  }
  sql += "PRIMARY KEY (" + column_names(table, table.key) + "))";
  if (dialect == SqlDialect::namdb) {
    if (!table.partition.empty()) sql += " PARTITION BY HASH (" + column_names(table, table.partition) + ")";
    sql += " WITH (size_hint=" + std::to_string(size_hint_rows) +
           ", ring_versions=" + std::to_string(table.ring_versions) + ")";
  }
  return sql;
}

}  // namespace namdb::workloads
