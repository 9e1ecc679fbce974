// Cuts a workload's rows into batches for loaders, table by table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/layout/row.h"
#include "tools/support/client/database_view.h"
#include "workloads/workload.h"

namespace namdb::support {

struct RowBatch {
  std::size_t table = 0;
  std::vector<layout::Row> rows;
  std::uint32_t attempts = 0;
};

class RowProducer {
 public:
  // `tables`: positions of those to load, in that order. `rows_per_batch` 0: by the size of the rows.
  RowProducer(const workloads::Workload& workload, std::vector<std::size_t> tables,
              std::uint32_t rows_per_batch);

  // nullopt when all rows have been handed out.
  std::optional<RowBatch> next();

  // Sum of the checksums of all rows handed out: decided by seed and population.
  std::uint64_t hash() const { return hash_; }
  std::uint64_t rows(std::size_t table) const { return rows_[table]; }
  std::uint64_t total_rows() const;
  // Share of the work that was handed out.
  double done() const;
  // The tables that are left to load after a failure: the one that is being handed out, and those after it.
  std::vector<std::size_t> tables_left(std::size_t from_table) const;

 private:
  const workloads::Workload& workload_;
  std::vector<std::size_t> tables_;
  std::uint32_t rows_per_batch_;
  std::size_t position_ = 0;
  std::uint64_t unit_ = 0;
  std::vector<layout::Row> buffer_;
  std::vector<std::uint64_t> rows_;
  std::uint64_t hash_ = 0;
  std::uint64_t units_done_ = 0;
  std::uint64_t units_ = 0;
};

// Rows a batch when the user does not say: a transaction of some kilobytes, since every row of it is locked,
// and journalled in one entry.
std::uint32_t usual_rows_per_batch(const layout::Schema& schema);

// Positions of the named tables, in the workload's order; all when `names` is empty. undefined_table.
Result<std::vector<std::size_t>> choose_tables(const workloads::Workload& workload,
                                               const std::vector<std::string>& names);

struct LoadedTable {
  std::string name;
  std::uint64_t rows = 0;
};
struct LoadReport {
  std::string workload;
  std::string population;
  std::string mode;
  std::vector<LoadedTable> tables;
  std::uint64_t rows = 0;
  double seconds = 0;
  std::uint64_t hash = 0;
};
// The error after a failure: its cause, how far the load came, and the flags that resume it there.
Status load_failure(const workloads::Workload& workload, const RowProducer& producer, std::size_t table,
                    const Status& cause);
LoadReport make_load_report(const workloads::Workload& workload, const std::vector<std::size_t>& tables,
                            const RowProducer& producer, double seconds);

// Counts the rows of every table that was loaded. corrupt_data.
Status verify_loaded(const LoadReport& report, DatabaseView& database);

}  // namespace namdb::support
