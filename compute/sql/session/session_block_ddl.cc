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
    block_.created.push_back({kind, std::move(name), *id});
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
  for (BlockChanges::Created& created : block_.created) {
    if (created.kind != RelationKind::table || created.id != table || altered == nullptr) continue;
    created.name = name;
    created.id = altered->id;
  }
  if (altered == nullptr) return;
  for (const storage::IndexRef& index : altered->indexes) {
    for (BlockChanges::Created& created : block_.created) {
      if (created.kind == RelationKind::index && created.name == index->name) created.id = index->id;
    }
    const auto dropped = block_.dropped.find(index->name);
    if (dropped != block_.dropped.end() && dropped->second.kind == RelationKind::index)
      dropped->second.id = index->id;
  }
}

Task<Status> Session::run_block_ddl(const Plan& plan, ResultSink& sink) {
  if (const auto* alter = plan.as<AlterTablePlan>()) co_return co_await alter_table(*alter, sink);
  if (const auto* drop = plan.as<DropIndexPlan>()) {
    Drop indexes{RelationKind::index, drop->names, drop->if_exists, drop->cascades};
    co_return co_await drop_in_block(std::move(indexes), sink);
  }
  if (const auto* drop = plan.as<DropTablePlan>()) {
    Drop tables{RelationKind::table, drop->names, drop->if_exists, drop->cascades};
    co_return co_await drop_in_block(std::move(tables), sink);
  }
  std::string made;
  std::shared_ptr<const TemporaryTable> replaced;
  Status status;
  const auto* const index = plan.as<CreateIndexPlan>();
  if (index != nullptr) {
    if (Status unread = check_not_read("CREATE INDEX", *index->table); !unread.ok()) co_return unread;
    if (Status aside = co_await set_reads_aside("CREATE INDEX", sink); !aside.ok()) co_return aside;
    status = co_await create_index(*index, sink, &made);
  } else {
    const auto& table = *plan.as<CreateTablePlan>();
    if (block_.dropped.contains(table.table.name)) {
      co_return Status(ErrorCode::feature_not_supported,
                       "a table with the name of one that the same block drops is not supported",
                       "commit the block between DROP TABLE and CREATE TABLE");
    }
    replaced = temporary_.replaced_by(table.table.name);
    status = co_await create_table(table, sink, &made);
    if (status.ok() && table.drops_at_commit && !made.empty()) temporary_.drop_at_commit(made);
  }
  if (!status.ok() || made.empty()) co_return status;
  const std::size_t before = block_.created.size();
  status =
      co_await note_created(index != nullptr ? RelationKind::index : RelationKind::table, std::move(made));
  if (block_.created.size() > before) block_.created.back().replaced = std::move(replaced);
  co_return status;
}

Task<Status> Session::drop_in_block(Drop drop, ResultSink& sink) {
  const RelationKind kind = drop.kind;
  std::vector<std::string> there;
  Status status = co_await check_drop(&drop, &there, sink);
  if (!status.ok()) co_return status;
  std::vector<std::string> relations = there;
  for (const auto& [name, dropped] : block_.dropped) {
    if (dropped.kind == kind) relations.push_back(name);
  }
  Dependents dependents;
  status = co_await find_dependents(kind, std::move(relations), &dependents);
  if (!status.ok()) co_return status;
  if (Status allowed = check_dependents(drop, there, dependents, sink); !allowed.ok()) co_return allowed;
  for (const std::string& name : drop.names) {
    if (kind == RelationKind::table && std::ranges::find(there, name) == there.end())
      temporary_.drop_gone(name);
  }
  for (const std::string& name : there) {
    const storage::TableRef table = kind == RelationKind::table ? engine_.cached_table(name) : nullptr;
    if (table != nullptr) status = check_not_read("DROP TABLE", *table);
    if (!status.ok()) co_return status;
  }
  for (std::string& name : there) {
    const auto own = std::ranges::find_if(block_.created, [&](const BlockChanges::Created& created) {
      return created.kind == kind && created.name == name;
    });
    // The commit needs the tables that the transaction has written, and validates what it has read.
    const bool is_used = transaction_ != nullptr && (transaction_->has_writes() || engine_.serializable());
    // A rollback needs to know what it has replaced.
    const bool goes_now =
        own != block_.created.end() && own->replaced == nullptr && savepoints_.empty() && !is_used;
    if (goes_now) {
      block_.created.erase(own);
      status = co_await drop_relations(silent_drop(kind, name), sink);
      if (!status.ok()) co_return status;
    } else {
      std::string wanted = name;
      const auto relation = co_await find_relation(&engine_, std::move(wanted));
      if (!relation.ok()) co_return relation.status();
      const auto id = id_of(*relation, kind == RelationKind::index);
      if (!id) continue;
      status = rights_.check_object_owner({storage::ObjectKind::table, relation->table->id, {}},
                                          kind == RelationKind::index ? "index" : "table", name);
      if (!status.ok()) co_return status;
      block_.drop(std::move(name), {kind, *id});
    }
  }
  co_return Status();
}

Task<Status> Session::drop_at_commit(const std::string* name, const BlockChanges::Dropped* drop,
                                     ResultSink& sink) {
  const bool is_index = drop->kind == RelationKind::index;
  std::string wanted = *name;
  const auto relation = co_await find_relation(&engine_, std::move(wanted));
  if (!relation.ok()) co_return relation.status();
  const auto id = id_of(*relation, is_index);
  // Another session may have dropped it, and given its name to another one.
  if (id && *id != drop->id) {
    notify(sink, "WARNING", "01000",
           std::string(is_index ? "index" : "table") + " \"" + *name +
               "\" stays: it is not the one that the block has dropped");
    co_return Status();
  }
  co_return co_await drop_relations(silent_drop(drop->kind, *name), sink);
}

Task<Status> Session::drop_at_commit(ResultSink& sink) {
  Status first;
  temporary_.forget_dropped_gone();
  drop_temporary_at_commit();
  const auto dropped = block_.exchange_drops({});
  drops_are_checked_ = true;
  for (const auto& [name, drop] : dropped) {
    if (drop.kind == RelationKind::type) continue;
    Status status = co_await drop_at_commit(&name, &drop, sink);
    if (first.ok()) first = std::move(status);
  }
  // Columns of them are gone by now, except those that other sessions have made meanwhile.
  for (const auto& [name, drop] : dropped) {
    if (drop.kind != RelationKind::type) continue;
    Status status = co_await drop_type_unless_used(drop.id, sink);
    if (first.ok()) first = std::move(status);
  }
  drops_are_checked_ = false;
  const std::vector<std::string> unsettled = std::exchange(block_.unsettled, {});
  for (const std::string& table : unsettled) {
    std::string name = table;
    std::vector<std::string> none;
    static_cast<void>(co_await settle_foreign_keys(std::move(name), std::move(none)));
  }
  block_.created.clear();
  if (first.ok()) co_return first;
  co_return Status(first.code(),
                   "the block is committed, but not all of its drops are done: " + first.message(),
                   "drop what is left once more");
}

void Session::forget_block_ddl() {
  types_.forget();
  block_.created.clear();
  block_.exchange_drops({});
  temporary_.forget_dropped_at_commit();
  block_.unsettled.clear();
}

Task<Status> Session::undo_block_ddl(ResultSink& sink) {
  if (!block_.dropped.empty()) types_.forget();
  temporary_.forget_dropped_at_commit();
  block_.exchange_drops({});
  block_.unsettled.clear();
  Status status = co_await undo_created(0, sink);
  temporary_.restore_gone({});
  co_return status;
}

Task<Status> Session::undo_created(std::size_t from, ResultSink& sink) {
  Status first;
  while (block_.created.size() > from) {
    const BlockChanges::Created created = std::move(block_.created.back());
    block_.created.pop_back();
    if (created.kind == RelationKind::type) {
      Status status = co_await drop_type_unless_used(created.id, sink);
      if (first.ok()) first = std::move(status);
      continue;
    }
    if (created.kind == RelationKind::view) {
      const auto all = co_await engine_.routines();
      if (!all.ok()) co_return all.status();
      const storage::RoutineRef there = engine_.cached_routine(storage::view_key(created.name));
      if (there == nullptr || there->id != created.id) continue;
      std::string view = created.name;
      Status status = co_await drop_view(std::move(view));
      if (first.ok()) first = std::move(status);
      continue;
    }
    // Even if it cannot be dropped now.
    if (created.kind == RelationKind::table) temporary_.forget(created.name);
    std::string name = created.name;
    const auto relation = co_await find_relation(&engine_, std::move(name));
    Status status = relation.status();
    // Another session may have dropped it, and given its name to another one.
    if (status.ok() && id_of(*relation, created.kind == RelationKind::index) == created.id) {
      drops_are_checked_ = true;
      status = co_await drop_relations(silent_drop(created.kind, created.name), sink);
      drops_are_checked_ = false;
    }
    temporary_.put_back(created.replaced.get());
    if (!relation.ok()) co_return relation.status();
    if (first.ok()) first = std::move(status);
  }
  co_return first;
}

}  // namespace namdb::sql
