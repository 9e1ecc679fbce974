// An engine in one map, for tests of what lies above engines: snapshots, first committer wins, errors on
// demand. One thread, nothing ever waits.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/reactor/testing/manual_executor.h"
#include "compute/api/engine.h"

namespace namdb::sql::testing {

using reactor::testing::ManualExecutor;

class FakeEngine : public txn::Engine {
 public:
  explicit FakeEngine(reactor::Executor& executor) : executor_(executor) {}

  // The next `count` commits (of transactions that wrote) or fetches end with this error.
  void fail_commits(std::size_t count, ErrorCode code) { failing_commits_ = {count, code}; }
  void fail_fetches(std::size_t count, ErrorCode code) { failing_fetches_ = {count, code}; }
  // After `others` more, a drop of a routine ends with this error, once.
  void fail_routine_drop(std::size_t others, ErrorCode code) { failing_routine_drop_ = {others + 1, code}; }
  // Another server has changed the routine, and this engine's server has not heard of it.
  void change_routine_unheard(std::string_view name, std::string definition);
  // The transactions that are open now count as idle for too long.
  void expire_transactions() { ++expirations_; }
  // While true, fetches wait as if others held locks.
  void hold_fetches(bool hold) { hold_fetches_ = hold; }
  std::size_t open_transactions() const { return open_transactions_; }
  std::size_t begun_transactions() const { return begun_transactions_; }
  std::size_t backoffs() const { return backoffs_; }
  // The most open transactions, of all sessions, at any back-off.
  std::size_t most_open_at_backoff() const { return most_open_at_backoff_; }
  // Differs from what it was if anything was written since then: rows, tables, routines or roles.
  std::uint64_t changes() const { return clock_ + catalog_version_ + next_table_ + roles_->version(); }
  // Removes the table's indexes, in place, as a worker's catalog cache changes its tables.
  void clear_indexes(std::string_view table);
  // No commit comes any more of transactions that are open now.
  void end_slot() { ++slot_; }
  // How many slots were leased so far.
  std::size_t leases() const { return leases_; }
  txn::RetryOptions& mutable_retry_options() { return retry_; }

  reactor::Executor& executor() override { return executor_; }
  std::unique_ptr<txn::Session> open_session() override { return std::make_unique<txn::Session>(); }
  std::unique_ptr<txn::Transaction> begin(txn::Session& session) override;
  reactor::Task<Result<storage::TableRef>> table(std::string name) override;
  storage::TableRef cached_table(std::string_view name) override;
  std::uint64_t catalog_version() const override { return catalog_version_; }
  reactor::Task<Result<std::vector<storage::TableRef>>> tables() override;
  std::vector<storage::TableRef> cached_tables() const override;
  bool has_foreign_keys() const override { return true; }
  reactor::Task<Status> create_table(txn::TableDefinition definition) override;
  reactor::Task<Status> drop_table(std::string name) override;
  reactor::Task<Status> create_index(txn::IndexDefinition definition) override;
  reactor::Task<Status> rebuild_index(std::string name) override;
  reactor::Task<Status> drop_index(std::string name, bool constraint) override;
  reactor::Task<Status> alter_table(txn::TableAlteration alteration) override;
  reactor::Task<Status> replace_table(txn::TableReplacement replacement) override;
  reactor::Task<Result<storage::RoutineRef>> routine(std::string name) override;
  storage::RoutineRef cached_routine(std::string_view name) override;
  reactor::Task<Result<std::vector<storage::RoutineRef>>> routines() override;
  reactor::Task<Status> create_routine(txn::RoutineDefinition definition) override;
  reactor::Task<Status> drop_routine(std::string name, std::uint64_t version) override;
  storage::RolesRef cached_roles() const override { return roles_; }
  reactor::Task<Result<storage::RolesRef>> roles() override { co_return roles_; }
  reactor::Task<Status> change_roles(txn::RoleChange change) override;
  reactor::Task<void> backoff(std::uint32_t attempt) override;
  const txn::RetryOptions& retry_options() const override { return retry_; }
  reactor::Task<Result<std::uint32_t>> commit_slot() override { co_return slot_; }
  reactor::Task<Result<bool>> slot_ended(std::uint32_t slot) override { co_return slot != slot_; }
  reactor::Task<Result<std::shared_ptr<const txn::SlotLease>>> lease_slot() override;

 private:
  friend class FakeTransaction;
  friend class FakeScan;
  friend class FakeLease;
  struct Version {
    std::uint64_t committed = 0;
    bool deleted = false;
    std::vector<std::byte> row;
  };
  using Rows = std::map<std::vector<std::byte>, std::vector<Version>>;
  struct Failure {
    std::size_t count = 0;
    ErrorCode code = ErrorCode::internal;
  };
  Status take_failure(Failure& failure) {
    if (failure.count == 0) return {};
    --failure.count;
    return Status(failure.code, "injected");
  }
  // The newest committed rows.
  std::map<std::vector<std::byte>, std::vector<std::byte>> latest(std::uint32_t table) const;
  // Whether a table or an index has the name.
  bool taken(std::string_view name) const;
  enum class Constraint : std::uint8_t { none, unique, primary_key };
  // Without indexes.
  Status add_table(const txn::TableDefinition& definition);
  // `violation` as in IndexDefinition.
  Status add_constraints(const txn::TableDefinition& definition, txn::Violation* violation);
  Status fill_table(const txn::TableReplacement& replacement,
                    const std::vector<std::vector<std::byte>>& rows);
  Status add_index(const txn::IndexDefinition& definition, Constraint constraint);
  // An object without an owner has no rights.
  void own(storage::SecuredObject object, std::uint32_t owner);
  void disown(const storage::SecuredObject& object);
  void set_roles(std::vector<storage::Role> roles, std::vector<storage::ObjectRights> rights);
  const Version* visible(std::uint32_t table, const std::vector<std::byte>& key,
                         std::uint64_t snapshot) const;
  // Of the foreign keys that reference that table.
  void change_references(std::uint32_t table, const std::function<void(storage::ForeignKey&)>& change);

  reactor::Executor& executor_;
  txn::RetryOptions retry_;
  std::map<std::string, storage::TableRef, std::less<>> tables_;
  std::vector<storage::TableRef> former_tables_;  // whose schemas indexes borrow
  std::map<std::uint32_t, Rows> data_;
  std::map<std::string, storage::RoutineRef, std::less<>> routines_;
  storage::RolesRef roles_ = std::make_shared<const storage::Roles>();
  std::uint32_t next_table_ = 1;
  std::uint32_t slot_ = 20;
  std::size_t leases_ = 0;
  Failure failing_routine_drop_;  // the count: of drops until then
  std::uint64_t clock_ = 1;
  std::uint64_t catalog_version_ = 1;
  std::size_t open_transactions_ = 0;
  std::size_t begun_transactions_ = 0;
  std::size_t backoffs_ = 0;
  std::uint64_t expirations_ = 0;
  std::size_t most_open_at_backoff_ = 0;
  Failure failing_commits_;
  Failure failing_fetches_;
  bool hold_fetches_ = false;
};

}  // namespace namdb::sql::testing
