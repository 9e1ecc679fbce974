#include "compute/sql/execute/altered_rows.h"

#include <string>
#include <utility>

#include "compute/sql/execute/write_row.h"
#include "compute/sql/syntax/error_fields.h"
#include "compute/sql/value/sequence_default.h"

namespace namdb::sql {

reactor::Task<Status> AlteredRows::change(const std::vector<layout::Row>* rows,
                                          std::vector<std::vector<std::byte>>* changed) {
  for (const layout::Row& old : *rows) {
    const layout::RowView view = old.view();
    EvalContext context = run_.context();
    context.row = &view;
    layout::Row made(schema_);
    const auto make = [&] { return fill_row(run_, plan_.values, context, made.writer()); };
    Status status = make();
    if (run_.work.paused()) status = co_await run_.resume(make);
    if (status.ok()) status = co_await take_numbers(&made);
    if (!status.ok()) co_return status;
    const layout::RowView row = made.view();
    const auto check_row = [&] { return check(row); };
    status = check_row();
    if (run_.work.paused()) status = co_await run_.resume(check_row);
    if (!status.ok()) co_return status;
    changed->emplace_back(row.bytes().begin(), row.bytes().end());
    run_.next_row();
    if (run_.work.due()) status = co_await run_.take_turn();
    if (!status.ok()) co_return status;
  }
  co_return run_.interrupt.check();
}

reactor::Task<Status> AlteredRows::take_numbers(layout::Row* row) {
  for (const std::uint32_t column : plan_.sequences) {
    const std::string name = sequence_default_of(schema_.columns()[column])->name;
    const Datum argument = Datum::of_text(name);
    const Result<Datum> number = co_await run_.waiting.sequence_function("nextval", std::span(&argument, 1));
    if (!number.ok()) co_return number.status();
    layout::RowWriter writer = row->writer();
    Status status = store_value(writer, column, *number);
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

Status AlteredRows::check(const layout::RowView& row) const {
  const std::string& table = plan_.table->name;
  const std::vector<layout::Column>& columns = schema_.columns();
  for (std::uint32_t i = 0; i < columns.size(); ++i) {
    if (!columns[i].not_null || !row.is_null(i)) continue;
    run_.error.schema = "public";
    run_.error.table = table;
    run_.error.column = columns[i].name;
    return Status(ErrorCode::not_null_violation,
                  "column \"" + columns[i].name + "\" of relation \"" + table + "\" contains null values");
  }
  Status status = check_conditions(run_, *plan_.table, plan_.checks, row);
  if (status.ok() || status.code() != ErrorCode::check_violation) return status;
  run_.error.detail.clear();
  return Status(ErrorCode::check_violation, "check constraint \"" + run_.error.constraint +
                                                "\" of relation \"" + table + "\" is violated by some row");
}

}  // namespace namdb::sql
