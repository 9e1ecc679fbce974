// A workload's table, described once: procedures find columns by position, loaders make rows of its schema,
// and CREATE TABLE statements are printed from it, for namdb and for PostgreSQL.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/layout/index_key.h"
#include "common/layout/schema.h"

namespace namdb::workloads {

struct IndexSpec {
  std::string name;
  std::vector<layout::IndexColumn> columns;
};

struct TableSpec {
  std::string name;
  std::vector<layout::Column> columns;
  std::vector<std::uint32_t> key;  // column positions in key order
  // Old versions kept in place, in every record: few for big rows and for rows that are never rewritten, many
  // for the few rows that most transactions rewrite. A record takes about (1 + ring_versions) rows of memory.
  std::uint32_t ring_versions = 1;
  std::vector<IndexSpec> indexes = {};
  // Columns of the key whose values alone decide on a row's memory server; empty: all of the key does.
  std::vector<std::uint32_t> partition = {};

  // The description must be right: a schema that does not fit is a programming error.
  layout::Schema schema() const;
};

// One column, as short to write down as in SQL.
layout::Column bigint_column(std::string name);
layout::Column integer_column(std::string name);
layout::Column smallint_column(std::string name);
layout::Column numeric_column(std::string name, std::uint8_t precision, std::uint8_t scale);
layout::Column char_column(std::string name, std::uint32_t length);
layout::Column varchar_column(std::string name, std::uint32_t length);
layout::Column timestamp_column(std::string name);

enum class SqlDialect {
  namdb,       // with size_hint, ring_versions and partition columns
  postgresql,  // an unlogged table, what the comparison script creates
};

// One CREATE TABLE statement without a semicolon. `size_hint_rows` is the number of rows that the table is
// expected to hold.
std::string create_table_sql(const TableSpec& table, std::uint64_t size_hint_rows, SqlDialect dialect);
// One CREATE INDEX statement without a semicolon, the same for both.
std::string create_index_sql(const TableSpec& table, const IndexSpec& index);

}  // namespace namdb::workloads
