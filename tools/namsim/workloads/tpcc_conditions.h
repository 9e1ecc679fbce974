// The consistency conditions of TPC-C (specification clause 3.3.2), for the transactions that exist:
// new-order and payment, no delivery. Held against all rows of one snapshot.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "common/layout/row.h"
#include "workloads/tpcc_schema.h"

namespace namdb::sim {

// By position of the table (workloads::tpcc::TableIndex).
using TpccRows = std::array<std::vector<layout::Row>, 9>;

// Warehouse, district and order.
using OrderName = std::tuple<std::int64_t, std::int64_t, std::int64_t>;
struct AcknowledgedOrder {
  std::int64_t customer = 0;
  std::int64_t lines = 0;
  std::uint64_t acknowledged_ns = 0;
};
using AcknowledgedOrders = std::map<OrderName, AcknowledgedOrder>;

// The first condition that does not hold, in a sentence; empty if all do. `initial_orders` of each district
// took nothing out of stock. What was acknowledged before `begin_ns` must be there.
std::string check_tpcc(const TpccRows& rows, std::int64_t initial_orders, const AcknowledgedOrders& orders,
                       std::uint64_t begin_ns);

// The sum of a column.
std::int64_t sum_of(const std::vector<layout::Row>& rows, std::uint32_t column);

}  // namespace namdb::sim
