#include "compute/sql/execute/routine_checks.h"

#include <algorithm>
#include <string>
#include <vector>

namespace namdb::sql {
namespace {

bool meet(const std::vector<std::uint32_t>& left, const std::vector<std::uint32_t>& right) {
  return std::ranges::find_first_of(left, right) != left.end();
}

// The command by which a statement writes; empty: it writes nothing by itself.
std::string_view writing_command_of(const Plan& plan) {
  if (const auto* select = plan.as<SelectPlan>()) return select->locking_command;
  return plan.is_call() ? std::string_view() : plan.tag;
}

Status refused(std::string_view what) {
  return Status(ErrorCode::feature_not_supported,
                "a function that " + std::string(what) + " is not supported");
}

// `around`: the run of a statement in which the function is called.
Status check_within(const Run& around, bool only_reads, const Plan& plan) {
  const Plan& outer = *around.statement;
  const Run& whole = around.whole == nullptr ? around : *around.whole;
  if (!plan.writes.empty() && outer.calls_read_only)
    return refused("writes, called in WHERE of UPDATE or DELETE, by a cursor, or before OFFSET or LIMIT,");
  if (const auto* call = plan.as<CallPlan>()) {
    // It may write to any of its tables.
    std::vector<std::uint32_t> tables;
    for (const storage::TableRef& table : call->tables) tables.push_back(table->id);
    if (outer.calls_read_only || meet(tables, outer.reads) || meet(tables, outer.writes))
      return refused(
          "calls a procedure of a library, which may write to a table of the statement around it,");
  }
  if (meet(plan.writes, outer.reads)) return refused("writes to a table that the statement around it reads");
  // Rows that the statement has changed, and still holds, must not go.
  const bool removes = plan.as<InsertPlan>() == nullptr && plan.as<UpdatePlan>() == nullptr;
  if (removes && meet(plan.writes, outer.writes))
    return refused("removes rows of a table that the statement around it writes");
  if (!meet(plan.reads, outer.writes)) return {};
  // A volatile function sees the rows that the statement has changed already, another one sees none.
  if (only_reads ? whole.affected > 0 : whole.selects_rows)
    return refused("reads a table that the statement around it writes");
  return {};
}

}  // namespace

Status check_statement(const Run& run, const CompiledRoutine& routine, const Plan& plan) {
  const std::string_view command = writing_command_of(plan);
  const bool only_reads = routine.signature->only_reads();
  if (only_reads && (!command.empty() || plan.is_call())) {
    return Status(ErrorCode::feature_not_supported, std::string(plan.is_call() ? "CALL" : command) +
                                                        " is not allowed in a non-volatile function");
  }
  if (!command.empty()) {
    if (Status status = run.waiting.check_may_write(command); !status.ok()) return status;
  }
  for (const Run* around = run.around; around != nullptr; around = around->around) {
    if (around->statement == nullptr) continue;
    if (Status status = check_within(*around, only_reads, plan); !status.ok()) return status;
  }
  return {};
}

}  // namespace namdb::sql
