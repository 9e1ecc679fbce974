#include "compute/sql/execute/run_to_end.h"

#include <memory>
#include <utility>

#include "compute/sql/execute/gathered_memory.h"
#include "compute/sql/execute/gathered_rows.h"
#include "compute/sql/execute/long_value_rows.h"
#include "compute/sql/execute/quick_statement.h"
#include "compute/sql/execute/run_routine.h"

namespace namdb::sql {
namespace {

// The rows of a query of WITH.
struct WithRows {
  GatheredRows rows;
  GatheredMemory memory{"a query of WITH can keep", "fewer columns of RETURNING take less"};
  std::size_t counted_bytes = 0;

  Status count(MemoryBudget* budget) {
    const std::size_t bytes = rows.bytes() + rows.size() * sizeof(rows[0]);
    return memory.add(budget, bytes - std::exchange(counted_bytes, bytes));
  }
};

reactor::Task<Status> keep_select(Run& nested, const SelectPlan& select, WithRows* kept) {
  const std::unique_ptr<Query> query = nested.start_query(select);
  while (!query->done()) {
    const std::size_t before = kept->rows.size();
    if (Status status = co_await query->fetch(nested, kPortionRows); !status.ok()) co_return status;
    if (Status status = kept->count(nested.client_memory); !status.ok()) co_return status;
    if (kept->rows.size() - before < kPortionRows) break;
  }
  co_return Status();
}

reactor::Task<Status> run_query_of_with(Run& run, const WithPlan::Query& query) {
  const auto kept = std::make_shared<WithRows>();
  Arena arena;
  Run nested = run.nested(kept->rows, arena, run.work, {});
  nested.statement = query.statement.get();
  nested.whole = nullptr;
  if (const auto* select = query.statement->as<SelectPlan>()) {
    if (Status status = co_await keep_select(nested, *select, kept.get()); !status.ok()) co_return status;
  } else {
    if (Status status = co_await run_to_end(nested, *query.statement); !status.ok()) co_return status;
    if (Status status = kept->count(run.client_memory); !status.ok()) co_return status;
  }
  run.state.working[query.rows.get()] = kept->rows.rows();
  run.state.written.push_back(kept);
  co_return Status();
}

reactor::Task<Status> run_with(Run& run, const WithPlan& plan) {
  for (const WithPlan::Query& query : plan.queries) {
    Status status = co_await run_query_of_with(run, query);
    if (!status.ok()) co_return status;
  }
  const auto* const select = plan.statement->as<SelectPlan>();
  if (select == nullptr) co_return co_await run_to_end(run, *plan.statement);
  const std::unique_ptr<Query> query = run.start_query(*select);
  co_return co_await query->fetch(run, 0);
}

reactor::Task<Status> run_body(Run& run, const Plan& plan) {
  if (const auto* call = plan.as<CallPlan>()) return run_call(run, *call, plan.columns);
  if (const auto* call = plan.as<CallRoutinePlan>()) return run_routine_call(run, *call, plan.columns);
  if (const auto* update = plan.as<UpdatePlan>()) return run_update(run, *update);
  if (const auto* insert = plan.as<InsertPlan>()) return run_insert(run, *insert);
  if (const auto* deletion = plan.as<DeletePlan>()) return run_delete(run, *deletion);
  if (const auto* with = plan.as<WithPlan>()) return run_with(run, *with);
  if (const auto* truncate = plan.as<TruncatePlan>()) return run_truncate(run, *truncate);
  if (const auto* copy = plan.as<CopyFromPlan>()) return run_copy_from(run, *copy);
  return run_copy_to(run, *plan.as<CopyToPlan>());
}

reactor::Task<Status> run_usually(Run& run, const Plan& plan) {
  Status status = co_await run_body(run, plan);
  if (status.ok() && run.long_values.has_work()) status = co_await write_long_values(&run);
  co_return status;
}

}  // namespace

reactor::Task<Status> run_to_end(Run& run, const Plan& plan) {
  return QuickStatement(plan).fits() ? run_quickly(run, plan, run_usually) : run_usually(run, plan);
}

}  // namespace namdb::sql
