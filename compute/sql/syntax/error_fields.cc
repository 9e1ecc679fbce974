#include "compute/sql/syntax/error_fields.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "compute/sql/catalog/definition_text.h"
#include "compute/sql/expression/expression.h"
#include "compute/sql/expression/long_values.h"
#include "compute/sql/value/characters.h"
#include "compute/sql/value/row_id.h"
#include "compute/sql/value/value_format.h"

namespace namdb::sql {
namespace {

constexpr std::size_t kMaxShownValue_bytes = 64;  // of each value of a failing row

bool continues_character(char c) {
  return (static_cast<unsigned char>(c) & 0xc0U) == 0x80U;
}

// A long value that is not at hand is not shown.
std::string shown_value(const layout::RowView& row, std::uint32_t column, const LongValues* long_values) {
  Arena arena;
  Datum value;
  read_column(row, column, arena, value);
  if (value.null) return "null";
  if (value.is_place()) {
    const std::string* const bytes = long_values == nullptr ? nullptr : long_values->find(value.text);
    if (bytes == nullptr) return "...";
    value = Datum::of_text(*bytes);
  }
  std::string text;
  append_text(text, column_type(row.schema().columns()[column]), value);
  return text;
}

std::string shown_row(const layout::RowView& row, const LongValues* long_values) {
  std::string shown;
  for (std::uint32_t column = 0; column < shown_columns(row.schema()).size(); ++column) {
    if (column > 0) shown += ", ";
    std::string value = shown_value(row, column, long_values);
    if (value.size() > kMaxShownValue_bytes) {
      std::size_t keep = kMaxShownValue_bytes;
      while (keep > 0 && continues_character(value[keep])) --keep;
      value.resize(keep);
      value += "...";
    }
    shown += value;
  }
  return shown;
}

std::string shown_key(const txn::Violation& violation) {
  const layout::RowView row(violation.table->schema, violation.row);
  std::string names;
  std::string values;
  for (const std::uint32_t column : violation.columns) {
    const std::string_view separator = names.empty() ? "" : ", ";
    const bool of_index = is_index_column(row.schema().columns()[column]);
    names.append(separator).append(of_index ? index_column_text(row.schema(), column, true)
                                            : quoted_name(row.schema().columns()[column].name));
    values.append(separator).append(shown_value(row, column, nullptr));
  }
  return "Key (" + names + ")=(" + values + ")";
}

}  // namespace

void ErrorPlace::note_at(std::int64_t offset_bytes) {
  if (!offset_bytes_ && offset_bytes > 0) offset_bytes_ = static_cast<std::size_t>(offset_bytes);
}

void ErrorPlace::note(const Json& body) {
  note_at(integer(body, "location"));
}

void ErrorPlace::note_begin(const Json& expression) {
  std::int64_t first = 0;
  std::vector<const Json*> open = {&expression};
  while (!open.empty()) {
    const Json& json = *open.back();
    open.pop_back();
    if (!json.is_structured()) continue;
    const std::int64_t here = integer(json, "location");
    if (here > 0 && (first == 0 || here < first)) first = here;
    for (const Json& child : json) open.push_back(&child);
  }
  note_at(first);
}

std::uint32_t ErrorPlace::position_in(std::string_view text) const {
  if (!offset_bytes_ || *offset_bytes_ >= text.size()) return 0;
  const std::string_view before = text.substr(0, *offset_bytes_);
  const auto inner = std::ranges::count_if(before, continues_character);
  return static_cast<std::uint32_t>(before.size() - static_cast<std::size_t>(inner) + 1);
}

Status located(ErrorPlace* place, const Json& body, Status error) {
  if (place != nullptr) place->note(body);
  return error;
}

Status detailed(ErrorPlace* place, Status error, std::string detail) {
  if (place != nullptr) place->set_detail(std::move(detail));
  return error;
}

Status check_not_null(const layout::RowView& row, const storage::Table& table, ErrorFields& fields,
                      const LongValues* long_values) {
  const std::vector<layout::Column>& columns = table.schema.columns();
  for (std::uint32_t i = 0; i < columns.size(); ++i) {
    if (!columns[i].not_null || !row.is_null(i)) continue;
    fields.schema = "public";
    fields.table = table.name;
    fields.column = columns[i].name;
    fields.detail = "Failing row contains (" + shown_row(row, long_values) + ").";
    return Status(ErrorCode::not_null_violation, "null value in column \"" + columns[i].name +
                                                     "\" of relation \"" + table.name +
                                                     "\" violates not-null constraint");
  }
  return {};
}

Status violates_check(const layout::RowView& row, const storage::Table& table, const std::string& check,
                      ErrorFields& fields, const LongValues* long_values) {
  describe_constraint(table.name, check, fields);
  fields.detail = "Failing row contains (" + shown_row(row, long_values) + ").";
  return Status(ErrorCode::check_violation,
                "new row for relation \"" + table.name + "\" violates check constraint \"" + check + "\"");
}

void describe_violation(const txn::Violation& violation, ErrorFields& fields) {
  describe_constraint(violation.table->name, violation.constraint, fields);
  fields.detail = shown_key(violation) + " already exists.";
}

void describe_duplicates(const txn::Violation& violation, std::string_view table, std::string_view constraint,
                         ErrorFields& fields) {
  describe_constraint(table, constraint, fields);
  if (violation.table != nullptr) fields.detail = shown_key(violation) + " is duplicated.";
}

void describe_constraint(std::string_view table, std::string_view constraint, ErrorFields& fields) {
  fields.schema = "public";
  fields.table = table;
  fields.constraint = constraint;
}

}  // namespace namdb::sql
