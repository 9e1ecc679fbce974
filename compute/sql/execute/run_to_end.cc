#include "compute/sql/execute/run_to_end.h"

#include "compute/sql/execute/run_routine.h"

namespace namdb::sql {

reactor::Task<Status> run_to_end(Run& run, const Plan& plan) {
  if (const auto* call = plan.as<CallPlan>()) return run_call(run, *call, plan.columns);
  if (const auto* call = plan.as<CallRoutinePlan>()) return run_routine_call(run, *call, plan.columns);
  if (const auto* update = plan.as<UpdatePlan>()) return run_update(run, *update);
  if (const auto* insert = plan.as<InsertPlan>()) return run_insert(run, *insert);
  if (const auto* deletion = plan.as<DeletePlan>()) return run_delete(run, *deletion);
  if (const auto* truncate = plan.as<TruncatePlan>()) return run_truncate(run, *truncate);
  if (const auto* copy = plan.as<CopyFromPlan>()) return run_copy_from(run, *copy);
  return run_copy_to(run, *plan.as<CopyToPlan>());
}

}  // namespace namdb::sql
