// The bytes of long values (common/layout/long_value.h) as rows of tables that the server keeps for itself.
//
// The values of a table lie in parts in one of two other tables, one for values that fit a small part and one
// for all others. They are made when the first such value is written, and go with the table. A part is a row
// whose key is the value's id and the part's number. The transaction that writes, reads or deletes the
// value's own row does the same with the parts. So long values have all guarantees of rows.
//
// Statements note what they write and delete (LongValues); write_long_values() does it, at their end or when
// much has come together. Values are read when an expression wants them (Run::take_turn()).
#pragma once

#include <cstddef>
#include <functional>

#include "compute/sql/execute/run.h"

namespace namdb::sql {

// Whether the value does not fit the field of a column that can have long ones.
bool is_too_long(const layout::Column& column, const Datum& value);
// Before a value is stored in a column of such a row: if it is too long for the field, it is made a long
// value, and `value` becomes its place. Pauses while the table for its bytes is made; nothing has changed
// then. Error limit_exceeded: it is longer than any value may be, or a key or an index has the column.
// `table`: keeps the value; `schema`: of the row, the table's or that of the one that takes its place.
Status set_apart(const Run& run, const storage::Table& table, const layout::Schema& schema,
                 std::uint32_t column, Datum& value);
// store_value(), also of a place.
Status store_or_place(layout::RowWriter& row, std::uint32_t column, const Datum& value);
// Both, one after the other.
Status set_apart_and_store(const Run& run, const storage::Table& table, const layout::Schema& schema,
                           std::uint32_t column, Datum& value, layout::RowWriter& row);

// When an expression waits for a long value of a row: those of the same column in rows that come next are
// wanted, too, up to `most`. `show` lets columns read the row that is so many rows behind that one; false:
// its value is not needed. It is asked for `rows` of them.
void want_ahead(Run& run, std::size_t rows, std::size_t most,
                const std::function<bool(std::size_t, EvalContext&)>& show);

// Brings what is wanted of the values, and makes the tables that are.
reactor::Task<Status> bring_long_values(Run* run, LongValues* values);
// Writes and deletes what was noted. Values of rows that were not written are forgotten.
reactor::Task<Status> write_long_values(Run* run);
// The same, and commits the run's transaction.
reactor::Task<Status> commit_long_values(Run* run);

}  // namespace namdb::sql
