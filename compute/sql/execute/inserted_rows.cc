#include "compute/sql/execute/inserted_rows.h"

#include <algorithm>
#include <string>

#include "compute/sql/execute/write_row.h"
#include "compute/sql/expression/subquery.h"

namespace namdb::sql {
namespace {

constexpr std::size_t kMaxInsertedRows = 1 << 20;

bool reads_rows(const std::vector<ExprPtr>& row) {
  return std::ranges::any_of(
      row, [](const ExprPtr& value) { return value != nullptr && contains_subquery(*value); });
}

}  // namespace

InsertedRows::InsertedRows(const InsertPlan& plan)
    : plan_(plan), memory_("INSERT ... SELECT can keep", "insert the rows in parts") {}

reactor::Task<Status> InsertedRows::read(Run& run) {
  if (plan_.query == nullptr) co_return co_await read_values(run);
  run.selects_rows = true;
  rows_ = std::make_unique<GatheredRows>();
  Arena arena;
  Run nested = run.nested(*rows_, arena, run.work, run.outer);
  const std::unique_ptr<Query> query = run.start_query(*plan_.query);
  while (!query->done()) {
    const std::size_t before = rows_->size();
    const std::size_t before_bytes = rows_->bytes();
    if (Status status = co_await query->fetch(nested, kPortionRows); !status.ok()) co_return status;
    Status status = memory_.add(run.client_memory, rows_->bytes() - before_bytes);
    if (!status.ok()) co_return status;
    if (rows_->size() > kMaxInsertedRows) {
      co_return Status(
          ErrorCode::limit_exceeded,
          "one statement can insert at most " + std::to_string(kMaxInsertedRows) + " rows of a query",
          "insert them in parts");
    }
    if (rows_->size() - before < kPortionRows) break;
  }
  run.selects_rows = false;
  co_return Status();
}

reactor::Task<Status> InsertedRows::read_values(Run& run) {
  if (plan_.rows.size() == 1 || std::ranges::none_of(plan_.rows, reads_rows)) co_return Status();
  const layout::Schema& schema = plan_.table->schema;
  made_.reserve(plan_.rows.size());
  for (const std::vector<ExprPtr>& values : plan_.rows) {
    Status status = memory_.add(run.client_memory, schema.row_bytes());
    if (!status.ok()) co_return status;
    layout::Row& row = made_.emplace_back(schema);
    const auto evaluate_row = [&] { return make_row(run, plan_, values, {}, row); };
    status = evaluate_row();
    if (run.work.paused()) status = co_await run.resume(evaluate_row);
    run.long_values.hold(row.view());
    run.next_row();
    if (status.ok() && run.work.due()) status = co_await run.take_turn();
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

Status InsertedRows::make(const Run& run, std::size_t position, layout::Row& row) const {
  if (!made_.empty()) {
    row = made_[position];
    return {};
  }
  if (plan_.query == nullptr) return make_row(run, plan_, plan_.rows[position], {}, row);
  return make_row(run, plan_, plan_.rows.front(), (*rows_)[position], row);
}

}  // namespace namdb::sql
