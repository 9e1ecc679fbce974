// Schema changes: outside of blocks they take effect at once (in blocks: session_block_ddl.cc).
#include <algorithm>

#include "compute/api/transaction_facts.h"
#include "compute/sql/session/find_relation.h"
#include "compute/sql/session/long_value_keepers.h"
#include "compute/sql/session/session.h"
#include "compute/sql/system/server_table.h"

namespace namdb::sql {

using reactor::Task;

namespace {

std::string quoted(const std::string& name) {
  return "\"" + name + "\"";
}

// Whether a name may be dropped; undefined_table and undefined_object when there is none.
Status check_droppable(const FoundRelation& relation, const std::string& name, bool as_index) {
  const storage::Table* const table = relation.table.get();
  const ServerTable* const own = table == nullptr ? nullptr : find_server_table(table->name);
  // Another one may have the name in databases of before it was reserved.
  const bool is_own =
      own != nullptr && (own->name != txn::TransactionIds::kTable || txn::TransactionIds::fits(*table));
  if (is_own) {
    return Status(ErrorCode::insufficient_privilege,
                  std::string("permission denied for ") + (as_index ? "index " : "table ") + name,
                  "the server keeps " + std::string(own->kept) + " there");
  }
  if (as_index && relation.index != nullptr) {
    if (!relation.index->constraint) return {};
    const std::string constraint = "constraint " + name + " on table " + relation.table->name;
    return Status(ErrorCode::dependent_objects_still_exist,
                  "cannot drop index " + name + " because " + constraint + " requires it",
                  "You can drop " + constraint + " instead.");
  }
  if (!as_index && relation.table != nullptr && relation.index == nullptr) return {};
  if (relation.table != nullptr) {
    return Status(ErrorCode::wrong_object_type,
                  quoted(name) + (as_index ? " is not an index" : " is not a table"),
                  as_index ? "Use DROP TABLE to remove a table." : "Use DROP INDEX to remove an index.");
  }
  return as_index ? Status(ErrorCode::undefined_object, "index " + quoted(name) + " does not exist")
                  : Status(ErrorCode::undefined_table, "table " + quoted(name) + " does not exist");
}

// Whether a name may be reindexed.
Status check_reindexable(const FoundRelation& relation, const std::string& name, bool of_table) {
  if (relation.table == nullptr) {
    return of_table ? Status(ErrorCode::undefined_table, "relation " + quoted(name) + " does not exist")
                    : Status(ErrorCode::undefined_object, "index " + quoted(name) + " does not exist");
  }
  if (of_table != (relation.index == nullptr)) {
    return Status(ErrorCode::wrong_object_type,
                  quoted(name) + (of_table ? " is not a table" : " is not an index"));
  }
  if (relation.index != nullptr && relation.index->hash) {
    return Status(ErrorCode::feature_not_supported, "REINDEX of a hash index is not supported",
                  "it grows by itself, and its entries lie on all memory servers");
  }
  return {};
}

bool unknown(const Status& status) {
  return status.code() == ErrorCode::undefined_table || status.code() == ErrorCode::undefined_object;
}

bool taken(const Status& status, const std::string& name) {
  return !status.ok() && status.code() == ErrorCode::duplicate_table &&
         status.message() == "relation " + quoted(name) + " already exists";
}

constexpr std::uint32_t kMaxNames = 1000;

std::string numbered(const std::string& name, std::uint32_t number) {
  return name.substr(0, 58) + std::to_string(number);
}

// After a constraint's name was taken that the binder has chosen. False: it was not that.
bool choose_other_name(const CreateTablePlan& plan, const Status& status, std::uint32_t number,
                       txn::TableDefinition& definition) {
  const auto change = [&](const std::string& chosen, std::string& name) {
    if (!taken(status, name) || !plan.chosen_names.contains(chosen)) return false;
    name = numbered(chosen, number);
    return true;
  };
  bool changed = change(plan.table.ordered_key, definition.ordered_key);
  for (std::size_t i = 0; i < definition.unique.size(); ++i)
    changed |= change(plan.table.unique[i].name, definition.unique[i].name);
  return changed;
}

}  // namespace

Task<Status> Session::run_ddl(const Plan& plan, ResultSink& sink) {
  if (state_ == State::block && plan.as<ReindexPlan>() != nullptr) {
    co_return Status(ErrorCode::active_transaction,
                     std::string(plan.tag) + " cannot run inside a transaction block");
  }
  if (read_only()) {
    co_return Status(ErrorCode::read_only_transaction,
                     "cannot execute " + std::string(plan.tag) + " in a read-only transaction");
  }
  // Another server may have changed what the session may do.
  if (const auto roles = co_await engine_.roles(); !roles.ok()) co_return roles.status();
  follow_roles();
  const auto* const sequence = plan.as<SequencePlan>();
  const auto* const created_routine = plan.as<CreateRoutinePlan>();
  const auto* const dropped_routines = plan.as<DropRoutinePlan>();
  const auto* const of_roles = plan.as<RolePlan>();
  const auto* const created_view = plan.as<CreateViewPlan>();
  const auto* const dropped_views = plan.as<DropViewPlan>();
  const auto* const types = plan.as<EnumerationPlan>();
  const bool is_of_tables = sequence == nullptr && created_routine == nullptr &&
                            dropped_routines == nullptr && created_view == nullptr &&
                            dropped_views == nullptr && of_roles == nullptr && types == nullptr;
  if (state_ == State::block && is_of_tables) co_return co_await run_block_ddl(plan, sink);
  if (state_ == State::implicit) {
    Status status = co_await commit_transaction("block");
    if (!status.ok()) co_return status;
  }
  if (of_roles != nullptr) co_return co_await run_role(*of_roles, plan.tag, sink);
  if (created_routine != nullptr) co_return co_await create_routine(*created_routine, sink);
  if (dropped_routines != nullptr) co_return co_await drop_routines(*dropped_routines, sink);
  if (created_view != nullptr) co_return co_await create_view(*created_view, sink);
  if (types != nullptr) co_return co_await change_types(*types, sink);
  if (dropped_views != nullptr) co_return co_await drop_views(*dropped_views, sink);
  if (sequence != nullptr) co_return co_await change_sequences(*sequence, plan.tag, sink);
  if (const auto* create = plan.as<CreateTablePlan>()) {
    co_await sweep_temporary();
    Status status = co_await create_table(*create, sink, nullptr);
    if (status.ok() && create->drops_at_commit) co_await drop_temporary(create->table.name);
    co_return status;
  }
  if (const auto* create = plan.as<CreateIndexPlan>())
    co_return co_await create_index(*create, sink, nullptr);
  if (const auto* alter = plan.as<AlterTablePlan>()) co_return co_await alter_table(*alter, sink);
  if (const auto* drop = plan.as<DropIndexPlan>()) {
    Drop indexes{RelationKind::index, drop->names, drop->if_exists, drop->cascades};
    co_return co_await drop_relations(std::move(indexes), sink);
  }
  if (const auto* reindex = plan.as<ReindexPlan>()) co_return co_await run_reindex(*reindex, sink);
  const auto* drop = plan.as<DropTablePlan>();
  Drop tables{RelationKind::table, drop->names, drop->if_exists, drop->cascades};
  co_return co_await drop_relations(std::move(tables), sink);
}

Task<Status> Session::create_table(const CreateTablePlan& plan, ResultSink& sink, std::string* made) {
  txn::TableDefinition definition = plan.table;
  Status status = rights_.check_may_create();
  // In PostgreSQL the type of the table's rows has its name.
  if (status.ok() && facts_.types != nullptr && facts_.types->contains(plan.table.name)) {
    status = Status(
        ErrorCode::duplicate_object, "type " + quoted(plan.table.name) + " already exists",
        "A relation has an associated type of the same name, so you must use a name that doesn't conflict "
        "with any existing type.");
  }
  if (status.ok()) {
    status =
        temporary_.check_references(plan.table.name, plan.table.foreign_keys, plan.is_emptied, error_.detail);
  }
  if (!status.ok()) co_return status;
  definition.owner = rights_.owner_of_new();
  if (!plan.sequences.empty()) {
    std::string name = plan.table.name;
    const auto there = co_await engine_.table(std::move(name));
    if (there.ok())
      status = Status(ErrorCode::duplicate_table, "relation " + quoted(plan.table.name) + " already exists");
    if (!there.ok() && !unknown(there.status())) co_return there.status();
  }
  // Where transactions are serializable, a transaction need not write the referenced row; but until all know
  // of the foreign keys they do.
  for (storage::ForeignKey& key : definition.foreign_keys) key.unsettled = engine_.serializable();
  if (status.ok()) {
    std::string name = plan.table.name;
    status = co_await check_no_sequence(std::move(name));
    if (!status.ok() && !taken(status, plan.table.name)) co_return status;
  }
  const bool is_new = status.ok();
  if (is_new) status = co_await check_default_sequences(&definition.schema);
  if (is_new && status.ok())
    status = co_await create_sequences(&plan.sequences, &plan.sequence_options, &definition,
                                       rights_.owner_of_new());
  if (!status.ok() && is_new) co_return status;
  const layout::Schema schema = definition.schema;
  for (std::uint32_t number = 1; is_new; ++number) {
    txn::TableDefinition wanted = definition;
    status = co_await engine_.create_table(std::move(wanted));
    if (number == kMaxNames || !choose_other_name(plan, status, number, definition)) break;
  }
  if (is_new && status.ok()) {
    status = co_await type_uses_.hold_types(&definition);
    if (!status.ok()) {
      const bool were_checked = std::exchange(drops_are_checked_, true);
      // The first error tells more.
      static_cast<void>(co_await drop_relations(silent_drop(RelationKind::table, plan.table.name), sink));
      drops_are_checked_ = were_checked;
      co_return status;
    }
  }
  if (status.ok()) temporary_.note(plan.table.name, plan.is_emptied);
  if (status.ok() && made != nullptr) *made = plan.table.name;
  // Another session has made it meanwhile.
  if (is_new && !status.ok()) {
    const Status dropped = co_await drop_sequences(&schema);
    static_cast<void>(dropped);  // the first error tells more
  }
  if (status.ok() && engine_.serializable() && !definition.foreign_keys.empty()) {
    if (transaction_ == nullptr) {
      std::string name = plan.table.name;
      std::vector<std::string> none;
      // A foreign key that stays unsettled is as good, but its writers conflict more.
      static_cast<void>(co_await settle_foreign_keys(std::move(name), std::move(none)));
    } else {
      block_.unsettled.push_back(plan.table.name);
    }
  }
  if (plan.if_not_exists && taken(status, plan.table.name)) {
    notify(sink, "NOTICE", "42P07", "relation " + quoted(plan.table.name) + " already exists, skipping");
    co_return Status();
  }
  co_return status;
}

// Not for an index that is there.
Task<Status> Session::make_room(const CreateIndexPlan& plan, ResultSink& sink) {
  std::string name = plan.name;
  const Result<FoundRelation> known = co_await find_relation(&engine_, std::move(name));
  if (!known.ok()) co_return known.status();
  const bool is_there = known->table != nullptr || known->index != nullptr;
  if (is_there && !plan.name_is_chosen) co_return Status();
  co_return co_await replace_rows(*plan.room, sink, nullptr);
}

Task<Status> Session::create_index(const CreateIndexPlan& plan, ResultSink& sink, std::string* made) {
  if (Status status = rights_.check_table_owner(*plan.table); !status.ok()) co_return status;
  if (Status status = rights_.check_may_create(); !status.ok()) co_return status;
  if (plan.room != nullptr) {
    Status status = co_await make_room(plan, sink);
    if (!status.ok()) co_return status;
  }
  txn::IndexDefinition definition{plan.name, plan.table->name, plan.columns, plan.unique, plan.hash};
  txn::Violation violation;
  definition.violation = &violation;
  for (std::uint32_t number = 1;; ++number) {
    std::string name = definition.name;
    Status status = co_await check_no_sequence(std::move(name));
    txn::IndexDefinition wanted = definition;
    // A table that takes the place of this one may have its name.
    if (status.ok() && plan.change != nullptr && definition.name == plan.table->name)
      status = Status(ErrorCode::duplicate_table, "relation " + quoted(definition.name) + " already exists");
    if (status.ok() && plan.change != nullptr) {
      status = co_await replace_rows(*plan.change, sink, &definition.name);
    } else if (status.ok()) {
      status = co_await engine_.create_index(std::move(wanted));
    }
    if (!status.ok() && status.code() == ErrorCode::duplicate_key)
      describe_duplicates(violation, plan.table->name, definition.name, error_);
    if (status.ok() && made != nullptr) *made = definition.name;
    if (!taken(status, definition.name)) co_return status;
    if (plan.if_not_exists) {
      notify(sink, "NOTICE", "42P07", "relation " + quoted(plan.name) + " already exists, skipping");
      co_return Status();
    }
    if (!plan.name_is_chosen || number == kMaxNames) co_return status;
    definition.name = numbered(plan.name, number);
  }
}

Task<Status> Session::run_reindex(const ReindexPlan& plan, ResultSink& sink) {
  std::string wanted = plan.name;
  Result<FoundRelation> relation = co_await find_relation(&engine_, std::move(wanted));
  if (!relation.ok()) co_return relation.status();
  Status status = check_reindexable(*relation, plan.name, plan.of_table);
  if (!status.ok()) co_return status;
  status = rights_.check_object_owner({storage::ObjectKind::table, relation->table->id, {}},
                                      plan.of_table ? "table" : "index", plan.name);
  if (!status.ok()) co_return status;
  if (!plan.of_table) {
    wanted = plan.name;
    co_return co_await engine_.rebuild_index(std::move(wanted));
  }
  // A copy: the table's list changes with each of them.
  const std::vector<storage::IndexRef> indexes = relation->table->indexes;
  for (const storage::IndexRef& index : indexes) {
    if (index->replaced() || !index->ready()) continue;
    if (index->hash) {
      notify(sink, "NOTICE", "00000", "hash index " + quoted(index->name) + " is left as it is");
      continue;
    }
    wanted = index->name;
    status = co_await engine_.rebuild_index(std::move(wanted));
    // Another session may have dropped it.
    if (!status.ok() && status.code() != ErrorCode::undefined_object) co_return status;
  }
  co_return Status();
}

Task<Status> Session::check_drop(const Drop* drop, std::vector<std::string>* there, ResultSink& sink) {
  const bool as_index = drop->kind == RelationKind::index;
  for (const std::string& name : drop->names) {
    std::string wanted = name;
    Result<FoundRelation> relation = co_await find_relation(&engine_, std::move(wanted));
    if (!relation.ok()) co_return relation.status();
    if (block_.dropped.contains(name)) *relation = {};
    if (relation->table == nullptr && engine_.cached_routine(storage::view_key(name)) != nullptr) {
      co_return Status(ErrorCode::wrong_object_type,
                       quoted(name) + (as_index ? " is not an index" : " is not a table"),
                       "Use DROP VIEW to remove a view.");
    }
    Status status = check_droppable(*relation, name, as_index);
    if (status.ok() && !drops_are_checked_) {
      status = rights_.check_object_owner({storage::ObjectKind::table, relation->table->id, {}},
                                          as_index ? "index" : "table", name);
    }
    if (!status.ok() && drop->if_exists && unknown(status)) {
      notify(sink, "NOTICE", "00000",
             (as_index ? "index " : "table ") + quoted(name) + " does not exist, skipping");
      continue;
    }
    if (!status.ok()) co_return status;
    there->push_back(name);
  }
  co_return Status();
}

Task<Status> Session::drop_relations(Drop drop, ResultSink& sink) {
  const bool as_index = drop.kind == RelationKind::index;
  // All or nothing, as far as one server can see.
  std::vector<std::string> there;
  Status status = co_await check_drop(&drop, &there, sink);
  if (!status.ok()) co_return status;
  std::vector<std::string> relations = there;
  Dependents dependents;
  status = co_await find_dependents(drop.kind, std::move(relations), &dependents);
  if (!status.ok()) co_return status;
  if (Status allowed = check_dependents(drop, there, dependents, sink); !allowed.ok()) co_return allowed;
  if (Status gone = co_await drop_dependents(&dependents); !gone.ok()) co_return gone;
  for (const std::string& name : drop.names) {
    if (!as_index && std::ranges::find(there, name) == there.end()) temporary_.forget(name);
  }
  for (const std::string& name : there) {
    std::string wanted = name;
    if (as_index) {
      std::string index = name;
      const auto relation = co_await find_relation(&engine_, std::move(index));
      status = co_await engine_.drop_index(std::move(wanted), false);
      if (status.ok() && relation.ok() && relation->table != nullptr) {
        std::string table = relation->table->name;
        co_await forget_index_columns(std::move(table));
      }
    } else {
      const storage::TableRef table = engine_.cached_table(name);
      status = co_await engine_.drop_table(std::move(wanted));
      if (status.ok() && table != nullptr) status = co_await drop_long_values(&engine_, table->id);
      if (status.ok() && table != nullptr) status = co_await drop_sequences(&table->schema);
    }
    if (!status.ok() && unknown(status) && drop.if_exists) {
      notify(sink, "NOTICE", "00000",
             (as_index ? "index " : "table ") + quoted(name) + " does not exist, skipping");
    } else if (!status.ok()) {
      co_return status;
    }
    if (!as_index) temporary_.forget(name);
  }
  co_return Status();
}

}  // namespace namdb::sql
