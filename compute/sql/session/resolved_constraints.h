// The constraints whose conflicts the statements of a transaction resolve (ON CONFLICT).
//
// Belongs to its session.
#pragma once

#include <set>
#include <string>

#include "common/base/error.h"
#include "compute/api/transaction.h"
#include "compute/sql/plan/plan.h"

namespace namdb::sql {

class ResolvedConstraints {
 public:
  // The statement runs in the transaction.
  void note(const Plan& plan);
  // Another transaction begins.
  void forget() { names_.clear(); }
  // A row with the same key that appeared since then is no error of the statement's, but a conflict of two
  // transactions: one tries again, and finds it.
  Status as_conflict(Status status, const txn::Transaction& transaction) const;

 private:
  std::set<std::string> names_;
};

}  // namespace namdb::sql
