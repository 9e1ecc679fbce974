#include "common/layout/hash_entry.h"

#include <algorithm>

namespace namdb::layout {
namespace {

enum EntryColumn : std::uint32_t { kValues, kRest, kUniqueRest };

Column text_column(const char* name, std::size_t length_bytes) {
  Column column;
  column.name = name;
  column.type = ColumnType::varchar;
  column.length_bytes = static_cast<std::uint32_t>(std::max<std::size_t>(length_bytes, 1));
  column.not_null = true;
  return column;
}

void set(Row& row, std::uint32_t column, std::string_view bytes) {
  const Status status = row.writer().set_text(column, bytes);
  NAMDB_CHECK(status.ok());
}

}  // namespace

Result<Schema> hash_entry_schema(const IndexShape& shape, bool unique) {
  const std::size_t values_bytes = shape.max_declared_bytes();
  const std::size_t rest_bytes = shape.max_key_bytes() - values_bytes;
  if (std::max(values_bytes, rest_bytes) > kMaxString_bytes)
    return Status(ErrorCode::limit_exceeded, "the keys of the hash index would be too long");
  std::vector<Column> columns = {text_column("values", values_bytes)};
  std::vector<std::uint32_t> key = {kValues};
  const bool nullable = std::ranges::any_of(shape.columns(), [&shape](const IndexColumn& part) {
    return !shape.schema().columns()[part.column].not_null;
  });
  if (!unique || nullable) {
    key.push_back(static_cast<std::uint32_t>(columns.size()));
    columns.push_back(text_column(unique ? "nulls" : "rest", rest_bytes));
  }
  if (unique) columns.push_back(text_column("rest", rest_bytes));
  auto schema = Schema::create(std::move(columns), std::move(key), {kValues});
  if (schema.ok()) schema->chain_by_partition();
  return schema;
}

Row hash_entry(const Schema& entries, const IndexKey& key) {
  Row row(entries);
  const std::string_view rest = std::string_view(key.bytes).substr(key.declared_bytes);
  set(row, kValues, key.declared());
  // The last column is `rest`; one between is `nulls`.
  const auto last = static_cast<std::uint32_t>(entries.columns().size()) - 1;
  const bool has_nulls = last == kUniqueRest;
  set(row, last, has_nulls && key.has_null ? std::string_view() : rest);
  if (has_nulls) set(row, kRest, key.has_null ? rest : std::string_view());
  return row;
}

std::string index_key_of(const RowView& entry) {
  std::string key;
  for (std::uint32_t column = 0; column < entry.schema().columns().size(); ++column)
    key += entry.text(column);
  return key;
}

HashInterval hash_entry_hashes(std::uint32_t table, std::string_view declared) {
  return chained_hashes(table, partition_hash(declared));
}

}  // namespace namdb::layout
