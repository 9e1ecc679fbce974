// The rows that ALTER TABLE makes of a table's rows.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/layout/schema.h"
#include "compute/api/table_change.h"
#include "compute/sql/execute/run.h"
#include "compute/sql/plan/plan.h"

namespace namdb::sql {

class AlteredRows final : public txn::RowChange {
 public:
  using Begin = std::function<std::unique_ptr<txn::Transaction>()>;
  // `schema`: of the new rows; its defaults name the sequences that are there by then. `begin`: begins a
  // transaction, which reads long values. All else outlives this.
  AlteredRows(Run& run, const AlterTablePlan& plan, layout::Schema schema, Begin begin)
      : run_(run), plan_(plan), schema_(std::move(schema)), begin_(std::move(begin)) {}

  // Errors of the expressions, not_null_violation, check_violation; those of an interrupt.
  reactor::Task<Status> change(const std::vector<layout::Row>* rows,
                               std::vector<std::vector<std::byte>>* changed) override;

  // The places of long values that no new row has; and of those that were made for new rows.
  std::vector<std::string> take_gone() { return std::exchange(gone_, {}); }
  std::vector<std::string> take_made() { return std::exchange(made_, {}); }

 private:
  // Whether the new column has the old row's long value as it is.
  bool keeps_place(const layout::RowView& old, std::uint32_t column) const;
  Status fill(const layout::RowView& old, layout::RowWriter writer) const;
  void note_gone(const layout::RowView& old);
  reactor::Task<Status> write_made();
  // After evaluate() has paused, outside of a transaction.
  template <typename Evaluate>
  reactor::Task<Status> resume(std::unique_ptr<txn::Transaction>* reader, Evaluate evaluate);
  reactor::Task<Status> take_numbers(layout::Row* row);
  Status check(const layout::RowView& row) const;

  Run& run_;
  const AlterTablePlan& plan_;
  layout::Schema schema_;
  Begin begin_;
  std::vector<std::string> gone_;
  std::vector<std::string> made_;
};

}  // namespace namdb::sql
