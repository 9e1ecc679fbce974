// A table of rows as long as one likes, for tests of long rows: a number and two texts beside the key.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/namsim/workloads/tables.h"

namespace namdb::sim {

inline constexpr const char* kTextRows = "text_rows";

struct TextRows {
  enum Column : std::uint32_t { id, value, first, second };

  std::int64_t rows = 0;
  std::uint32_t text_bytes = 0;  // of each text; 0: the rows have none

  layout::Schema schema() const {
    using layout::ColumnType;
    if (text_bytes == 0) return bigints({"id", "value"});
    return std::move(
        *layout::Schema::create({{.name = "id", .type = ColumnType::bigint},
                                 {.name = "value", .type = ColumnType::bigint},
                                 {.name = "first", .type = ColumnType::text, .length_bytes = text_bytes},
                                 {.name = "second", .type = ColumnType::text, .length_bytes = text_bytes}},
                                {id}));
  }
  // The text of rows of that value.
  std::string text_of(std::int64_t number) const {
    return std::string(text_bytes, static_cast<char>('a' + number % 26));
  }
  // Neighbouring versions share nothing, so that all of each is kept.
  Status fill(layout::RowWriter row, std::int64_t number) const {
    Status status = row.set_integer(value, number);
    if (text_bytes == 0) return status;
    if (status.ok()) status = row.set_text(first, text_of(number));
    return status.ok() ? row.set_text(second, text_of(number)) : status;
  }
};

// Creates and fills the table, value 0.
inline reactor::Task<Status> load_text_rows(txn::Engine* engine, TextRows shape) {
  const layout::Schema schema = shape.schema();
  Status status =
      co_await create_table(*engine, kTextRows, schema, 4 * static_cast<std::uint64_t>(shape.rows), 0);
  if (!status.ok()) co_return status;
  std::vector<layout::Row> rows;
  for (std::int64_t id = 0; id < shape.rows; ++id) {
    layout::RowWriter row = rows.emplace_back(schema).writer();
    status = row.set_integer(TextRows::id, id);
    if (status.ok()) status = shape.fill(row, 0);
    if (!status.ok()) co_return status;
  }
  co_return co_await put_rows(*engine, kTextRows, &rows);
}

// Every row gets that value, in one transaction.
inline reactor::Task<Status> update_text_rows(txn::Engine* engine, txn::Session* session, TextRows shape,
                                              std::int64_t number) {
  const auto table = co_await engine->table(kTextRows);
  if (!table.ok()) co_return table.status();
  const auto transaction = engine->begin(*session);
  std::vector<txn::RowId> rows;
  for (std::int64_t id = 0; id < shape.rows; ++id)
    rows.push_back(transaction->get(*table, key_of((*table)->schema, id).bytes()));
  Status status = co_await transaction->fetch();
  for (const txn::RowId row : rows) {
    if (status.ok()) status = shape.fill(transaction->update(row), number);
  }
  if (status.ok()) status = co_await transaction->commit();
  co_return status;
}

}  // namespace namdb::sim
