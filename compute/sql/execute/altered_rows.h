// The rows that ALTER TABLE makes of a table's rows.
#pragma once

#include <vector>

#include "common/layout/schema.h"
#include "compute/api/table_change.h"
#include "compute/sql/execute/run.h"
#include "compute/sql/plan/plan.h"

namespace namdb::sql {

class AlteredRows final : public txn::RowChange {
 public:
  // `schema`: of the new rows; its defaults name the sequences that are there by then. All else outlives
  // this.
  AlteredRows(Run& run, const AlterTablePlan& plan, layout::Schema schema)
      : run_(run), plan_(plan), schema_(std::move(schema)) {}

  // Errors of the expressions, not_null_violation, check_violation; those of an interrupt.
  reactor::Task<Status> change(const std::vector<layout::Row>* rows,
                               std::vector<std::vector<std::byte>>* changed) override;

 private:
  reactor::Task<Status> take_numbers(layout::Row* row);
  Status check(const layout::RowView& row) const;

  Run& run_;
  const AlterTablePlan& plan_;
  layout::Schema schema_;
};

}  // namespace namdb::sql
