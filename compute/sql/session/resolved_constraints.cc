#include "compute/sql/session/resolved_constraints.h"

#include "compute/api/transaction_facts.h"

namespace namdb::sql {

void ResolvedConstraints::note(const Plan& plan) {
  if (const auto* with = plan.as<WithPlan>()) {
    for (const WithPlan::Query& query : with->queries) note(*query.statement);
    return note(*with->statement);
  }
  const auto* const insert = plan.as<InsertPlan>();
  if (insert == nullptr || insert->conflict == nullptr) return;
  for (const storage::IndexRef& index : insert->conflict->indexes) names_.insert(index->name);
}

Status ResolvedConstraints::as_conflict(Status status, const txn::Transaction& transaction) const {
  if (status.ok() || status.code() != ErrorCode::duplicate_key || names_.empty()) return status;
  const txn::TransactionFacts* facts = txn::transaction_facts(&transaction);
  if (facts == nullptr || facts->violation() == nullptr) return status;
  if (!names_.contains(facts->violation()->constraint)) return status;
  return Status(ErrorCode::serialization_failure, "could not serialize access due to concurrent insert");
}

}  // namespace namdb::sql
