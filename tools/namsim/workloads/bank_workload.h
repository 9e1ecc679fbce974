// Accounts between which money only moves. Each transaction that reads all of them, however long it takes,
// must see the sum of the start. The accounts are also registers: each write writes a version.
#pragma once

#include "tools/namsim/workloads/row_workload.h"

namespace namdb::sim {

class BankWorkload : public RowWorkload {
 public:
  using RowWorkload::RowWorkload;
  static constexpr std::int64_t kOpeningBalance = 100;

 protected:
  layout::Schema schema() const override;
  Status fill(layout::RowWriter row) const override;
  Result<history::Operation> read(std::uint64_t key, layout::RowView row) const override;
  Status write(txn::Transaction& transaction, const Reads& reads, std::size_t record) override;
  std::string audit(const std::vector<layout::RowView>& rows) const override;
};

}  // namespace namdb::sim
