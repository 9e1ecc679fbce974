// TPC-C's initial population (specification clause 4.3.3), row by row.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/random.h"
#include "common/layout/row.h"
#include "workloads/tpcc_schema.h"

namespace namdb::workloads::tpcc {

// NURand's constant for customers' last names (clause 4.3.2.3).
inline constexpr std::uint64_t kLastNameConstant = 123;

// How many units a table is made of. A unit is a row; of order lines it is an order, and of new-order an
// undelivered order.
std::uint64_t unit_count(const Scale& scale, std::size_t table);
// Orders of each district that are not delivered at first.
std::uint64_t undelivered_per_district(const Scale& scale);
// Rows that the table holds at first, about.
std::uint64_t expected_rows(const Scale& scale, std::size_t table);

// Appends one unit's rows. `random` is the unit's own; for order lines, which must be as many as their order
// says, it is that of the order.
void make_rows(const Scale& scale, const layout::Schema& schema, std::size_t table, std::uint64_t unit,
               Random random, std::vector<layout::Row>& rows);

}  // namespace namdb::workloads::tpcc
