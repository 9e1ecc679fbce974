// TPC-C's payment (specification revision 5.11, clause 2.5), by customer number and by last name.
#include "workloads/tpcc_rows_access.h"

namespace namdb::workloads::tpcc {
namespace {

// Positions in the definition's list of tables.
enum PaymentTable : std::size_t { kPayWarehouse, kPayDistrict, kPayCustomer, kPayHistory };

// Clause 2.5.2.2: a customer with bad credit gets the payment noted in front of its data.
std::string bad_credit_data(Context& context, const RowView& customer) {
  std::string data = std::to_string(customer.integer(kCId)) + ' ' + std::to_string(context.integer(3)) + ' ' +
                     std::to_string(context.integer(2)) + ' ' + std::to_string(context.integer(1)) + ' ' +
                     std::to_string(context.integer(0)) + ' ' + std::to_string(context.integer(5)) + ' ';
  data += customer.text(kCData);
  data.resize(std::min<std::size_t>(data.size(), kMaxCustomerData_bytes));
  return data;
}

Status insert_history(Context& context, RowId warehouse, RowId district, std::int64_t customer,
                      std::int64_t payment_count) {
  Row history(context.schema(kPayHistory));
  const std::string data = std::string(context.row(warehouse).text(kWName)) + "    " +
                           std::string(context.row(district).text(kDName));
  Fields fields(history.writer());
  fields.integer(kHCWId, context.integer(2))
      .integer(kHCDId, context.integer(3))
      .integer(kHCId, customer)
      .integer(kHPaymentCnt, payment_count)
      .integer(kHDId, context.integer(1))
      .integer(kHWId, context.integer(0))
      .integer(kHDate, context.timestamp_us())
      .integer(kHAmount, context.integer(5))
      .text(kHData, data);
  if (!fields.status().ok()) return fields.status();
  context.insert(kPayHistory, history.bytes());
  return {};
}

// Asks for warehouse and district; the customer comes with them.
struct Place {
  RowId warehouse = 0;
  RowId district = 0;
};
Status get_place(Context& context, Place& place) {
  Status status;
  place.warehouse = get_row(context, kPayWarehouse, std::array{context.integer(0)}, status);
  place.district = get_row(context, kPayDistrict, std::array{context.integer(0), context.integer(1)}, status);
  return status;
}

Task<Status> pay(Context& context, Place place, RowId customer) {
  const std::int64_t amount = context.integer(5);
  if (!context.found(place.warehouse)) co_return abort_with("no such warehouse");
  if (!context.found(place.district)) co_return abort_with("no such district");
  if (!context.found(customer)) co_return abort_with("no such customer");

  const std::int64_t warehouse_ytd = context.row(place.warehouse).integer(kWYtd) + amount;
  const std::int64_t district_ytd = context.row(place.district).integer(kDYtd) + amount;
  NAMDB_CO_CHECK(context.update(place.warehouse).set_integer(kWYtd, warehouse_ytd));
  NAMDB_CO_CHECK(context.update(place.district).set_integer(kDYtd, district_ytd));

  const RowView before = context.row(customer);
  const std::int64_t balance = before.integer(kCBalance) - amount;
  const std::int64_t ytd_payment = before.integer(kCYtdPayment) + amount;
  const std::int64_t payment_count = before.integer(kCPaymentCnt) + 1;
  const bool bad_credit = before.text(kCCredit) == "BC";
  const std::string data = bad_credit ? bad_credit_data(context, before) : std::string();
  Fields fields(context.update(customer));
  fields.integer(kCBalance, balance).integer(kCYtdPayment, ytd_payment).integer(kCPaymentCnt, payment_count);
  if (bad_credit) fields.text(kCData, data);
  NAMDB_CO_CHECK(fields.status());
  const std::int64_t number = context.row(customer).integer(kCId);
  NAMDB_CO_CHECK(insert_history(context, place.warehouse, place.district, number, payment_count));
  NAMDB_CO_CHECK(co_await context.fetch());

  context.result(0, balance);
  context.result(1, std::string(context.row(customer).text(kCLast)));
  context.result(2, std::string(context.row(customer).text(kCCredit)));
  context.result(3, number);
  co_return Status();
}

Task<Status> payment(Context& context) {
  NAMDB_CO_CHECK(require_arguments(context));
  if (context.integer(5) <= 0) co_return abort_with("a payment must be positive");
  Place place;
  Status status = get_place(context, place);
  const RowId customer = get_row(
      context, kPayCustomer, std::array{context.integer(2), context.integer(3), context.integer(4)}, status);
  NAMDB_CO_CHECK(status);
  NAMDB_CO_CHECK(co_await context.fetch());
  co_return co_await pay(context, place, customer);
}

Task<Status> payment_by_name(Context& context) {
  NAMDB_CO_CHECK(require_arguments(context));
  if (context.integer(5) <= 0) co_return abort_with("a payment must be positive");
  if (!valid_place(context.integer(2), context.integer(3))) co_return abort_with("no such customer");
  Place place;
  NAMDB_CO_CHECK(get_place(context, place));
  RowId customer = 0;
  NAMDB_CO_CHECK(co_await find_customer_by_name(context, kPayCustomer, context.integer(2), context.integer(3),
                                                context.text(4), customer));
  co_return co_await pay(context, place, customer);
}

procedure::Definition definition(std::string name, procedure::Parameter customer,
                                 Task<Status> (*run)(Context& context)) {
  return {
      .name = std::move(name),
      .parameters = {integer_parameter("w_id"), integer_parameter("d_id"), integer_parameter("c_w_id"),
                     integer_parameter("c_d_id"), std::move(customer), numeric_parameter("h_amount", 6, 2)},
      .results = {numeric_parameter("c_balance", 12, 2), text_parameter("c_last"), text_parameter("c_credit"),
                  integer_parameter("c_id")},
      .tables = {"warehouse", "district", "customer", "history"},
      .run = run};
}

}  // namespace

void register_payment(procedure::Registry& registry) {
  registry.add(definition("tpcc_payment", integer_parameter("c_id"), payment));
  registry.add(definition("tpcc_payment_by_name", text_parameter("c_last"), payment_by_name));
}

}  // namespace namdb::workloads::tpcc
