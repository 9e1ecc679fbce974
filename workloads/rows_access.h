// Functions that the procedures of several workloads use: rows by key, several columns at once, parameters.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "workloads/arguments.h"

namespace namdb::workloads {

inline procedure::Key integer_key(procedure::Context& context, std::size_t table,
                                  std::span<const std::int64_t> values, Status& status) {
  procedure::Key key(context.schema(table));
  for (const std::int64_t value : values) {
    if (status.ok()) status = key.add_integer(value);
  }
  return key;
}

// The row with that key of integer columns; numbers that no key column can hold name no row.
inline procedure::RowId get_row(procedure::Context& context, std::size_t table,
                                std::span<const std::int64_t> values, Status& status) {
  const procedure::Key key = integer_key(context, table, values, status);
  return status.ok() ? context.get(table, key.bytes()) : procedure::RowId{};
}
// The same of a row that is not going to be written.
inline procedure::RowId read_row(procedure::Context& context, std::size_t table,
                                 std::span<const std::int64_t> values, Status& status) {
  const procedure::Key key = integer_key(context, table, values, status);
  return status.ok() ? context.get_to_read(table, key.bytes()) : procedure::RowId{};
}

// Sets several columns; the first value that does not fit is the error.
class Fields {
 public:
  explicit Fields(procedure::RowWriter writer) : writer_(writer) {}
  Fields& integer(std::uint32_t column, std::int64_t value) {
    if (status_.ok()) status_ = writer_.set_integer(column, value);
    return *this;
  }
  Fields& text(std::uint32_t column, std::string_view value) {
    if (status_.ok()) status_ = writer_.set_text(column, value);
    return *this;
  }
  Status status() const { return status_; }

 private:
  procedure::RowWriter writer_;
  Status status_;
};

inline procedure::Parameter integer_parameter(std::string name) {
  return {.name = std::move(name), .type = procedure::ColumnType::integer};
}
inline procedure::Parameter text_parameter(std::string name) {
  return {.name = std::move(name), .type = procedure::ColumnType::text};
}

}  // namespace namdb::workloads
