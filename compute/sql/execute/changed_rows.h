// The rows that UPDATE ... FROM and DELETE ... USING change. The join ends before the first row is changed.
#pragma once

#include <absl/container/flat_hash_set.h>

#include <span>
#include <string>

#include "compute/sql/execute/gathered_memory.h"
#include "compute/sql/execute/gathered_rows.h"
#include "compute/sql/execute/run.h"
#include "compute/sql/execute/source_keys.h"
#include "compute/sql/plan/plan.h"

namespace namdb::sql {

// So many rows one statement can change.
inline constexpr std::size_t kMaxChangedRows = 1 << 20;
// Error limit_exceeded, unless the statement can change a row beside so many others.
Status check_changed_rows(std::size_t rows);

class ChangedRows {
 public:
  // Both outlive this.
  ChangedRows(const ChangedRowsPlan& plan, const storage::Table& table);

  // Runs the join. `keys` become those of the changed table's rows, each once: of several joined rows with it
  // the first one counts.
  reactor::Task<Status> read(Run& run, Keys& keys);
  // The values of the other columns of the plan, of the rows that were joined with the row of that key.
  std::span<const Datum> others(std::size_t key) const { return others_[key]; }

 private:
  Status add(Run& run, std::span<const Datum> row, Keys& keys);

  const ChangedRowsPlan& plan_;
  const storage::Table& table_;
  GatheredRows others_;
  absl::flat_hash_set<std::string> seen_;
  GatheredMemory memory_;
};

}  // namespace namdb::sql
