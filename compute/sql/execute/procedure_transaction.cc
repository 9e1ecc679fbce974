#include "compute/sql/execute/procedure_transaction.h"

#include <algorithm>
#include <string>

#include "common/layout/long_value.h"

namespace namdb::sql {

bool ProcedureTransaction::is_needed(std::span<const storage::TableRef> tables) {
  return std::ranges::any_of(tables, [](const storage::TableRef& table) {
    return std::ranges::any_of(table->schema.columns(), layout::can_be_long);
  });
}

txn::RowId ProcedureTransaction::get(const storage::TableRef& table, std::span<const std::byte> key) {
  return requested_.emplace_back(transaction_.get(table, key));
}

txn::RowId ProcedureTransaction::read(const storage::TableRef& table, std::span<const std::byte> key) {
  return requested_.emplace_back(transaction_.read(table, key));
}

txn::RowId ProcedureTransaction::get_to_read(const storage::TableRef& table, std::span<const std::byte> key) {
  return requested_.emplace_back(transaction_.get_to_read(table, key));
}

reactor::Task<Status> ProcedureTransaction::fetch() {
  Status status = co_await transaction_.fetch();
  co_return status.ok() ? check_requested() : status;
}

reactor::Task<Status> ProcedureTransaction::find(storage::TableRef table, storage::IndexRef index,
                                                 txn::IndexRange range, std::vector<txn::RowId>& rows) {
  Status status = co_await transaction_.find(std::move(table), std::move(index), std::move(range), rows);
  if (status.ok()) status = check_requested();
  co_return status.ok() ? check(rows) : status;
}

reactor::Task<Status> ProcedureTransaction::find_each(storage::TableRef table, storage::IndexRef index,
                                                      std::vector<txn::IndexRange> ranges, txn::RowUse use,
                                                      std::vector<std::vector<txn::RowId>>& rows) {
  Status status =
      co_await transaction_.find_each(std::move(table), std::move(index), std::move(ranges), use, rows);
  if (status.ok()) status = check_requested();
  for (std::size_t i = 0; i < rows.size() && status.ok(); ++i) status = check(rows[i]);
  co_return status;
}

Status ProcedureTransaction::check(std::span<const txn::RowId> rows) const {
  for (const txn::RowId id : rows) {
    if (!transaction_.found(id)) continue;
    const layout::RowView row = transaction_.row(id);
    for (std::uint32_t column = 0; column < row.schema().columns().size(); ++column) {
      if (!layout::is_long(row, column)) continue;
      return Status(ErrorCode::feature_not_supported,
                    "a row that the procedure reads has a long value in column \"" +
                        row.schema().columns()[column].name + "\", which procedures of libraries cannot read",
                    "with WITH (text_bytes = ...) of CREATE TABLE values lie in their rows");
    }
  }
  return {};
}

Status ProcedureTransaction::check_requested() {
  const std::vector<txn::RowId> requested = std::exchange(requested_, {});
  return check(requested);
}

}  // namespace namdb::sql
