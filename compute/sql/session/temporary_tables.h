// The temporary tables of a session: the prefix of their names in the catalog, and the tables that it has
// made, by the names that statements give them. A table is gone when the execution slot in its name has
// ended, as it does when the worker loses its connection to the memory servers: any session may drop it then.
// Its name stays here until the session drops it itself, so that a statement that names it has no table,
// instead of a permanent one of the same name.
//
// Belongs to its session, which tells it of the tables that it makes and drops in the catalog.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "compute/api/engine.h"
#include "compute/api/table.h"
#include "compute/sql/session/block_changes.h"
#include "compute/sql/syntax/temporary_names.h"

namespace namdb::sql {

// One that the session has made.
struct TemporaryTable {
  std::string stored_name;
  storage::TableRef seen;         // as it was when the session saw it last; null: it never did
  bool dropped_in_block = false;  // the block has dropped it when it was gone already
  bool is_emptied = false;        // ON COMMIT DELETE ROWS
};

class TemporaryTables final : public TemporaryNames {
 public:
  using Tables = std::map<std::string, TemporaryTable, std::less<>>;

  // Both outlive it.
  TemporaryTables(txn::Engine& engine, const BlockChanges& block) : engine_(engine), block_(block) {}

  std::string_view prefix() const override { return prefix_; }
  bool has_table(std::string_view name) const override;
  bool has_index(std::string_view name) const override;

  // How often names have come to mean other tables.
  std::uint64_t changes() const { return changes_; }

  // There were none yet, and there is no prefix.
  bool empty() const { return prefix_.empty(); }
  // Whether tables that are made now stay: under a slot that has ended, others would drop them.
  bool may_make() const { return !prefix_.empty() && !lease_->ended(); }
  // From now on tables are made under that prefix, which has the slot of the lease. The tables that others
  // have left behind are to be dropped.
  void begin(std::string prefix, std::shared_ptr<const txn::SlotLease> lease);
  std::uint32_t slot() const { return lease_->slot(); }
  bool sweep_is_due() const { return sweep_is_due_; }
  void end_sweep() { sweep_is_due_ = false; }
  // Keeps what the engine knows of them now.
  void look();

  // The table is gone, or has another prefix than the present one.
  bool is_gone(const TemporaryTable& table) const;
  // The session has made a table of that name, or dropped it. Nothing if it is not temporary.
  void note(const std::string& stored_name, bool is_emptied);
  void forget(const std::string& stored_name);
  // The stored names of those that are there.
  std::vector<std::string> stored_names() const;
  // All of them; taken away while the session drops tables that are not its own.
  Tables take() { return std::exchange(tables_, {}); }
  void give_back(Tables tables) {
    ++changes_;
    tables_ = std::move(tables);
  }

  // Before a table of that name is made: the one that is gone and has the name; null: there is none.
  std::shared_ptr<const TemporaryTable> replaced_by(const std::string& stored_name) const;
  // Gives `replaced` its name back, as the table that replaced it is undone. Does nothing if it is null.
  void put_back(const TemporaryTable* replaced);
  // DROP TABLE IF EXISTS in a block, of one that is gone; and the block's commit.
  void drop_gone(const std::string& stored_name);
  void forget_dropped_gone();
  // The names of those that the block has dropped so far; a rollback leaves these dropped.
  std::set<std::string> dropped_gone() const;
  void restore_gone(const std::set<std::string>& dropped);

  // A statement has written to the tables of these ids.
  void note_writes(std::span<const std::uint32_t> tables);
  // Before a commit: the tables with ON COMMIT DELETE ROWS; none, unless there were writes to one since the
  // last commit.
  std::vector<storage::TableRef> take_emptied();
  // feature_not_supported: the table references one with ON COMMIT DELETE ROWS, and `is_emptied` says that it
  // keeps its own rows. `detail` receives the error's.
  Status check_references(std::string_view table, const std::vector<storage::ForeignKey>& keys,
                          bool is_emptied, std::string& detail) const;

  // ON COMMIT DROP of a table of the block, and the block's end.
  void drop_at_commit(std::string stored_name) { of_block_.push_back(std::move(stored_name)); }
  std::vector<std::string> take_dropped_at_commit() { return std::exchange(of_block_, {}); }
  void forget_dropped_at_commit() { of_block_.clear(); }

 private:
  std::vector<storage::TableRef> emptied() const;

  txn::Engine& engine_;
  const BlockChanges& block_;
  std::string prefix_;  // of the stored names; empty: there were none yet
  std::shared_ptr<const txn::SlotLease> lease_;
  Tables tables_;                      // by the names of statements
  std::vector<std::string> of_block_;  // ON COMMIT DROP
  bool sweep_is_due_ = false;
  bool has_writes_ = false;  // to tables with ON COMMIT DELETE ROWS
  std::uint64_t changes_ = 0;
};

}  // namespace namdb::sql
