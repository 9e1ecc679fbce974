// TPC-C's delivery (specification revision 5.11, clause 2.7): the oldest new order of each of a warehouse's
// districts is delivered, all in one transaction.
#include "workloads/tpcc_rows_access.h"

namespace namdb::workloads::tpcc {
namespace {

// Positions in the definition's list of tables.
enum DeliveryTable : std::size_t { kDelNewOrder, kDelOrders, kDelOrderLine, kDelCustomer };

// One district's oldest new order.
struct Due {
  std::int64_t district = 0;
  std::int64_t number = 0;
  RowId new_order = 0;
  RowId order = 0;
  RowId customer = 0;
  std::vector<RowId> lines;
};

Task<Status> find_due(Context& context, std::int64_t warehouse, std::vector<Due>& due) {
  const procedure::IndexShape* const index = context.index(kDelNewOrder, kNewOrderByNumber);
  if (index == nullptr) co_return abort_with("index new_order_by_number is missing: load the tables anew");
  std::vector<procedure::IndexRange> oldest;
  for (std::int64_t district = 1; district <= kDistrictsPerWarehouse; ++district) {
    procedure::IndexPrefix prefix(*index);
    prefix.integer(warehouse).integer(district);
    oldest.push_back(layout::index_range(prefix));
    oldest.back().limit = 1;
  }
  std::vector<std::vector<RowId>> found;
  NAMDB_CO_CHECK(co_await context.find_each(kDelNewOrder, kNewOrderByNumber, std::move(oldest), found));
  Status status;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i].empty()) continue;  // clause 2.7.4.2: skipped
    Due next{.district = static_cast<std::int64_t>(i) + 1, .new_order = found[i].front()};
    next.number = context.row(next.new_order).integer(kNoOId);
    next.order = get_row(context, kDelOrders, std::array{warehouse, next.district, next.number}, status);
    due.push_back(std::move(next));
  }
  NAMDB_CO_CHECK(status);
  co_return co_await context.fetch();
}

// Marks the lines and adds up what the customer owes.
Status deliver_lines(Context& context, const Due& due, std::int64_t& amount) {
  for (const RowId line : due.lines) {
    if (!context.found(line)) return abort_with("an order misses a line");
    amount += context.row(line).integer(kOlAmount);
    Status status = context.update(line).set_integer(kOlDeliveryD, context.timestamp_us());
    if (!status.ok()) return status;
  }
  return {};
}

Task<Status> delivery(Context& context) {
  NAMDB_CO_CHECK(require_arguments(context));
  const std::int64_t warehouse = context.integer(0);
  const std::int64_t carrier = context.integer(1);
  if (!valid_place(warehouse, 1)) co_return abort_with("no such warehouse");
  std::vector<Due> all;
  NAMDB_CO_CHECK(co_await find_due(context, warehouse, all));
  Status status;
  for (Due& due : all) {
    if (!context.found(due.order)) co_return abort_with("a new order is no order");
    const RowView order = context.row(due.order);
    due.customer =
        get_row(context, kDelCustomer, std::array{warehouse, due.district, order.integer(kOCId)}, status);
    for (std::int64_t line = 1; line <= order.integer(kOOlCnt); ++line) {
      due.lines.push_back(
          get_row(context, kDelOrderLine, std::array{warehouse, due.district, due.number, line}, status));
    }
  }
  NAMDB_CO_CHECK(status);
  NAMDB_CO_CHECK(co_await context.fetch());
  for (const Due& due : all) {
    context.erase(due.new_order);
    NAMDB_CO_CHECK(context.update(due.order).set_integer(kOCarrierId, carrier));
    std::int64_t amount = 0;
    NAMDB_CO_CHECK(deliver_lines(context, due, amount));
    if (!context.found(due.customer)) co_return abort_with("an order has no customer");
    const std::int64_t balance = context.row(due.customer).integer(kCBalance) + amount;
    const std::int64_t count = context.row(due.customer).integer(kCDeliveryCnt) + 1;
    NAMDB_CO_CHECK(Fields(context.update(due.customer))
                       .integer(kCBalance, balance)
                       .integer(kCDeliveryCnt, count)
                       .status());
  }
  context.result(0, static_cast<std::int64_t>(all.size()));
  context.result(1, static_cast<std::int64_t>(kDistrictsPerWarehouse - all.size()));
  co_return Status();
}

}  // namespace

void register_delivery(procedure::Registry& registry) {
  registry.add({.name = "tpcc_delivery",
                .parameters = {integer_parameter("w_id"), integer_parameter("o_carrier_id")},
                .results = {integer_parameter("delivered"), integer_parameter("skipped")},
                .tables = {"new_order", "orders", "order_line", "customer"},
                .run = delivery});
}

}  // namespace namdb::workloads::tpcc
