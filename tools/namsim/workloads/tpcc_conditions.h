// The conditions of every snapshot of a simulated TPC-C: the specification's consistency conditions
// (workloads/tpcc_conditions.h), stock that matches the order lines, and all acknowledged orders.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/layout/row.h"
#include "workloads/tpcc_conditions.h"

namespace namdb::sim {

// The rows by position of the table (workloads::tpcc::TableIndex).
using TpccRows = std::array<std::vector<layout::Row>, 9>;

using OrderName = workloads::tpcc::Conditions::Name;
struct AcknowledgedOrder {
  std::int64_t customer = 0;
  std::int64_t lines = 0;
  std::uint64_t acknowledged_ns = 0;
};
using AcknowledgedOrders = std::map<OrderName, AcknowledgedOrder>;

// The first condition that does not hold, as a sentence; empty if all hold. `scale` is that of the load.
// Orders that were acknowledged before `begin_ns` must be there.
std::string check_tpcc(const TpccRows& rows, const workloads::tpcc::Scale& scale,
                       const AcknowledgedOrders& orders, std::uint64_t begin_ns);

// The sum of a column.
std::int64_t sum_of(const std::vector<layout::Row>& rows, std::uint32_t column);

}  // namespace namdb::sim
