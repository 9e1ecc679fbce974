// TPC-C's stock-level (specification revision 5.11, clause 2.8): how many items of a district's last twenty
// orders are short. Read-only; all in four fetches, since every key is known from the one before.
#include <set>

#include "workloads/tpcc_rows_access.h"

namespace namdb::workloads::tpcc {
namespace {

// Positions in the definition's list of tables.
enum StockLevelTable : std::size_t { kLevelDistrict, kLevelOrders, kLevelOrderLine, kLevelStock };

constexpr std::int64_t kOrders_looked_at = 20;

Task<Status> stock_level(Context& context) {
  NAMDB_CO_CHECK(require_arguments(context));
  const std::int64_t warehouse = context.integer(0);
  const std::int64_t district = context.integer(1);
  Status status;
  const RowId district_row = read_row(context, kLevelDistrict, std::array{warehouse, district}, status);
  NAMDB_CO_CHECK(status);
  NAMDB_CO_CHECK(co_await context.fetch());
  if (!context.found(district_row)) co_return abort_with("no such district");
  const std::int64_t next = context.row(district_row).integer(kDNextOId);
  const std::int64_t first = std::max<std::int64_t>(1, next - kOrders_looked_at);
  std::vector<RowId> orders;
  for (std::int64_t order = first; order < next; ++order)
    orders.push_back(read_row(context, kLevelOrders, std::array{warehouse, district, order}, status));
  NAMDB_CO_CHECK(status);
  NAMDB_CO_CHECK(co_await context.fetch());
  std::vector<RowId> lines;
  for (std::size_t i = 0; i < orders.size(); ++i) {
    if (!context.found(orders[i])) continue;
    const std::int64_t count = context.row(orders[i]).integer(kOOlCnt);
    const std::int64_t order = first + static_cast<std::int64_t>(i);
    for (std::int64_t line = 1; line <= count; ++line)
      lines.push_back(
          read_row(context, kLevelOrderLine, std::array{warehouse, district, order, line}, status));
  }
  NAMDB_CO_CHECK(status);
  NAMDB_CO_CHECK(co_await context.fetch());
  std::set<std::int64_t> items;
  for (const RowId line : lines) {
    if (context.found(line)) items.insert(context.row(line).integer(kOlIId));
  }
  std::vector<RowId> stocks;
  for (const std::int64_t item : items)
    stocks.push_back(read_row(context, kLevelStock, std::array{warehouse, item}, status));
  NAMDB_CO_CHECK(status);
  NAMDB_CO_CHECK(co_await context.fetch());
  std::int64_t low = 0;
  for (const RowId stock : stocks) {
    if (context.found(stock) && context.row(stock).integer(kSQuantity) < context.integer(2)) ++low;
  }
  context.result(0, low);
  co_return Status();
}

}  // namespace

void register_stock_level(procedure::Registry& registry) {
  registry.add(
      {.name = "tpcc_stock_level",
       .parameters = {integer_parameter("w_id"), integer_parameter("d_id"), integer_parameter("threshold")},
       .results = {integer_parameter("low_stock")},
       .tables = {"district", "orders", "order_line", "stock"},
       .run = stock_level});
}

}  // namespace namdb::workloads::tpcc
