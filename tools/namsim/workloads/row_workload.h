// Transactions on one table with a row a key, recorded in a history key by key.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/layout/row.h"
#include "tools/namsim/workloads/workload.h"

namespace namdb::sim {

class RowWorkload : public Workload {
 public:
  using Workload::Workload;
  static constexpr const char* kTable = "simulated";

  reactor::Task<Status> load(txn::Engine& engine) override;
  std::unique_ptr<WorkloadClient> open_client(txn::Engine& engine) override;
  reactor::Task<void> abandon_one(txn::Engine& engine, std::uint64_t duration_ns) override;

 protected:
  // A transaction's reads so far: its row ids, and the keys in the order in which they were read.
  struct Reads {
    storage::TableRef table;
    std::vector<std::uint64_t> keys;
    std::vector<txn::RowId> rows;
    bool all_slowly = false;  // a long reader
  };

  virtual layout::Schema schema() const = 0;
  // The columns behind the key (column 0), as loaded.
  virtual Status fill(layout::RowWriter row) const = 0;
  // The operation of the history for reading the row; an error if the row holds a value that no client
  // writes.
  virtual Result<history::Operation> read(std::uint64_t key, layout::RowView row) const = 0;
  // Buffers what the transaction writes after its reads, which are recorded, and records it.
  virtual Status write(txn::Transaction& transaction, const Reads& reads, std::size_t record) = 0;
  // Looks at all rows as one snapshot shows them; a complaint or nothing.
  virtual std::string audit(const std::vector<layout::RowView>&) const { return {}; }

  // The row as load() writes it.
  Result<layout::Row> loaded_row(const storage::TableRef& table, std::uint64_t key) const;

  void record(std::size_t transaction, history::Operation operation) {
    recorded().at(transaction).operations.push_back(std::move(operation));
  }

 private:
  class Client;
  reactor::Task<Status> touch(txn::Engine& engine, std::uint64_t session_id) override;
  reactor::Task<Status> attempt(txn::Engine& engine, txn::Session& session, std::size_t record);
  // After a fetch: records the reads, and audits them if they are all rows.
  Status take_reads(txn::Transaction& transaction, const Reads& reads, std::size_t record);
};

}  // namespace namdb::sim
