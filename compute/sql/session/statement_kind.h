// Questions that the session has about a statement's plan, and the answers to its client.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

#include "common/base/error.h"
#include "compute/sql/execute/result_sink.h"
#include "compute/sql/plan/plan.h"

namespace namdb::sql {

inline bool needs_transaction(const Plan& plan) {
  const auto* select = plan.as<SelectPlan>();
  return select == nullptr ? plan.is_transactional() : select->needs_transaction();
}

inline bool writes_rows(const Plan& plan) {
  return plan.as<InsertPlan>() != nullptr || plan.as<UpdatePlan>() != nullptr ||
         plan.as<DeletePlan>() != nullptr || plan.as<WithPlan>() != nullptr ||
         plan.as<CopyFromPlan>() != nullptr || plan.as<TruncatePlan>() != nullptr;
}

// Whether it may write to any table.
inline bool may_write_anywhere(const Plan& plan) {
  return plan.is_call() || plan.calls_volatile;
}

// The command that is not allowed in READ ONLY transactions; empty: the statement only reads.
inline std::string_view writing_command(const Plan& plan) {
  if (writes_rows(plan)) return plan.tag;
  const auto* const copy = plan.as<CopyToPlan>();
  const SelectPlan* const select = copy == nullptr ? plan.as<SelectPlan>() : copy->query.get();
  return select == nullptr ? std::string_view() : select->locking_command;
}

inline bool same_columns(std::span<const ResultColumn> left, std::span<const ResultColumn> right) {
  return std::ranges::equal(left, right, [](const ResultColumn& a, const ResultColumn& b) {
    return a.name == b.name && a.type == b.type;
  });
}

// The error of any statement but COMMIT and ROLLBACK, and ROLLBACK TO a savepoint, in a failed block.
inline Status only_end_of_block() {
  return Status(ErrorCode::in_failed_transaction,
                "current transaction is aborted, commands ignored until end of transaction block");
}

// The command tag, and whether the statement counts rows.
inline void set_completion(const Plan& plan, std::uint64_t rows, Completion& completion) {
  completion.tag = plan.tag;
  completion.rows = rows;
  completion.counts_rows = plan.as<SelectPlan>() || plan.as<CopyToPlan>() ||
                           (writes_rows(plan) && plan.as<TruncatePlan>() == nullptr);
}

}  // namespace namdb::sql
