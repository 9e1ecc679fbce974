// Joins: in which order their tables are read, and how each one's rows are found.
//
// The next table is always one that conditions connect to the tables before it: by its primary key, by an
// index, or by columns that are equal, in this order of preference. Among equals it is the first one of FROM.
// There are no statistics. A table on the nullable side of an outer join comes behind those that its ON
// names.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compute/sql/plan/plan.h"

namespace namdb::sql {

// A table of FROM. Expressions name columns by their positions among all columns of FROM.
struct JoinTable {
  Source source;
  std::uint32_t first_column = 0;
  std::uint32_t columns = 0;
  JoinKind kind = JoinKind::inner;
  std::vector<ExprPtr> on;  // of an outer join: conditions of a match
  // FULL JOIN: conditions of the table's rows, before they are joined.
  std::vector<ExprPtr> own;
  bool begins_full = false;  // it is the left side of FULL JOIN, and comes first
  std::span<const storage::IndexRef> indexes;
};

// Whether its functions or its query read rows of the tables before.
bool depends_on_row(const Source& source);

// `conditions`: those that every joined row must meet.
std::unique_ptr<JoinPlan> order_join(std::vector<JoinTable> tables, std::vector<ExprPtr> conditions);

// Gives a slot to each column that the statement reads, and makes its expressions name slots. `names`: of the
// columns of FROM, for people.
void assign_slots(SelectPlan& select, const std::vector<std::string>& names);

}  // namespace namdb::sql
