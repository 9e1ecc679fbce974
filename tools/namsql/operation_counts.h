// The costs of statements, out of two looks at the server's counters: `SHOW namdb.statistics` before and
// after.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tools/namsql/result_table.h"

namespace namdb::namsql {

// Counters by the name of a procedure or the kind of a statement, and by metric. Those that are not costs of
// transactions (`memory`, `reactor`) are left out.
using OperationCounts = std::map<std::string, std::map<std::string, std::uint64_t>>;

// Rows of name, metric, value; others are ignored.
OperationCounts operation_counts(const std::vector<std::vector<Cell>>& rows);

// The difference of two looks; names without anything are left out. If a counter went back, the server
// was started in between: then it has counted from zero.
OperationCounts counted_between(const OperationCounts& before, const OperationCounts& after);

// A row for each name: transactions, retries, the operations (swaps are compare-and-swaps, adds
// fetch-and-adds), round trips and bytes; aborts by reason stand below.
ResultTable operations_table(const OperationCounts& counted);

// Names that are those of procedures, and not kinds of statements.
std::vector<std::string> procedure_names(const OperationCounts& counts);

}  // namespace namdb::namsql
