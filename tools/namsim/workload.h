// What the clients of a simulated run do: transactions on one table with a row a key, recorded in a history.
// A workload draws from the world's generator and from nothing else.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/fabric/sim/world.h"
#include "common/layout/row.h"
#include "common/reactor/executor.h"
#include "compute/txn/engine.h"
#include "tools/namsim/history/history.h"

namespace namdb::sim {

struct WorkloadOptions {
  std::uint64_t keys = 6;
  // Of these: not loaded; their first write inserts them. An absent row counts as one as loaded. Registers
  // only.
  std::uint64_t absent_keys = 0;
  std::uint64_t fewest_keys = 1;
  std::uint64_t keys_per_transaction = 3;  // at most
  std::uint64_t most_writes = ~std::uint64_t{0};
  double write_probability = 0.5;        // for each key that was read
  double long_reader_probability = 0.1;  // reads all keys, one fetch each, with pauses
  std::uint64_t pause_ns = 20'000;       // of long readers, at most
  bool full_region = false;              // transactions may fail because a memory server is full
};

class Workload {
 public:
  // All outlive the workload.
  Workload(fabric::sim::SimWorld& world, history::History& history, WorkloadOptions options)
      : world_(world), history_(history), options_(options) {}
  Workload(const Workload&) = delete;
  Workload& operator=(const Workload&) = delete;
  virtual ~Workload() = default;

  // Creates and fills the table.
  reactor::Task<Status> load(txn::Engine& engine);
  // The memory servers are gone with all data: until the table is loaded again nothing is begun and nothing
  // that is missing is a complaint. What is recorded afterwards has nothing to do with what was before.
  void data_is_gone();
  void data_is_back() { gone_ = false; }
  bool gone() const { return gone_; }
  // In each life of the data, the first transaction of the history.
  const std::vector<std::size_t>& lives() const { return lives_; }
  // Begins a transaction, reads a row, and stops there for so long, in virtual time.
  reactor::Task<void> abandon_one(txn::Engine& engine, std::uint64_t duration_ns);
  // One transaction, recorded whatever comes of it; its outcome. If its compute server dies on the way, it
  // stays in the history with an unknown outcome.
  reactor::Task<history::Outcome> run_one(txn::Engine& engine, txn::Session& session,
                                          std::uint64_t session_id);
  // Reads every row, recorded, and updates it: nothing may be locked for ever. The last error if some key
  // stays out of reach.
  reactor::Task<Status> touch_all(txn::Engine& engine);
  // What no transaction should have met: a version that its snapshot needs and that is not there although the
  // transaction is younger than E, an error that is none of a conflict or of a lost connection, an invariant
  // of the workload that did not hold.
  const std::string& complaint() const { return complaint_; }

 protected:
  // What a transaction of run_one has so far: its row ids, and the keys in the order in which they were read.
  struct Reads {
    storage::TableRef table;
    std::vector<std::uint64_t> keys;
    std::vector<txn::RowId> rows;
    bool all_slowly = false;  // a long reader
  };

  virtual layout::Schema schema() const = 0;
  // The columns behind the key (column 0), as loaded.
  virtual Status fill(layout::RowWriter row) const = 0;
  // What reading the row is in the history; an error if the row holds what nobody writes.
  virtual Result<history::Operation> read(std::uint64_t key, layout::RowView row) const = 0;
  // Buffers what the transaction writes after its reads, which are recorded, and records it.
  virtual Status write(txn::Transaction& transaction, const Reads& reads, std::size_t record) = 0;
  // Looks at all rows as one snapshot shows them; a complaint or nothing.
  virtual std::string audit(const std::vector<layout::RowView>&) const { return {}; }

  // The row as load() writes it.
  Result<layout::Row> loaded_row(const storage::TableRef& table, std::uint64_t key) const;

  Random& random() { return world_.random(); }
  const WorkloadOptions& options() const { return options_; }
  history::History& recorded() { return history_; }
  void record(std::size_t transaction, history::Operation operation) {
    history_.at(transaction).operations.push_back(std::move(operation));
  }

 private:
  void judge(const Status& status);
  reactor::Task<Status> attempt(txn::Engine& engine, txn::Session& session, std::size_t record);
  // After a fetch: records the reads, and audits them if they are all rows.
  Status take_reads(txn::Transaction& transaction, const Reads& reads, std::size_t record);

  fabric::sim::SimWorld& world_;
  history::History& history_;
  WorkloadOptions options_;
  std::string complaint_;
  std::vector<std::size_t> lives_{0};
  bool gone_ = false;
};

}  // namespace namdb::sim
