// TPC-C's order-status (specification revision 5.11, clause 2.6): a customer's balance and newest order, by
// customer number and by last name. Read-only.
#include "workloads/tpcc_rows_access.h"

namespace namdb::workloads::tpcc {
namespace {

// Positions in the definition's list of tables.
enum OrderStatusTable : std::size_t { kStatusCustomer, kStatusOrders, kStatusOrderLine };

// "item:warehouse:quantity:cents:delivered", joined by commas.
std::string lines_text(Context& context, const std::vector<RowId>& lines) {
  std::string text;
  for (const RowId id : lines) {
    if (!context.found(id)) continue;
    const RowView line = context.row(id);
    text += (text.empty() ? "" : ",") + std::to_string(line.integer(kOlIId)) + ':' +
            std::to_string(line.integer(kOlSupplyWId)) + ':' + std::to_string(line.integer(kOlQuantity)) +
            ':' + std::to_string(line.integer(kOlAmount)) + (line.is_null(kOlDeliveryD) ? ":no" : ":yes");
  }
  return text;
}

Task<Status> show(Context& context, RowId customer) {
  if (!context.found(customer)) co_return abort_with("no such customer");
  const std::int64_t warehouse = context.row(customer).integer(kCWId);
  const std::int64_t district = context.row(customer).integer(kCDId);
  const procedure::IndexShape* const index = context.index(kStatusOrders, kOrdersByCustomer);
  if (index == nullptr) co_return abort_with("index orders_by_customer is missing: load the tables anew");
  procedure::IndexPrefix prefix(*index);
  prefix.integer(warehouse).integer(district).integer(context.row(customer).integer(kCId));
  procedure::IndexRange newest = layout::index_range(prefix);
  newest.descending = true;
  newest.limit = 1;
  std::vector<RowId> orders;
  NAMDB_CO_CHECK(co_await context.find(kStatusOrders, kOrdersByCustomer, newest, orders));
  const RowView row = context.row(customer);
  context.result(0, row.integer(kCId));
  context.result(1, row.integer(kCBalance));
  context.result(2, std::string(row.text(kCFirst)));
  context.result(3, std::string(row.text(kCMiddle)));
  context.result(4, std::string(row.text(kCLast)));
  if (orders.empty()) co_return Status();

  const std::int64_t order = context.row(orders.front()).integer(kOId);
  const std::int64_t count = context.row(orders.front()).integer(kOOlCnt);
  Status status;
  std::vector<RowId> lines;
  for (std::int64_t line = 1; line <= count; ++line)
    lines.push_back(
        read_row(context, kStatusOrderLine, std::array{warehouse, district, order, line}, status));
  NAMDB_CO_CHECK(status);
  NAMDB_CO_CHECK(co_await context.fetch());
  const RowView newest_order = context.row(orders.front());
  context.result(5, order);
  context.result(6, newest_order.integer(kOEntryD));
  if (!newest_order.is_null(kOCarrierId)) context.result(7, newest_order.integer(kOCarrierId));
  context.result(8, lines_text(context, lines));
  co_return Status();
}

Task<Status> order_status(Context& context) {
  NAMDB_CO_CHECK(require_arguments(context));
  Status status;
  const RowId customer =
      read_row(context, kStatusCustomer,
               std::array{context.integer(0), context.integer(1), context.integer(2)}, status);
  NAMDB_CO_CHECK(status);
  NAMDB_CO_CHECK(co_await context.fetch());
  co_return co_await show(context, customer);
}

Task<Status> order_status_by_name(Context& context) {
  NAMDB_CO_CHECK(require_arguments(context));
  if (!valid_place(context.integer(0), context.integer(1))) co_return abort_with("no such customer");
  RowId customer = 0;
  NAMDB_CO_CHECK(co_await find_customer_by_name(context, kStatusCustomer, context.integer(0),
                                                context.integer(1), context.text(2), customer));
  co_return co_await show(context, customer);
}

procedure::Definition definition(std::string name, procedure::Parameter customer,
                                 Task<Status> (*run)(Context& context)) {
  return {.name = std::move(name),
          .parameters = {integer_parameter("w_id"), integer_parameter("d_id"), std::move(customer)},
          .results = {integer_parameter("c_id"), numeric_parameter("c_balance", 12, 2),
                      text_parameter("c_first"), text_parameter("c_middle"), text_parameter("c_last"),
                      integer_parameter("o_id"), timestamp_parameter("o_entry_d"),
                      integer_parameter("o_carrier_id"), text_parameter("lines")},
          .tables = {"customer", "orders", "order_line"},
          .run = run};
}

}  // namespace

void register_order_status(procedure::Registry& registry) {
  registry.add(definition("tpcc_order_status", integer_parameter("c_id"), order_status));
  registry.add(definition("tpcc_order_status_by_name", text_parameter("c_last"), order_status_by_name));
}

}  // namespace namdb::workloads::tpcc
