// Tables that are not stored: their rows are computed when they are read. They can only be read.
#pragma once

#include <memory_resource>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "common/reactor/task.h"
#include "compute/api/engine.h"
#include "compute/sql/value/datum.h"
#include "compute/sql/value/types.h"

namespace namdb::sql {

class Catalog;
class Statistics;
struct SessionFacts;
struct SystemRelation;

struct VirtualColumn {
  std::string_view name;
  Type type;
  bool hidden = false;  // `*` does not give it
};

// The relations of the catalog that a statement asks about: that one, and those that belong to it, such as a
// table's indexes. Rows about others need not be made. Neither identity nor name: all of them.
struct WantedRelation {
  std::int64_t oid = 0;
  std::string name;
  bool is_all() const { return oid == 0 && name.empty(); }
};

// The state that rows are computed from. Strings of the rows live in the arena.
struct VirtualTableInput {
  txn::Engine* engine = nullptr;
  const Statistics* statistics = nullptr;
  Arena* arena = nullptr;
  const SessionFacts* facts = nullptr;  // of the session that reads
  const Catalog* catalog = nullptr;     // of relations of the catalog only
  WantedRelation wanted;                // likewise
};

using VirtualRows = std::vector<std::vector<Datum>>;

struct VirtualTable {
  std::string_view schema;  // "public", "pg_catalog" or "information_schema"
  std::string_view name;
  std::vector<VirtualColumn> columns;
  reactor::Task<Result<VirtualRows>> (*rows)(VirtualTableInput input);  // null: one of the catalog's
  const SystemRelation* relation = nullptr;                             // of the catalog; null: none
};

// Null when no virtual table has that name. An empty schema searches public and pg_catalog.
const VirtualTable* find_virtual_table(std::string_view schema, std::string_view name);

}  // namespace namdb::sql
