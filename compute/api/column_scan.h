// A scan that can do with some of the columns. Implementations of TableScan that read fewer bytes then
// implement this as well; only_columns() tells them.
#pragma once

#include <cstdint>
#include <span>

#include "compute/api/transaction.h"

namespace namdb::txn {

class ColumnScan {
 public:
  virtual ~ColumnScan() = default;
  // Before the first rows. The values of other columns are undefined from then on, except key columns that
  // the transaction needs.
  virtual void want_only(std::span<const std::uint32_t> columns) = 0;
};

inline void only_columns(TableScan* scan, std::span<const std::uint32_t> columns) {
  if (auto* const of_columns = dynamic_cast<ColumnScan*>(scan)) of_columns->want_only(columns);
}

}  // namespace namdb::txn
