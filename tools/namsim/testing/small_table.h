// A cluster in the simulator with the table "rows" of few rows, for tests that drive transactions step by
// step. Steps fail the test when they fail, except those that return a Status.
#pragma once

#include <catch2/catch.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "common/reactor/executor.h"
#include "compute/api/engine.h"
#include "tools/namsim/cluster/cluster.h"

namespace namdb::sim {

// The rows 0 to 3, value 0, and compute servers that use them.
class SmallTable {
 public:
  static constexpr std::int64_t kRows = 4;

  // `durable`: the memory servers keep a database on disk. `interposer` may be null, and outlives this.
  explicit SmallTable(std::string_view protocol, std::uint64_t max_transaction_ns = 10 * kSecond_ns,
                      std::string_view stages = "one-sided", std::uint32_t memory_servers = 1,
                      bool durable = false, Interposer* interposer = nullptr);
  ~SmallTable() {
    for (const auto& gate : gates_) REQUIRE(gate->count() == 0);
  }
  SmallTable(const SmallTable&) = delete;
  SmallTable& operator=(const SmallTable&) = delete;

  // Transactions begin on this one from now on.
  void add_compute() { use_compute(cluster_.add_compute()); }
  void use_compute(std::size_t compute);
  // With the transaction that runs there. Another one is to be used then.
  void kill_compute(std::unique_ptr<txn::Transaction> running);
  std::unique_ptr<txn::Transaction> begin() { return engine().begin(*session_); }
  std::unique_ptr<txn::Transaction> begin_in_new_session();

  // The value of a row.
  std::int64_t read(txn::Transaction& transaction, std::int64_t id);
  Status try_read(txn::Transaction& transaction, std::int64_t id);
  // As SELECT reads it: it is not to be written.
  std::int64_t look(txn::Transaction& transaction, std::int64_t id);
  Status try_look(txn::Transaction& transaction, std::int64_t id);
  Status try_count(txn::Transaction& transaction, const storage::TableRef& table);
  void write(txn::Transaction& transaction, std::int64_t id, std::int64_t value);
  Status try_write(txn::Transaction& transaction, std::int64_t id, std::int64_t value);
  void insert(txn::Transaction& transaction, std::int64_t id);
  Status try_insert(txn::Transaction& transaction, std::int64_t id);
  Status commit(txn::Transaction& transaction);
  // In a transaction of its own.
  void change(std::int64_t id, std::int64_t value);

  // Of the column "value".
  void create_index(bool hash) { REQUIRE(try_create_index(hash).ok()); }
  Status try_create_index(bool hash);
  void drop_index() { REQUIRE(run(engine().drop_index("by_value", false)).ok()); }
  // The number of rows of a whole scan, of the table or of the index that it had when this was created; of a
  // hash index those with value 0.
  std::size_t count(txn::Transaction& transaction, const storage::TableRef& table, bool by_index);
  storage::TableRef table();

  layout::ServerId server_of(std::int64_t id);
  std::vector<std::uint64_t> region(std::size_t server) {
    const ZeroedWords& words = cluster_.memory(server).words;
    return {words.begin(), words.end()};
  }
  // Old versions whose memory was given back.
  std::uint64_t collected() { return cluster_.memory(0).server->old_versions().collected(); }
  void restart_memory(std::size_t server) { cluster_.restart_memory(server); }

  Cluster& cluster() { return cluster_; }

  // Reads a row in the background: `*status` once that is done.
  void start_to_read(txn::Transaction& transaction, std::int64_t id, std::optional<Status>* status);
  void run_for(std::uint64_t duration_ns) { world_.run_for(duration_ns); }
  const Clock& clock() { return cluster_.worker(compute_).executor(); }

 private:
  txn::Engine& engine() { return cluster_.worker(compute_); }
  template <typename T>
  T run(reactor::Task<T> task) {
    return world_.run(cluster_.node(compute_), std::move(task));
  }

  fabric::sim::SimWorld world_;
  Cluster cluster_;
  std::size_t compute_ = 0;
  std::vector<std::unique_ptr<txn::Session>> sessions_;
  txn::Session* session_ = nullptr;
  std::vector<std::unique_ptr<reactor::Gate>> gates_;
};

}  // namespace namdb::sim
