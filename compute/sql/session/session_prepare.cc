// PREPARE, EXECUTE and DEALLOCATE. Statements that PREPARE and the protocol's Parse have prepared share their
// names.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "compute/sql/session/session.h"
#include "compute/sql/session/statement_kind.h"
#include "compute/sql/syntax/syntax.h"

namespace namdb::sql {

using reactor::Task;

namespace {

// Its columns are those that the command's plan had, or it cannot be run any more.
Status plan_has_changed() {
  return Status(ErrorCode::feature_not_supported, "cached plan must not change result type");
}

Status no_such_statement(std::string_view name) {
  return Status(ErrorCode::undefined_prepared_statement,
                "prepared statement \"" + std::string(name) + "\" does not exist");
}

}  // namespace

std::shared_ptr<const Plan> Session::plan_named(const Plan& plan) const {
  if (const auto* explain = plan.as<ExplainPlan>()) return plan_named(*explain->statement);
  if (const auto* execute = plan.as<ExecutePlan>()) {
    const auto found = prepared_.find(execute->name);
    return found == nullptr ? nullptr : found->plan;
  }
  const auto* fetch = plan.as<FetchPlan>();
  const Portal* const found = fetch == nullptr ? nullptr : portals_.find(fetch->name);
  return found == nullptr ? nullptr : found->plan;
}

Status Session::name_statement(Node command, BindInput& input) {
  if (command.kind == "ExplainStmt") return name_statement(node(*find(*command.body, "query")), input);
  const bool executes = command.kind == "ExecuteStmt";
  if (!executes && command.kind != "FetchStmt") return {};
  Plan plan;
  if (executes) {
    plan.body = ExecutePlan{std::string(text(*command.body, "name")), nullptr, {}};
  } else {
    plan.body = FetchPlan{std::string(text(*command.body, "portalname"))};
  }
  input.named = plan_named(plan);
  if (!executes || input.named == nullptr) return {};
  const std::size_t wanted = input.named->parameters.size();
  const std::size_t given = list(*command.body, "params").size();
  if (wanted == given) return {};
  error_.detail = "Expected " + std::to_string(wanted) + " parameters but got " + std::to_string(given) + ".";
  return Status(ErrorCode::syntax_error, "wrong number of parameters for prepared statement \"" +
                                             std::string(text(*command.body, "name")) + "\"");
}

Task<Status> Session::run_prepare(const PreparePlan& plan, const Portal& running) {
  auto prepared = std::make_shared<PreparedStatement>();
  prepared->text = running.prepared->text;
  prepared->within = true;
  prepared->declared = plan.declared;
  prepared->plan = plan.statement;
  prepared->statistics = &environment_.statistics.entry(plan.statement->tag);
  std::string name = plan.name;
  co_return prepared_.keep(std::move(name), std::move(prepared), facts_.present_us());
}

Status Session::run_deallocate(const DeallocatePlan& plan) {
  if (plan.name.empty()) {
    prepared_.close_all();
    return {};
  }
  if (find_prepared(plan.name) == nullptr) return no_such_statement(plan.name);
  close_prepared(plan.name);
  return {};
}

Task<Status> Session::begin_execute(std::shared_ptr<const Plan> plan, Portal* target, ResultSink* sink) {
  const ExecutePlan& execute = *plan->as<ExecutePlan>();
  const std::shared_ptr<PreparedStatement> prepared = prepared_.find(execute.name);
  if (prepared == nullptr) co_return no_such_statement(execute.name);
  if (prepared->plan->as<ExecutePlan>() != nullptr) {
    co_return Status(ErrorCode::feature_not_supported, "EXECUTE of an EXECUTE is not supported");
  }
  if (!current(*prepared->plan)) {
    Status status = co_await plan_again(*prepared, Origin::prepared);
    error_.position = 0;  // in the text that was prepared
    if (!status.ok()) co_return status;
  }
  const Plan& executed = *prepared->plan;
  const bool has_types = std::ranges::equal(
      executed.parameters, execute.arguments, {}, [](const Type& type) { return type.id; },
      [](const ExprPtr& argument) { return argument->type.id; });
  const bool has_columns =
      execute.statement != nullptr && same_columns(execute.statement->columns, executed.columns);
  if (!has_types || !has_columns) co_return plan_has_changed();
  std::vector<Datum> values(execute.arguments.size());
  {
    Portal none;
    Run run = make_run(transaction_.get(), none, *sink);
    const EvalContext context = run.context();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const Expr& argument = *execute.arguments[i];
      const auto evaluate_it = [&] { return evaluate(argument, context, values[i]); };
      Status status = evaluate_it();
      if (run.work.paused()) status = co_await run.resume(evaluate_it);
      if (!status.ok()) co_return status;
    }
    target->arrays.reset();
    const std::span<const Datum> kept = target->arrays.keep(std::span<const Datum>(values));
    target->parameters.assign(kept.begin(), kept.end());
  }
  target->memory = MemoryShare(environment_.client_memory);
  Status status = target->memory.resize(target->arrays.allocated_bytes());
  if (!status.ok()) co_return status;
  target->prepared = prepared;
  target->plan = prepared->plan;
  ++prepared->runs;
  co_return Status();
}

}  // namespace namdb::sql
