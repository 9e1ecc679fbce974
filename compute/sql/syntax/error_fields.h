// The fields of an error beside its Status, as in PostgreSQL's ErrorResponse. They are kept where a statement
// runs, and given to the client with its error.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "compute/api/transaction_facts.h"
#include "compute/sql/syntax/syntax.h"

namespace namdb::sql {

class LongValues;

struct ErrorFields {
  std::string sqlstate;  // that a procedure has raised; empty: the one of the error
  std::string detail;
  std::string schema;
  std::string table;
  std::string column;
  std::string constraint;
  std::string context;         // where in the data of COPY
  std::uint32_t position = 0;  // in the statement's text, in characters from 1; 0: nowhere
};

// The place in a statement's text at which binding has failed. The innermost place counts: binders note
// theirs while they pass the error on.
class ErrorPlace {
 public:
  void note(const Json& body);
  // Notes the beginning of an expression's text, not the place of its operator.
  void note_begin(const Json& expression);
  void note_at(std::int64_t offset_bytes);
  // 0: nowhere.
  std::uint32_t position_in(std::string_view text) const;
  // The error's DETAIL.
  void set_detail(std::string detail) { detail_ = std::move(detail); }
  const std::string& detail() const { return detail_; }

 private:
  std::optional<std::size_t> offset_bytes_;
  std::string detail_;
};

// An error with a DETAIL. `place` may be null.
Status detailed(ErrorPlace* place, Status error, std::string detail);

// Notes the place of `body` and returns the error. `place` may be null.
Status located(ErrorPlace* place, const Json& body, Status error);

// Error not_null_violation, with its fields, when the row has NULL in a column that must have a value.
// `long_values`: of the statement, for the details; null: it has none.
Status check_not_null(const layout::RowView& row, const storage::Table& table, ErrorFields& fields,
                      const LongValues* long_values);
// The error of a row for which a CHECK does not hold, with its details.
Status violates_check(const layout::RowView& row, const storage::Table& table, const std::string& check,
                      ErrorFields& fields, const LongValues* long_values);
void describe_violation(const txn::Violation& violation, ErrorFields& fields);
// Rows that are there already have the same values, so that the unique index or constraint cannot be made.
// `table` and `constraint`: their names for clients, which those of the violation may not be.
void describe_duplicates(const txn::Violation& violation, std::string_view table, std::string_view constraint,
                         ErrorFields& fields);
// Describes the constraint that a row violates.
void describe_constraint(std::string_view table, std::string_view constraint, ErrorFields& fields);

}  // namespace namdb::sql
