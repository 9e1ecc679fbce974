#include "tools/namsim/workloads/register_workload.h"

#include "tools/namsim/workloads/tables.h"
namespace namdb::sim {

using history::Operation;
using history::Version;

layout::Schema register_schema() {
  return bigints({"id", "version"});
}

layout::Schema RegisterWorkload::schema() const {
  return register_schema();
}

Status RegisterWorkload::fill(layout::RowWriter row) const {
  return row.set_integer(1, 0);
}

Result<Operation> RegisterWorkload::read(std::uint64_t key, layout::RowView row) const {
  return Operation::read(key, static_cast<Version>(row.integer(1)));
}

Status RegisterWorkload::write(txn::Transaction& transaction, const Reads& reads, std::size_t record_at) {
  const double probability = options().write_probability / (reads.all_slowly ? 4 : 1);
  std::uint64_t writes = 0;
  for (std::size_t i = 0; i < reads.keys.size(); ++i) {
    if (!random().chance(probability)) continue;
    if (writes == options().most_writes) break;
    ++writes;
    const Version version = recorded().next_version();
    Version displaced = 0;
    if (transaction.found(reads.rows[i])) {
      displaced = static_cast<Version>(transaction.row(reads.rows[i]).integer(1));
      const Status status =
          transaction.update(reads.rows[i]).set_integer(1, static_cast<std::int64_t>(version));
      if (!status.ok()) return status;
    } else {
      Result<layout::Row> row = loaded_row(reads.table, reads.keys[i]);
      if (!row.ok()) return row.status();
      const Status status = (*row).writer().set_integer(1, static_cast<std::int64_t>(version));
      if (!status.ok()) return status;
      transaction.insert(reads.table, (*row).bytes());
    }
    record(record_at, Operation::write(reads.keys[i], version, displaced));
  }
  return {};
}

}  // namespace namdb::sim
