// Schema changes in a block. Tables and indexes are made at once, and other sessions see them; a rollback of
// the block, or to a savepoint before, drops them again. Drops wait for the block's commit.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "compute/sql/session/find_relation.h"
#include "compute/sql/session/session.h"

namespace namdb::sql {

using reactor::Task;

namespace {

// The identity of the relation that has the name now; nullopt: there is none of that kind.
std::optional<std::uint32_t> id_of(const FoundRelation& relation, bool is_index) {
  if (relation.table == nullptr || is_index != (relation.index != nullptr)) return std::nullopt;
  return is_index ? relation.index->id : relation.table->id;
}

}  // namespace

Task<Status> Session::note_created(RelationKind kind, std::string name) {
  std::string wanted = name;
  const auto relation = co_await find_relation(&engine_, std::move(wanted));
  if (!relation.ok()) co_return relation.status();
  if (const auto id = id_of(*relation, kind == RelationKind::index))
    created_in_block_.push_back({kind, std::move(name), *id});
  co_return Status();
}

// It would wait for its own transaction to end. One that has only read is committed, and the block goes on
// with another one.
Task<Status> Session::set_reads_aside(std::string_view statement, ResultSink& sink) {
  if (transaction_ == nullptr) co_return Status();
  if (transaction_->has_writes() || !savepoints_.empty()) {
    co_return Status(ErrorCode::active_transaction,
                     std::string(statement) +
                         " cannot run in a transaction block that has written rows, or has a savepoint",
                     "put it before these statements, or outside of the block");
  }
  // Cursors show what they would have shown.
  Status status = co_await keep_open_portals(nullptr, nullptr, &sink);
  if (status.ok() && transaction_->counters().round_trips != 0) status = co_await transaction_->commit();
  if (!status.ok()) co_return status;
  transaction_.reset();
  co_return Status();
}

void Session::note_altered(std::uint32_t table, const std::string& name) {
  const storage::TableRef altered = engine_.cached_table(name);
  for (CreatedInBlock& created : created_in_block_) {
    if (created.kind != RelationKind::table || created.id != table || altered == nullptr) continue;
    created.name = name;
    created.id = altered->id;
  }
}

Task<Status> Session::run_block_ddl(const Plan& plan, ResultSink& sink) {
  if (const auto* alter = plan.as<AlterTablePlan>()) co_return co_await alter_table(*alter, sink);
  if (const auto* drop = plan.as<DropIndexPlan>())
    co_return co_await drop_in_block(RelationKind::index, drop->names, drop->if_exists, sink);
  if (const auto* drop = plan.as<DropTablePlan>())
    co_return co_await drop_in_block(RelationKind::table, drop->names, drop->if_exists, sink);
  std::string made;
  Status status;
  const auto* const index = plan.as<CreateIndexPlan>();
  if (index != nullptr) {
    status = check_not_read("CREATE INDEX", *index->table);
    if (status.ok()) status = co_await set_reads_aside("CREATE INDEX", sink);
    if (!status.ok()) co_return status;
    status = co_await create_index(*index, sink, &made);
  } else {
    const auto& table = *plan.as<CreateTablePlan>();
    if (dropped_in_block_.contains(table.table.name)) {
      co_return Status(ErrorCode::feature_not_supported,
                       "a table with the name of one that the same block drops is not supported",
                       "commit the block between DROP TABLE and CREATE TABLE");
    }
    status = co_await create_table(table, sink, &made);
  }
  if (!status.ok() || made.empty()) co_return status;
  co_return co_await note_created(index != nullptr ? RelationKind::index : RelationKind::table,
                                  std::move(made));
}

Task<Status> Session::drop_in_block(RelationKind kind, std::vector<std::string> names, bool if_exists,
                                    ResultSink& sink) {
  std::vector<std::string> copy = names;
  std::vector<std::string> there;
  Status status = co_await check_drop(kind, std::move(copy), if_exists, &there, sink);
  if (!status.ok()) co_return status;
  for (const std::string& name : there) {
    const storage::TableRef table = kind == RelationKind::table ? engine_.cached_table(name) : nullptr;
    if (table != nullptr) status = check_not_read("DROP TABLE", *table);
    if (!status.ok()) co_return status;
  }
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
    std::string name = created.name;
    const auto relation = co_await find_relation(&engine_, std::move(name));
    if (!relation.ok()) co_return relation.status();
    // Another session may have dropped it, and given its name to another one.
    if (id_of(*relation, created.kind == RelationKind::index) != created.id) continue;
    std::vector<std::string> one(1, created.name);
    Status status = co_await drop_relations(created.kind, std::move(one), true, sink);
    if (first.ok()) first = std::move(status);
  }
  co_return first;
}

}  // namespace namdb::sql
