// What a statement is bound against.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compute/procedure/registry.h"
#include "compute/sql/plan/plan.h"
#include "compute/sql/syntax/error_fields.h"

namespace namdb::sql {

struct BindInput {
  // The tables that the statement names, and a procedure's; those that do not exist are missing here.
  std::map<std::string, storage::TableRef, std::less<>> tables;
  // Their indexes. A long statement is bound on another thread, while the worker may replace those of a
  // table.
  std::map<const storage::Table*, std::vector<storage::IndexRef>> indexes;
  const procedure::ProcedureRegistry* procedures = nullptr;
  // Types that the client declared for $1, $2, ...; unknown where it left them open.
  std::vector<Type> parameters;
  const SessionFacts* facts = nullptr;
  std::uint64_t catalog_version = 0;
  ErrorPlace* place = nullptr;  // is told where an error lies; null: nobody wants to know
};

}  // namespace namdb::sql
