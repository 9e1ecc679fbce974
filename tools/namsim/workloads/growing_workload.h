// A table that outgrows its buckets again and again while rows are inserted, changed and deleted. Its keys
// are in groups. Each group has a row in a second table, with the group's present keys and the sum of their
// values; the same transactions write both. Every snapshot must show the two in agreement, by lookups and by
// scans, each key once. The groups' rows are also registers whose history is checked (history/).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/fabric/sim/world.h"
#include "compute/api/engine.h"
#include "tools/namsim/history/history.h"

namespace namdb::sim {

struct GrowingOptions {
  std::uint64_t groups = 8;
  std::uint64_t keys_per_group = 24;  // at most 60
  std::uint64_t size_hint_rows = 16;
  double delete_probability = 0.2;
  double scan_probability = 0.1;
};

class GrowingWorkload {
 public:
  static constexpr const char* kTable = "growing";
  static constexpr const char* kGroups = "growing_groups";

  GrowingWorkload(fabric::sim::SimWorld& world, history::History& history, GrowingOptions options)
      : world_(world), history_(history), options_(options) {}

  // Creates both tables; no key is there.
  reactor::Task<Status> load(txn::Engine& engine);
  // One transaction, recorded in the history. A violated invariant is in anomaly().
  reactor::Task<bool> run_one(txn::Engine& engine, txn::Session& session, std::uint64_t session_id);
  // Writes every key, there or not: nothing may be locked for ever. Then compares all once more.
  reactor::Task<Status> touch_all(txn::Engine& engine);

  const std::string& anomaly() const { return anomaly_; }
  // Transactions that a conflict, or anything else that may be tried again, ended.
  std::uint64_t retries() const { return retries_; }

 private:
  struct Group {
    std::uint64_t number;
    std::vector<std::uint64_t> keys;  // positions in the group
    txn::RowId row;
    std::vector<txn::RowId> rows;  // of the keys
  };
  reactor::Task<Status> attempt(txn::Engine& engine, txn::Session& session, std::size_t record);
  reactor::Task<Status> compare_by_scan(txn::Transaction& transaction, storage::TableRef table,
                                        storage::TableRef groups);
  reactor::Task<Status> touch(txn::Engine& engine, txn::Session& session, std::uint64_t group);
  void ask(txn::Transaction& transaction, const storage::TableRef& table, const storage::TableRef& groups,
           Group& group) const;
  // Compares what was read of a group; false when there is an anomaly.
  bool agrees(txn::Transaction& transaction, const Group& group);
  Status change(txn::Transaction& transaction, const storage::TableRef& table, Group& group, bool all,
                history::Version version);
  void found_wrong(std::string what);

  fabric::sim::SimWorld& world_;
  history::History& history_;
  GrowingOptions options_;
  std::int64_t next_value_ = 1;
  std::uint64_t retries_ = 0;
  std::string anomaly_;
};

}  // namespace namdb::sim
