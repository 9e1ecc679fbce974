// TPC-C's new-order (specification revision 5.11, clause 2.4).
//
// It reads warehouse, district, customer, and every item and stock row in one fetch; only then is the order's
// number known, and a second fetch finds the places of order, new-order entry and order lines. The client
// gives the item list (clause 2.4.1.5 lets the terminal choose it), so both fetches are as wide as they can
// be.
#include "workloads/tpcc_order_items.h"
#include "workloads/tpcc_rows_access.h"

namespace namdb::workloads::tpcc {
namespace {

// Rates and discounts are numeric(4,4).
constexpr std::int64_t kRateUnit = 10'000;

// Positions in the definition's list of tables.
enum NewOrderTable : std::size_t {
  kNoTableWarehouse,
  kNoTableDistrict,
  kNoTableCustomer,
  kNoTableItem,
  kNoTableStock,
  kNoTableOrders,
  kNoTableNewOrder,
  kNoTableOrderLine,
};

struct NewOrderRows {
  RowId warehouse = 0;
  RowId district = 0;
  RowId customer = 0;
  std::array<RowId, kMaxOrderLines> items{};
  std::array<RowId, kMaxOrderLines> stocks{};
};

// Takes one line's goods out of stock (clause 2.4.2.2); `amount` receives the line's price in cents.
Status take_from_stock(Context& context, const NewOrderRows& rows, std::size_t line, const OrderItem& item,
                       std::int64_t warehouse, std::int64_t& amount) {
  amount = item.quantity * context.row(rows.items[line]).integer(kIPrice);
  const RowView stock = context.row(rows.stocks[line]);
  std::int64_t quantity = stock.integer(kSQuantity) - item.quantity;
  if (quantity < 10) quantity += 91;
  const std::int64_t ytd = stock.integer(kSYtd) + item.quantity;
  const std::int64_t order_count = stock.integer(kSOrderCnt) + 1;
  const std::int64_t remote_count = stock.integer(kSRemoteCnt) + (item.supply_warehouse != warehouse ? 1 : 0);
  // The specification gives the counters four digits and does not say what follows: they start again.
  return Fields(context.update(rows.stocks[line]))
      .integer(kSQuantity, quantity)
      .integer(kSYtd, ytd)
      .integer(kSOrderCnt, order_count % 10'000)
      .integer(kSRemoteCnt, remote_count % 10'000)
      .status();
}

Status insert_order(Context& context, const NewOrderRows& rows, const OrderItems& items,
                    std::span<const std::int64_t> amounts, std::int64_t order) {
  const std::int64_t warehouse = context.integer(0);
  const std::int64_t district = context.integer(1);
  bool all_local = true;
  for (const OrderItem& line : items.lines()) all_local = all_local && line.supply_warehouse == warehouse;

  Row orders(context.schema(kNoTableOrders));
  Fields order_fields(orders.writer());
  order_fields.integer(kOWId, warehouse)
      .integer(kODId, district)
      .integer(kOId, order)
      .integer(kOCId, context.integer(2))
      .integer(kOEntryD, context.timestamp_us())
      .integer(kOOlCnt, static_cast<std::int64_t>(items.lines().size()))
      .integer(kOAllLocal, all_local ? 1 : 0);
  if (!order_fields.status().ok()) return order_fields.status();
  orders.writer().set_null(kOCarrierId);
  context.insert(kNoTableOrders, orders.bytes());

  Row new_order(context.schema(kNoTableNewOrder));
  Fields new_order_fields(new_order.writer());
  new_order_fields.integer(kNoWId, warehouse).integer(kNoDId, district).integer(kNoOId, order);
  if (!new_order_fields.status().ok()) return new_order_fields.status();
  context.insert(kNoTableNewOrder, new_order.bytes());

  const auto dist_info_column = static_cast<std::uint32_t>(kSDist01 + district - 1);
  Row order_line(context.schema(kNoTableOrderLine));
  for (std::size_t i = 0; i < items.lines().size(); ++i) {
    const OrderItem& line = items.lines()[i];
    Fields fields(order_line.writer());
    fields.integer(kOlWId, warehouse)
        .integer(kOlDId, district)
        .integer(kOlOId, order)
        .integer(kOlNumber, static_cast<std::int64_t>(i) + 1)
        .integer(kOlIId, line.item)
        .integer(kOlSupplyWId, line.supply_warehouse)
        .integer(kOlQuantity, line.quantity)
        .integer(kOlAmount, amounts[i])
        .text(kOlDistInfo, context.row(rows.stocks[i]).text(dist_info_column));
    if (!fields.status().ok()) return fields.status();
    order_line.writer().set_null(kOlDeliveryD);
    context.insert(kNoTableOrderLine, order_line.bytes());
  }
  return {};
}

Task<Status> new_order(Context& context) {
  NAMDB_CO_CHECK(require_arguments(context));
  const std::int64_t warehouse = context.integer(0);
  const std::int64_t district = context.integer(1);
  const std::int64_t customer = context.integer(2);
  const std::optional<OrderItems> parsed = OrderItems::parse(context.text(3));
  if (!parsed) {
    co_return abort_with("items must be 1 to 15 of item:warehouse:quantity, joined by commas");
  }
  if (district < 1 || district > kDistrictsPerWarehouse) co_return abort_with("no such district");
  const OrderItems& items = *parsed;
  const std::size_t count = items.lines().size();

  NewOrderRows rows;
  Status status;
  rows.warehouse = read_row(context, kNoTableWarehouse, std::array{warehouse}, status);
  rows.district = get_row(context, kNoTableDistrict, std::array{warehouse, district}, status);
  rows.customer = read_row(context, kNoTableCustomer, std::array{warehouse, district, customer}, status);
  for (std::size_t i = 0; i < count; ++i) {
    const OrderItem& line = items.lines()[i];
    rows.items[i] = read_row(context, kNoTableItem, std::array{std::int64_t{line.item}}, status);
    rows.stocks[i] =
        get_row(context, kNoTableStock,
                std::array{std::int64_t{line.supply_warehouse}, std::int64_t{line.item}}, status);
  }
  NAMDB_CO_CHECK(status);
  NAMDB_CO_CHECK(co_await context.fetch());
  if (!context.found(rows.warehouse)) co_return abort_with("no such warehouse");
  if (!context.found(rows.district)) co_return abort_with("no such district");
  if (!context.found(rows.customer)) co_return abort_with("no such customer");
  for (std::size_t i = 0; i < count; ++i) {
    // Clause 2.4.1.4: one order in a hundred ends here.
    if (!context.found(rows.items[i])) co_return abort_with("Item number is not valid");
    if (!context.found(rows.stocks[i])) co_return abort_with("no such supplying warehouse");
  }

  const std::int64_t order = context.row(rows.district).integer(kDNextOId);
  const std::int64_t district_tax = context.row(rows.district).integer(kDTax);
  NAMDB_CO_CHECK(context.update(rows.district).set_integer(kDNextOId, order + 1));
  std::array<std::int64_t, kMaxOrderLines> amounts{};
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    NAMDB_CO_CHECK(take_from_stock(context, rows, i, items.lines()[i], warehouse, amounts[i]));
    sum += amounts[i];
  }
  NAMDB_CO_CHECK(insert_order(context, rows, items, amounts, order));
  NAMDB_CO_CHECK(co_await context.fetch());

  const std::int64_t warehouse_tax = context.row(rows.warehouse).integer(kWTax);
  const RowView customer_row = context.row(rows.customer);
  const std::int64_t discount = customer_row.integer(kCDiscount);
  const std::int64_t total =
      sum * (kRateUnit - discount) * (kRateUnit + warehouse_tax + district_tax) / (kRateUnit * kRateUnit);
  context.result(0, order);
  context.result(1, std::string(customer_row.text(kCLast)));
  context.result(2, std::string(customer_row.text(kCCredit)));
  context.result(3, discount);
  context.result(4, warehouse_tax);
  context.result(5, district_tax);
  context.result(6, context.timestamp_us());
  context.result(7, total);
  co_return Status();
}

}  // namespace

void register_new_order(procedure::Registry& registry) {
  registry.add(
      {.name = "tpcc_new_order",
       .parameters = {integer_parameter("w_id"), integer_parameter("d_id"), integer_parameter("c_id"),
                      text_parameter("items")},
       .results = {integer_parameter("o_id"), text_parameter("c_last"), text_parameter("c_credit"),
                   numeric_parameter("c_discount", 4, 4), numeric_parameter("w_tax", 4, 4),
                   numeric_parameter("d_tax", 4, 4), timestamp_parameter("o_entry_d"),
                   numeric_parameter("total_amount", 12, 2)},
       .tables = {"warehouse", "district", "customer", "item", "stock", "orders", "new_order", "order_line"},
       .run = new_order});
}

}  // namespace namdb::workloads::tpcc
