#include "tools/namsim/workloads/bank_workload.h"

namespace namdb::sim {

using history::Operation;
using history::Version;

layout::Schema BankWorkload::schema() const {
  std::vector<layout::Column> columns(3);
  columns[0] = {.name = "id"};
  columns[1] = {.name = "version"};
  columns[2] = {.name = "balance"};
  return std::move(*layout::Schema::create(std::move(columns), {0}));
}

Status BankWorkload::fill(layout::RowWriter row) const {
  if (Status status = row.set_integer(1, 0); !status.ok()) return status;
  return row.set_integer(2, kOpeningBalance);
}

Result<Operation> BankWorkload::read(std::uint64_t key, layout::RowView row) const {
  return Operation::read(key, static_cast<Version>(row.integer(1)));
}

Status BankWorkload::write(txn::Transaction& transaction, const Reads& reads, std::size_t record_at) {
  if (reads.all_slowly || reads.keys.size() < 2) return {};
  const auto amount = static_cast<std::int64_t>(random().between(1, 50));
  for (std::size_t i = 0; i < 2; ++i) {
    const auto displaced = static_cast<Version>(transaction.row(reads.rows[i]).integer(1));
    const std::int64_t balance = transaction.row(reads.rows[i]).integer(2);
    const Version version = recorded().next_version();
    layout::RowWriter row = transaction.update(reads.rows[i]);
    Status status = row.set_integer(1, static_cast<std::int64_t>(version));
    if (status.ok()) status = row.set_integer(2, i == 0 ? balance - amount : balance + amount);
    if (!status.ok()) return status;
    record(record_at, Operation::write(reads.keys[i], version, displaced));
  }
  return {};
}

std::string BankWorkload::audit(const std::vector<layout::RowView>& rows) const {
  std::int64_t sum = 0;
  for (const layout::RowView& row : rows) sum += row.integer(2);
  const auto expected = kOpeningBalance * static_cast<std::int64_t>(rows.size());
  if (sum == expected) return {};
  return "a snapshot shows the sum " + std::to_string(sum) + " instead of " + std::to_string(expected);
}

}  // namespace namdb::sim
