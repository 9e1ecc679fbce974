// Read-write registers for the isolation checker: clients at several compute servers read some of a few hot
// keys, write new versions to some of them, and record what they saw.
#pragma once

#include "tools/namsim/workloads/row_workload.h"

namespace namdb::sim {

layout::Schema register_schema();

class RegisterWorkload : public RowWorkload {
 public:
  using RowWorkload::RowWorkload;

 protected:
  layout::Schema schema() const override;
  Status fill(layout::RowWriter row) const override;
  Result<history::Operation> read(std::uint64_t key, layout::RowView row) const override;
  Status write(txn::Transaction& transaction, const Reads& reads, std::size_t record) override;
};

}  // namespace namdb::sim
