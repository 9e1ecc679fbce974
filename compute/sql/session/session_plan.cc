// Preparing statements.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "compute/sql/plan/plan_memory.h"
#include "compute/sql/session/session.h"
#include "compute/sql/session/statement_kind.h"
#include "compute/sql/syntax/syntax.h"
#include "compute/sql/system/virtual_table.h"
#include "compute/sql/value/enumeration.h"

namespace namdb::sql {

using reactor::Task;

namespace {

bool uses_catalog(const Plan& plan) {
  if (const auto* select = plan.as<SelectPlan>()) return select->reads_tables;
  return plan.is_transactional() || plan.as<ExplainPlan>() != nullptr ||
         plan.as<CreateIndexPlan>() != nullptr || plan.as<AlterTablePlan>() != nullptr ||
         plan.as<PreparePlan>() != nullptr || plan.as<DeclarePlan>() != nullptr ||
         plan.as<CreateTablePlan>() != nullptr || plan.as<CreateViewPlan>() != nullptr ||
         plan.as<LockPlan>() != nullptr;
}

std::string_view statistics_name(const Plan& plan) {
  if (const auto* call = plan.as<CallPlan>()) return call->definition->name;
  if (const auto* call = plan.as<CallRoutinePlan>()) return call->signature->name;
  return plan.tag;
}

// A statement within another one's plan; null: there is none.
Plan* plan_within(Plan& plan) {
  if (auto* prepare = std::get_if<PreparePlan>(&plan.body)) return prepare->statement.get();
  if (auto* declare = std::get_if<DeclarePlan>(&plan.body)) return declare->query.get();
  if (auto* explain = std::get_if<ExplainPlan>(&plan.body)) return explain->statement.get();
  return nullptr;
}

// The statement that is prepared, of the text's.
Node prepared_node(const PreparedStatement& prepared, const SyntaxTree& tree) {
  const Node statement = tree.statement(0);
  return prepared.within ? node(*find(*statement.body, "query")) : statement;
}

// Whether the error may be about a type that a statement has made.
bool may_be_of_type(const Status& status) {
  return status.code() == ErrorCode::undefined_object ||
         (status.code() == ErrorCode::invalid_text &&
          status.message().find(" for enum ") != std::string::npos);
}

// Those that a failed block accepts.
bool is_end_of_block(Node statement) {
  if (statement.kind != "TransactionStmt") return false;
  const std::string_view kind = text(*statement.body, "kind");
  return kind == "TRANS_STMT_COMMIT" || kind == "TRANS_STMT_ROLLBACK" || kind == "TRANS_STMT_ROLLBACK_TO";
}

}  // namespace

Task<Status> Session::look_up_tables(std::vector<std::string> names, BindInput* input) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string name = names[i];
    if (input->tables.contains(name) || input->views.contains(name)) continue;
    storage::TableRef table = engine_.cached_table(name);
    storage::RoutineRef view = table == nullptr ? engine_.cached_routine(storage::view_key(name)) : nullptr;
    if (table == nullptr && view == nullptr && find_virtual_table("", name) == nullptr) {
      Result<storage::TableRef> found = co_await engine_.table(name);
      if (!found.ok() && found.status().code() != ErrorCode::undefined_table) co_return found.status();
      if (found.ok()) table = std::move(found).value();
      if (table == nullptr) view = engine_.cached_routine(storage::view_key(name));
    }
    if (view != nullptr) {
      const Result<ViewRef> read = view_of(*view);
      if (!read.ok()) co_return read.status();
      for (const auto& [relation, columns] : (*read)->relations) names.push_back(relation);
      input->views.emplace(name, *read);
    } else if (table == nullptr && environment_.sequences != nullptr &&
               find_virtual_table("", name) == nullptr && !input->sequences.contains(name)) {
      std::string sequence = name;
      const Result<bool> exists = co_await environment_.sequences->exists(std::move(sequence));
      if (!exists.ok()) co_return exists.status();
      if (*exists) input->sequences.insert(name);
      if (*exists) names.emplace_back(storage::kSequencesTable);
    }
    if (table == nullptr || block_.dropped.contains(name)) continue;
    input->indexes.emplace(table.get(), table->indexes);
    input->tables.emplace(name, std::move(table));
  }
  relate_tables(*input);
  co_return Status();
}

// Those that are referenced are only read. Those that reference a table may be written by an action, and so
// lead to others.
void Session::relate_tables(BindInput& input) const {
  if (!engine_.has_foreign_keys() || input.tables.empty()) return;
  const std::vector<storage::TableRef> all = engine_.cached_tables();
  const auto is_there = [this](const storage::Table& table) {
    return table.replaces == 0 && !block_.dropped.contains(table.name);
  };
  std::vector<const storage::TableRef*> referencing;
  for (const storage::TableRef& table : all) {
    if (!table->foreign_keys.empty() && is_there(*table)) referencing.push_back(&table);
  }
  const auto add = [&input](const storage::TableRef& table) {
    input.indexes.emplace(table.get(), table->indexes);
    return input.related.emplace(table->id, table).second;
  };
  std::vector<storage::TableRef> open;
  for (const auto& [name, table] : input.tables) open.push_back(table);
  while (!open.empty()) {
    const storage::TableRef table = std::move(open.back());
    open.pop_back();
    for (const storage::ForeignKey& key : table->foreign_keys) {
      const auto parent = std::ranges::find(all, key.references, [](const auto& other) { return other->id; });
      if (parent != all.end() && is_there(**parent)) add(*parent);
    }
    for (const storage::TableRef* const child : referencing) {
      const bool references =
          std::ranges::any_of((*child)->foreign_keys,
                              [&](const storage::ForeignKey& key) { return key.references == table->id; });
      if (references && add(*child)) open.push_back(*child);
    }
  }
}

Task<Status> Session::look_up(std::vector<std::string> tables, std::vector<std::string> routines,
                              BindInput* input) {
  if (Status status = co_await look_up_tables(std::move(tables), input); !status.ok()) co_return status;
  if (Status status = co_await types_.follow(input); !status.ok()) co_return status;
  co_return co_await look_up_routines(std::move(routines), input);
}

Task<Result<Plan>> Session::make_plan(ParsedStatement parsing, std::vector<Type> declared) {
  Node statement = parsing.statement;
  Json renamed;
  if (Status status = check_names(statement, parsing.own_text()); !status.ok()) co_return status;
  if (Status status = co_await name_temporary(&statement, &renamed); !status.ok()) co_return status;
  BindInput input;
  input.procedures = &environment_.procedures;
  input.parameters = std::move(declared);
  input.facts = &facts_;
  // Read before the lookups: a change in between makes the plan look older than it is, which is safe.
  input.catalog_version = engine_.catalog_version();
  if (Status status = name_statement(statement, input); !status.ok()) co_return status;
  std::vector<std::string> named;
  std::vector<std::string> called;
  const auto name_tables = [&] {
    named = tables_named_by(statement, environment_.procedures);
    called = routines_named_by(statement);
  };
  if (parser_.is_long(parsing.length_bytes)) {
    Status named_status = co_await parser_.run_on_planning_thread(name_tables);
    if (!named_status.ok()) co_return named_status;
  } else {
    name_tables();
  }
  Status status = co_await look_up(std::move(named), std::move(called), &input);
  if (!status.ok()) co_return status;
  input.text = parsing.own_text();
  ErrorPlace place;
  input.place = &place;
  std::optional<Result<Plan>> plan;
  const auto work = [&plan, statement, &input] { plan.emplace(bind_statement(statement, input)); };
  bool types_are_read = false;
  while (true) {
    if (parser_.is_long(parsing.length_bytes)) {
      status = co_await parser_.run_on_planning_thread(work);
      if (!status.ok()) co_return status;
    } else {
      work();
    }
    // It may name a type, or a label of one, that the session has not read yet.
    if (plan->ok() || types_are_read || !may_be_of_type(plan->status())) break;
    status = co_await types_.read();
    if (!status.ok()) co_return status;
    types_are_read = true;
    place = {};
  }
  if (!plan->ok()) {
    error_.position = place.position_in(*parsing.text);
    error_.detail = place.detail();
    co_return std::move(*plan);
  }
  std::vector<std::uint32_t> tables;
  for (const auto& [name, table] : input.tables) tables.push_back(table->id);
  for (const auto& [id, table] : input.related) tables.push_back(id);
  if (Plan* const within = plan_within(**plan)) {
    within->tables = tables;
    within->names_version = names_version();
  }
  (*plan)->tables = std::move(tables);
  (*plan)->names_version = names_version();
  (*plan)->knows_types = facts_.types != nullptr && !facts_.types->empty();
  co_return std::move(*plan);
}

Task<Status> Session::plan_statement(PreparedStatement& prepared, ParsedStatement parsing) {
  if (state_ == State::failed && !parsing.statement.kind.empty() && !is_end_of_block(parsing.statement))
    co_return only_end_of_block();
  std::vector<Type> declared = prepared.declared;
  Result<Plan> plan = co_await make_plan(parsing, std::move(declared));
  if (!plan.ok()) co_return plan.status();
  Result<std::shared_ptr<const Plan>> kept = account_plan(std::move(plan).value());
  if (!kept.ok()) co_return kept.status();
  prepared.plan = std::move(kept).value();
  prepared.rights_epoch = 0;
  if (prepared.plan->is_transactional())
    prepared.statistics = &environment_.statistics.entry(statistics_name(*prepared.plan));
  co_return Status();
}

Result<std::shared_ptr<const Plan>> Session::account_plan(Plan plan) const {
  plan.memory = MemoryShare(environment_.client_memory);
  if (Status status = plan.memory.resize(memory_bytes(plan)); !status.ok()) return status;
  Plan* const within = plan.as<ExplainPlan>() == nullptr ? plan_within(plan) : nullptr;
  if (within != nullptr) {
    within->memory = MemoryShare(environment_.client_memory);
    if (Status status = within->memory.resize(memory_bytes(*within)); !status.ok()) return status;
  }
  return std::make_shared<const Plan>(std::move(plan));
}

Task<Status> Session::plan_text(PreparedStatement& prepared) {
  // Constants depend on the time zone.
  const bool shares = names_version() == 0 && facts_.zone() == absl::UTCTimeZone();
  PlanCache* const plans = shares ? environment_.plans : nullptr;
  if (plans != nullptr) {
    std::shared_ptr<const Plan> shared = plans->find(prepared.text, prepared.declared_oids);
    if (shared != nullptr && current(*shared)) {
      if (Status status = check_allowed(*shared); !status.ok()) co_return status;
      if (shared->is_transactional())
        prepared.statistics = &environment_.statistics.entry(statistics_name(*shared));
      prepared.plan = std::move(shared);
      prepared.rights_epoch = 0;
      co_return Status();
    }
  }
  ParsedText parsed = co_await parser_.parse(&prepared.text);
  if (const SyntaxError* error = parsed.error()) {
    error_.position = error->position;
    co_return error->status;
  }
  Status status;
  if (parsed.tree().statement_count() > 1) {
    status = Status(ErrorCode::syntax_error, "cannot insert multiple commands into a prepared statement");
  } else {
    const Node statement = parsed.tree().statement_count() == 0 ? Node{} : parsed.tree().statement(0);
    const ParsedStatement parsing{statement, 0, prepared.text.size(), &prepared.text};
    status = co_await plan_statement(prepared, parsing);
  }
  parser_.forget(std::move(parsed));
  if (status.ok() && plans != nullptr && !prepared.plan->depends_on_session())
    plans->add(prepared.text, prepared.declared_oids, prepared.plan);
  co_return status;
}

Task<Status> Session::prepare(std::string name, std::string text, std::vector<Oid> declared) {
  error_ = {};
  begin_statement();
  if (name.empty()) prepared_.close(name);  // also if preparing the new one fails
  auto prepared = std::make_shared<PreparedStatement>();
  for (const Oid oid : declared) {
    std::optional<TypeId> type = type_from_oid(oid);
    // Another worker may have made it.
    if (!type && made_type(oid)) {
      if (Status status = co_await types_.read(); !status.ok()) co_return status;
      type = type_from_oid(oid);
    }
    if (!type) {
      co_return Status(ErrorCode::feature_not_supported,
                       "parameter type with OID " + std::to_string(oid) + " is not supported");
    }
    prepared->declared.push_back({*type});
  }
  if (!name.empty() && prepared_.contains(name)) {
    co_return Status(ErrorCode::duplicate_prepared_statement,
                     "prepared statement \"" + name + "\" already exists");
  }
  prepared->text = std::move(text);
  prepared->declared_oids = std::move(declared);
  Status status = co_await plan_text(*prepared);
  if (!status.ok()) co_return status;
  co_return prepared_.keep(std::move(name), std::move(prepared), facts_.present_us());
}

// Tables that the block drops are not there for its statements, and temporary ones hide others.
std::uint64_t Session::names_version() const {
  const bool as_for_all = block_.dropped.empty() && temporary_.empty();
  return as_for_all ? 0 : 1 + block_.drop_changes + temporary_.changes();
}

bool Session::current(const Plan& plan) const {
  if (plan.as<FetchPlan>() != nullptr) {
    const std::shared_ptr<const Plan> fetched = plan_named(plan);
    return plan.as<FetchPlan>()->moves ||
           (fetched == nullptr ? plan.columns.empty() : same_columns(plan.columns, fetched->columns));
  }
  if (const auto* execute = plan.as<ExecutePlan>()) return execute->statement == plan_named(plan);
  if (!uses_catalog(plan) && !plan.knows_types) return true;
  return plan.catalog_version == engine_.catalog_version() && plan.names_version == names_version();
}

bool Session::current(const PreparedStatement& prepared) const {
  return current(*prepared.plan);
}

Task<Status> Session::renew(PreparedStatement& prepared) {
  begin_statement();
  co_return co_await plan_again(prepared, Origin::prepared);
}

Task<Status> Session::plan_again(PreparedStatement& prepared, Origin origin) {
  const std::shared_ptr<const Plan> before = prepared.plan;
  ParsedText parsed = co_await parser_.parse(&prepared.text);
  if (const SyntaxError* error = parsed.error()) co_return error->status;
  std::vector<Type> declared = prepared.declared;
  const ParsedStatement parsing{prepared_node(prepared, parsed.tree()), 0, prepared.text.size(),
                                &prepared.text};
  Result<Plan> plan = co_await make_plan(parsing, std::move(declared));
  parser_.forget(std::move(parsed));
  if (!plan.ok()) co_return plan.status();
  if (!plan->depends_on_session() && !same_columns(plan->columns, before->columns)) {
    if (origin == Origin::prepared)
      co_return Status(ErrorCode::feature_not_supported, "cached plan must not change result type");
    co_return Status(ErrorCode::catalog_changed,
                     "a table was dropped and created again while the statement ran");
  }
  Result<std::shared_ptr<const Plan>> kept = account_plan(std::move(plan).value());
  if (!kept.ok()) co_return kept.status();
  prepared.plan = std::move(kept).value();
  prepared.rights_epoch = 0;  // it may read other tables now
  co_return Status();
}

}  // namespace namdb::sql
