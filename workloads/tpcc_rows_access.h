// Functions that TPC-C's procedures use: customers by name, parameters.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "workloads/rows_access.h"
#include "workloads/tpcc_schema.h"

namespace namdb::workloads::tpcc {

using procedure::abort_with;
using procedure::ColumnType;
using procedure::Context;
using procedure::Key;
using procedure::Row;
using procedure::RowId;
using procedure::RowView;
using procedure::RowWriter;
using procedure::Task;

inline procedure::Parameter numeric_parameter(std::string name, std::uint8_t precision, std::uint8_t scale) {
  return {.name = std::move(name), .type = ColumnType::numeric, .precision = precision, .scale = scale};
}
inline procedure::Parameter timestamp_parameter(std::string name) {
  return {.name = std::move(name), .type = ColumnType::timestamp};
}

// A customer by last name (clause 2.5.2.2): the middle one, rounded up, of those with that name, ordered by
// first name. Fetches also the rows that get() asked for before.
inline Task<Status> find_customer_by_name(Context& context, std::size_t table, std::int64_t warehouse,
                                          std::int64_t district, std::string_view last, RowId& customer) {
  const procedure::IndexShape* const index = context.index(table, kCustomerByName);
  if (index == nullptr) co_return abort_with("index customer_by_name is missing: load the tables anew");
  procedure::IndexPrefix prefix(*index);
  prefix.integer(warehouse).integer(district).text(last);
  std::vector<RowId> namesakes;
  NAMDB_CO_CHECK(co_await context.find(table, kCustomerByName, layout::index_range(prefix), namesakes));
  if (namesakes.empty()) co_return abort_with("no such customer");
  customer = namesakes[(namesakes.size() + 1) / 2 - 1];
  co_return Status();
}

// Whether numbers of warehouse and district can be in a key column at all.
inline bool valid_place(std::int64_t warehouse, std::int64_t district) {
  return warehouse >= 1 && warehouse <= 0x7fff'ffff && district >= 1 && district <= kDistrictsPerWarehouse;
}

// Each is defined in a file of its own.
void register_new_order(procedure::Registry& registry);
void register_payment(procedure::Registry& registry);
void register_order_status(procedure::Registry& registry);
void register_delivery(procedure::Registry& registry);
void register_stock_level(procedure::Registry& registry);

}  // namespace namdb::workloads::tpcc
