// Schema changes in a block. Tables and indexes are made at once, and other sessions see them; a rollback of
// the block, or to a savepoint before, drops them again. Drops wait for the block's commit.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "compute/sql/session/session.h"

namespace namdb::sql {

using reactor::Task;

namespace {

Status only_outside(std::string_view command) {
  return Status(ErrorCode::active_transaction,
                std::string(command) + " cannot run inside a transaction block");
}

// The identity of the relation that has the name now; nullopt: there is none.
std::optional<std::uint32_t> find_id(const std::vector<storage::TableRef>& tables, const std::string& name,
                                     bool is_index) {
  for (const storage::TableRef& table : tables) {
    if (!is_index && table->name == name) return table->id;
    for (const storage::IndexRef& index : table->indexes) {
      if (is_index && index->name == name && !index->replaced()) return index->id;
    }
  }
  return std::nullopt;
}

}  // namespace

Task<Status> Session::note_created(RelationKind kind, std::string name) {
  const bool is_index = kind == RelationKind::index;
  const auto tables = co_await engine_.tables();
  if (!tables.ok()) co_return tables.status();
  if (const auto id = find_id(*tables, name, is_index))
    created_in_block_.push_back({kind, std::move(name), *id});
  co_return Status();
}

Task<Status> Session::run_block_ddl(const Plan& plan, ResultSink& sink) {
  if (const auto* create = plan.as<CreateTablePlan>()) {
    if (dropped_in_block_.contains(create->table.name)) {
      co_return Status(ErrorCode::feature_not_supported,
                       "a table with the name of one that the same block drops is not supported",
                       "commit the block between DROP TABLE and CREATE TABLE");
    }
    const auto before = co_await engine_.tables();
    if (!before.ok()) co_return before.status();
    const bool was_there = find_id(*before, create->table.name, false).has_value();
    Status status = co_await create_table(*create, sink);
    if (!status.ok() || was_there) co_return status;
    std::string name = create->table.name;
    co_return co_await note_created(RelationKind::table, std::move(name));
  }
  if (const auto* create = plan.as<CreateIndexPlan>()) {
    // It would wait for its own transaction to end.
    const bool has_begun =
        transaction_ != nullptr && (transaction_->has_writes() || transaction_->counters().round_trips != 0);
    if (has_begun) {
      co_return Status(ErrorCode::active_transaction,
                       "CREATE INDEX cannot run in a transaction block that has read or written rows",
                       "put it before these statements, or outside of the block");
    }
    std::string name;
    Status status = co_await create_index(*create, sink, &name);
    if (!status.ok() || name.empty()) co_return status;
    co_return co_await note_created(RelationKind::index, std::move(name));
  }
  const auto* const index = plan.as<DropIndexPlan>();
  const auto* const table = plan.as<DropTablePlan>();
  if (index == nullptr && table == nullptr) co_return only_outside(plan.tag);
  const RelationKind kind = index != nullptr ? RelationKind::index : RelationKind::table;
  std::vector<std::string> names = index != nullptr ? index->names : table->names;
  const bool if_exists = index != nullptr ? index->if_exists : table->if_exists;
  co_return co_await drop_in_block(kind, std::move(names), if_exists, sink);
}

Task<Status> Session::drop_in_block(RelationKind kind, std::vector<std::string> names, bool if_exists,
                                    ResultSink& sink) {
  std::vector<std::string> copy = names;
  std::vector<std::string> there;
  Status status = co_await check_drop(kind, std::move(copy), if_exists, &there, sink);
  if (!status.ok()) co_return status;
  for (std::string& name : there) {
    const auto own = std::ranges::find_if(created_in_block_, [&](const CreatedInBlock& created) {
      return created.kind == kind && created.name == name;
    });
    if (own != created_in_block_.end() && savepoints_.empty()) {
      created_in_block_.erase(own);
      std::vector<std::string> one(1, name);
      status = co_await drop_relations(kind, std::move(one), true, sink);
      if (!status.ok()) co_return status;
    } else {
      dropped_in_block_.emplace(std::move(name), kind);
    }
  }
  co_return Status();
}

Task<Status> Session::drop_at_commit(ResultSink& sink) {
  Status first;
  const auto dropped = std::exchange(dropped_in_block_, {});
  for (const auto& [name, kind] : dropped) {
    std::vector<std::string> one(1, name);
    Status status = co_await drop_relations(kind, std::move(one), true, sink);
    if (first.ok()) first = std::move(status);
  }
  created_in_block_.clear();
  if (first.ok()) co_return first;
  co_return Status(first.code(),
                   "the block is committed, but not all of its drops are done: " + first.message(),
                   "drop what is left once more");
}

void Session::forget_block_ddl() {
  created_in_block_.clear();
  dropped_in_block_.clear();
}

Task<Status> Session::undo_block_ddl(ResultSink& sink) {
  dropped_in_block_.clear();
  co_return co_await undo_created(0, sink);
}

Task<Status> Session::undo_created(std::size_t from, ResultSink& sink) {
  Status first;
  while (created_in_block_.size() > from) {
    const CreatedInBlock created = std::move(created_in_block_.back());
    created_in_block_.pop_back();
    const auto tables = co_await engine_.tables();
    if (!tables.ok()) co_return tables.status();
    // Another session may have dropped it, and given its name to another one.
    if (find_id(*tables, created.name, created.kind == RelationKind::index) != created.id) continue;
    std::vector<std::string> one(1, created.name);
    Status status = co_await drop_relations(created.kind, std::move(one), true, sink);
    if (first.ok()) first = std::move(status);
  }
  co_return first;
}

}  // namespace namdb::sql
