#include "compute/sql/execute/inserted_rows.h"

#include <string>

#include "compute/sql/execute/write_row.h"

namespace namdb::sql {
namespace {

constexpr std::size_t kMaxInsertedRows = 1 << 20;

}  // namespace

InsertedRows::InsertedRows(const InsertPlan& plan)
    : plan_(plan), memory_("INSERT ... SELECT can keep", "insert the rows in parts") {}

reactor::Task<Status> InsertedRows::read(Run& run) {
  if (plan_.query == nullptr) co_return Status();
  run.selects_rows = true;
  rows_ = std::make_unique<GatheredRows>();
  Arena arena;
  Run nested = run.nested(*rows_, arena, run.work, run.outer);
  const std::unique_ptr<Query> query = run.start_query(*plan_.query);
  while (!query->done()) {
    const std::size_t before = rows_->size();
    const std::size_t before_bytes = rows_->bytes();
    Status status = co_await query->fetch(nested, kPortionRows);
    if (status.ok()) status = memory_.add(run.client_memory, rows_->bytes() - before_bytes);
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

Status InsertedRows::make(const Run& run, std::size_t position, layout::Row& row) const {
  if (plan_.query == nullptr) return make_row(run, plan_, plan_.rows[position], {}, row);
  return make_row(run, plan_, plan_.rows.front(), (*rows_)[position], row);
}

}  // namespace namdb::sql
