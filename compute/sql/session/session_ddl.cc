// Schema changes: outside of blocks they take effect at once (in blocks: session_block_ddl.cc).
#include "compute/sql/session/find_relation.h"
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
  const auto* const sequence = plan.as<SequencePlan>();
  const auto* const created_routine = plan.as<CreateRoutinePlan>();
  const auto* const dropped_routines = plan.as<DropRoutinePlan>();
  const bool is_of_tables = sequence == nullptr && created_routine == nullptr && dropped_routines == nullptr;
  if (state_ == State::block && is_of_tables) co_return co_await run_block_ddl(plan, sink);
  if (state_ == State::implicit) {
    Status status = co_await commit_transaction("block");
    if (!status.ok()) co_return status;
  }
  if (created_routine != nullptr) co_return co_await create_routine(*created_routine, sink);
  if (dropped_routines != nullptr) co_return co_await drop_routines(*dropped_routines, sink);
  if (sequence != nullptr) co_return co_await change_sequences(*sequence, plan.tag, sink);
  if (const auto* create = plan.as<CreateTablePlan>())
    co_return co_await create_table(*create, sink, nullptr);
  if (const auto* create = plan.as<CreateIndexPlan>())
    co_return co_await create_index(*create, sink, nullptr);
  if (const auto* alter = plan.as<AlterTablePlan>()) co_return co_await alter_table(*alter, sink);
  if (const auto* drop = plan.as<DropIndexPlan>())
    co_return co_await drop_relations(RelationKind::index, drop->names, drop->if_exists, sink);
  if (const auto* reindex = plan.as<ReindexPlan>()) co_return co_await run_reindex(*reindex, sink);
  const auto* drop = plan.as<DropTablePlan>();
  co_return co_await drop_relations(RelationKind::table, drop->names, drop->if_exists, sink);
}

Task<Status> Session::create_table(const CreateTablePlan& plan, ResultSink& sink, std::string* made) {
  txn::TableDefinition definition = plan.table;
  Status status;
  if (!plan.sequences.empty()) {
    std::string name = plan.table.name;
    const auto there = co_await engine_.table(std::move(name));
    if (there.ok())
      status = Status(ErrorCode::duplicate_table, "relation " + quoted(plan.table.name) + " already exists");
    if (!there.ok() && !unknown(there.status())) co_return there.status();
  }
  const bool is_new = status.ok();
  if (is_new) status = co_await create_sequences(&plan.sequences, &definition);
  if (!status.ok() && is_new) co_return status;
  const layout::Schema schema = definition.schema;
  for (std::uint32_t number = 1; is_new; ++number) {
    txn::TableDefinition wanted = definition;
    status = co_await engine_.create_table(std::move(wanted));
    if (number == kMaxNames || !choose_other_name(plan, status, number, definition)) break;
  }
  if (status.ok() && made != nullptr) *made = plan.table.name;
  // Another session has made it meanwhile.
  if (is_new && !status.ok()) {
    const Status dropped = co_await drop_sequences(&schema);
    static_cast<void>(dropped);  // the first error tells more
  }
  if (plan.if_not_exists && taken(status, plan.table.name)) {
    notify(sink, "NOTICE", "42P07", "relation " + quoted(plan.table.name) + " already exists, skipping");
    co_return Status();
  }
  co_return status;
}

Task<Status> Session::create_index(const CreateIndexPlan& plan, ResultSink& sink, std::string* made) {
  txn::IndexDefinition definition{plan.name, plan.table->name, plan.columns, plan.unique, plan.hash};
  for (std::uint32_t number = 1;; ++number) {
    txn::IndexDefinition wanted = definition;
    Status status = co_await engine_.create_index(std::move(wanted));
    if (!status.ok() && status.code() == ErrorCode::duplicate_key)
      describe_constraint(plan.table->name, definition.name, error_);
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

Task<Status> Session::check_drop(RelationKind kind, std::vector<std::string> names, bool if_exists,
                                 std::vector<std::string>* there, ResultSink& sink) {
  const bool as_index = kind == RelationKind::index;
  for (const std::string& name : names) {
    std::string wanted = name;
    Result<FoundRelation> relation = co_await find_relation(&engine_, std::move(wanted));
    if (!relation.ok()) co_return relation.status();
    if (dropped_in_block_.contains(name)) *relation = {};
    Status status = check_droppable(*relation, name, as_index);
    if (!status.ok() && if_exists && unknown(status)) {
      notify(sink, "NOTICE", "00000",
             (as_index ? "index " : "table ") + quoted(name) + " does not exist, skipping");
      continue;
    }
    if (!status.ok()) co_return status;
    there->push_back(name);
  }
  co_return Status();
}

Task<Status> Session::drop_relations(RelationKind kind, std::vector<std::string> names, bool if_exists,
                                     ResultSink& sink) {
  const bool as_index = kind == RelationKind::index;
  // All or nothing, as far as one server can see.
  std::vector<std::string> there;
  Status status = co_await check_drop(kind, std::move(names), if_exists, &there, sink);
  if (!status.ok()) co_return status;
  for (const std::string& name : there) {
    std::string wanted = name;
    if (as_index) {
      status = co_await engine_.drop_index(std::move(wanted), false);
    } else {
      const storage::TableRef table = engine_.cached_table(name);
      status = co_await engine_.drop_table(std::move(wanted));
      if (status.ok() && table != nullptr) status = co_await drop_sequences(&table->schema);
    }
    if (!status.ok() && unknown(status) && if_exists) {
      notify(sink, "NOTICE", "00000",
             (as_index ? "index " : "table ") + quoted(name) + " does not exist, skipping");
    } else if (!status.ok()) {
      co_return status;
    }
  }
  co_return Status();
}

}  // namespace namdb::sql
