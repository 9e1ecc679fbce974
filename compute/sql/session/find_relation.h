// The current meaning of a name in the catalog.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/error.h"
#include "common/reactor/task.h"
#include "compute/api/engine.h"
#include "compute/api/table.h"

namespace namdb::sql {

// A table, an index of the table, or nothing.
struct FoundRelation {
  storage::TableRef table;
  storage::IndexRef index;
};

// Reads the catalog of now.
reactor::Task<Result<FoundRelation>> find_relation(txn::Engine* engine, std::string name);

}  // namespace namdb::sql
