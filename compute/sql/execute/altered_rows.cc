#include "compute/sql/execute/altered_rows.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <string>
#include <utility>

#include "common/layout/long_value.h"
#include "compute/sql/execute/long_value_rows.h"
#include "compute/sql/execute/write_row.h"
#include "compute/sql/syntax/error_fields.h"
#include "compute/sql/value/sequence_default.h"

namespace namdb::sql {
namespace {

constexpr std::uint32_t kReadAttempts = 64;

}  // namespace

reactor::Task<Status> AlteredRows::change(const std::vector<layout::Row>* rows,
                                          std::vector<std::vector<std::byte>>* changed) {
  // No transaction writes the table now: its long values are the same in any snapshot.
  std::unique_ptr<txn::Transaction> reader;
  for (const layout::Row& old : *rows) {
    const layout::RowView view = old.view();
    layout::Row made(schema_);
    const auto make = [&] { return fill(view, made.writer()); };
    Status status = make();
    if (run_.work.paused()) status = co_await resume(&reader, make);
    if (!status.ok()) co_return status;
    if (Status numbered = co_await take_numbers(&made); !numbered.ok()) co_return numbered;
    const auto generate = [&] { return generate_columns(run_, *plan_.table, plan_.checks, made.writer()); };
    status = generate();
    if (run_.work.paused()) status = co_await resume(&reader, generate);
    if (!status.ok()) co_return status;
    const layout::RowView row = made.view();
    const auto check_row = [&] { return check(row); };
    status = check_row();
    if (run_.work.paused()) status = co_await resume(&reader, check_row);
    if (!status.ok()) co_return status;
    note_gone(view);
    run_.long_values.note_written(row);
    changed->emplace_back(row.bytes().begin(), row.bytes().end());
    run_.next_row();
    if (run_.work.due()) status = co_await run_.take_turn();
    if (!status.ok()) co_return status;
  }
  reader.reset();
  if (run_.long_values.has_work()) {
    if (Status status = co_await write_made(); !status.ok()) co_return status;
  }
  co_return run_.interrupt.check();
}

// Before the rows are there: if the change ends in an error, no row has the values.
reactor::Task<Status> AlteredRows::write_made() {
  const std::span<const std::string> written = run_.long_values.written();
  std::vector<std::string> made(written.begin(), written.end());
  const std::unique_ptr<txn::Transaction> writer = begin_();
  run_.transaction = writer.get();
  Status status = co_await commit_long_values(&run_);
  run_.transaction = nullptr;
  if (status.ok()) std::ranges::move(made, std::back_inserter(made_));
  co_return status;
}

bool AlteredRows::keeps_place(const layout::RowView& old, std::uint32_t column) const {
  const Expr* const value = plan_.values[column].get();
  if (value == nullptr || value->kind != ExprKind::column || !layout::is_long(old, value->index))
    return false;
  const layout::Column& made = schema_.columns()[column];
  const std::string_view packed = layout::long_value_place(old, value->index);
  return old.schema().columns()[value->index].type == made.type && layout::can_be_long(made) &&
         layout::unpack_long_value_place(packed).length_bytes > made.length_bytes &&
         !schema_.is_key_column(column);
}

Status AlteredRows::fill(const layout::RowView& old, layout::RowWriter writer) const {
  run_.work.charge(Work::kRow_units);
  EvalContext context = run_.context();
  context.row = &old;
  for (std::uint32_t column = 0; column < plan_.values.size(); ++column) {
    if (keeps_place(old, column)) {
      layout::set_long_value(writer, column, layout::long_value_place(old, plan_.values[column]->index));
      continue;
    }
    Datum value;
    Status status;
    if (plan_.values[column] != nullptr) status = evaluate(*plan_.values[column], context, value);
    if (!value.null) run_.work.charge(value.text.size());
    if (!status.ok()) return status;
    // They are kept with those of the table that is there.
    status = set_apart_and_store(run_, *plan_.table, schema_, column, value, writer);
    if (!status.ok()) return status;
  }
  return {};
}

void AlteredRows::note_gone(const layout::RowView& old) {
  for (std::uint32_t column = 0; column < old.schema().columns().size(); ++column) {
    if (!layout::is_long(old, column)) continue;
    bool kept = false;
    for (std::uint32_t made = 0; made < plan_.values.size(); ++made)
      kept = kept || (keeps_place(old, made) && plan_.values[made]->index == column);
    if (!kept) gone_.emplace_back(layout::long_value_place(old, column));
  }
}

template <typename Evaluate>
reactor::Task<Status> AlteredRows::resume(std::unique_ptr<txn::Transaction>* reader, Evaluate evaluate) {
  std::uint32_t attempts = 0;
  while (true) {
    const bool reads = run_.work.waiting_long_values() != nullptr;
    if (reads && *reader == nullptr) *reader = begin_();
    if (reads) run_.transaction = reader->get();
    Status status = co_await run_.take_turn();
    run_.transaction = nullptr;
    if (reads && !status.ok() && status.info().retry && ++attempts < kReadAttempts) {
      // Transactions that are not going to commit may have locked the parts.
      reader->reset();
      co_await run_.engine.backoff(attempts);
      status = Status();
    }
    if (!status.ok()) co_return status;
    status = evaluate();
    if (!run_.work.paused()) co_return status;
  }
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
