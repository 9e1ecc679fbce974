#include "workloads/tpcc_conditions.h"

#include <algorithm>

#include "workloads/tpcc_rows.h"

namespace namdb::workloads::tpcc {

std::string Conditions::order_text(const Name& name) {
  return "order " + std::to_string(std::get<2>(name)) + " of " +
         district_text({std::get<0>(name), std::get<1>(name)});
}

std::string Conditions::district_text(const DistrictName& name) {
  return "district " + std::to_string(name.second) + " of warehouse " + std::to_string(name.first);
}

void Conditions::add(std::size_t table, const layout::RowView& row) {
  switch (table) {
    case kWarehouse:
      warehouse_ytd_[row.integer(kWId)] = row.integer(kWYtd);
      return;
    case kDistrict: {
      District& district = districts_[{row.integer(kDWId), row.integer(kDId)}];
      district.there = true;
      district.ytd = row.integer(kDYtd);
      district.next_order = row.integer(kDNextOId);
      return;
    }
    case kCustomer: {
      Customer& customer = customers_[{row.integer(kCWId), row.integer(kCDId), row.integer(kCId)}];
      customer.there = true;
      customer.balance = row.integer(kCBalance);
      customer.ytd_payment = row.integer(kCYtdPayment);
      districts_[{row.integer(kCWId), row.integer(kCDId)}].deliveries += row.integer(kCDeliveryCnt);
      return;
    }
    case kHistory:
      districts_[{row.integer(kHWId), row.integer(kHDId)}].paid += row.integer(kHAmount);
      customers_[{row.integer(kHCWId), row.integer(kHCDId), row.integer(kHCId)}].paid +=
          row.integer(kHAmount);
      return;
    case kNewOrder: {
      const std::int64_t number = row.integer(kNoOId);
      orders_[{row.integer(kNoWId), row.integer(kNoDId), number}].is_new = true;
      District& district = districts_[{row.integer(kNoWId), row.integer(kNoDId)}];
      district.oldest_new = district.new_orders == 0 ? number : std::min(district.oldest_new, number);
      district.newest_new = std::max(district.newest_new, number);
      ++district.new_orders;
      return;
    }
    case kOrders: {
      Order& order = orders_[{row.integer(kOWId), row.integer(kODId), row.integer(kOId)}];
      order.there = true;
      order.delivered = !row.is_null(kOCarrierId);
      order.customer = row.integer(kOCId);
      order.says_lines = row.integer(kOOlCnt);
      District& district = districts_[{row.integer(kOWId), row.integer(kODId)}];
      district.newest_order = std::max(district.newest_order, row.integer(kOId));
      district.says_lines += row.integer(kOOlCnt);
      ++district.orders;
      return;
    }
    case kOrderLine: {
      Order& order = orders_[{row.integer(kOlWId), row.integer(kOlDId), row.integer(kOlOId)}];
      ++order.lines;
      if (!row.is_null(kOlDeliveryD)) ++order.delivered_lines;
      order.amount += row.integer(kOlAmount);
      ++districts_[{row.integer(kOlWId), row.integer(kOlDId)}].lines;
      return;
    }
    default:
      return;  // no condition speaks of items and stock
  }
}

std::array<std::string, kConditions> Conditions::check() {
  for (const auto& [name, order] : orders_) {
    if (order.delivered)
      customers_[{std::get<0>(name), std::get<1>(name), order.customer}].delivered_amount += order.amount;
  }
  check_warehouses();
  for (const auto& [name, district] : districts_) check_district(name, district);
  for (const auto& [name, order] : orders_) check_order(name, order);
  for (const auto& [name, customer] : customers_) check_customer(name, customer);
  return findings_;
}

void Conditions::check_warehouses() {
  std::map<std::int64_t, std::int64_t> districts_ytd;
  std::map<std::int64_t, std::int64_t> paid;
  for (const auto& [name, district] : districts_) {
    districts_ytd[name.first] += district.ytd;
    paid[name.first] += district.paid;
  }
  for (const auto& [warehouse, ytd] : warehouse_ytd_) {
    const std::string name = "warehouse " + std::to_string(warehouse) + " received " + std::to_string(ytd);
    expect(1, ytd == districts_ytd[warehouse],
           name + ", its districts " + std::to_string(districts_ytd[warehouse]));
    expect(8, ytd == paid[warehouse], name + ", its history says " + std::to_string(paid[warehouse]));
  }
}

void Conditions::check_district(const DistrictName& name, const District& district) {
  const std::string text = district_text(name);
  if (!district.there) return fail(2, text + " is not there");
  const std::int64_t newest = district.next_order - 1;
  expect(2, district.newest_order == newest,
         text + " has given the number " + std::to_string(newest) + ", its newest order is " +
             std::to_string(district.newest_order));
  if (district.new_orders != 0) {
    expect(2, district.newest_new == newest, text + ": the newest order is not among the new ones");
    expect(3, district.newest_new - district.oldest_new + 1 == district.new_orders,
           text + " misses a new order");
  }
  expect(4, district.says_lines == district.lines,
         text + " has " + std::to_string(district.lines) + " lines, its orders say " +
             std::to_string(district.says_lines));
  expect(9, district.ytd == district.paid,
         text + " received " + std::to_string(district.ytd) + ", its history says " +
             std::to_string(district.paid));
  const std::int64_t delivered =
      static_cast<std::int64_t>(scale_.orders_per_district - undelivered_per_district(scale_)) +
      district.deliveries;
  expect(11, district.orders - district.new_orders == delivered,
         text + " has " + std::to_string(district.orders) + " orders, " +
             std::to_string(district.new_orders) + " of them new, and " + std::to_string(delivered) +
             " were delivered");
}

void Conditions::check_order(const Name& name, const Order& order) {
  const std::string text = order_text(name);
  expect(5, order.there, text + " has lines or an entry as a new one, and is not there");
  expect(5, order.is_new != order.delivered, text + " is new and delivered, or neither");
  expect(
      6, order.lines == order.says_lines,
      text + " has " + std::to_string(order.lines) + " lines and says " + std::to_string(order.says_lines));
  expect(7, order.delivered_lines == (order.delivered ? order.lines : 0),
         text + " and its lines disagree about delivery");
}

void Conditions::check_customer(const Name& name, const Customer& customer) {
  const std::string text = "customer " + std::to_string(std::get<2>(name)) + " of " +
                           district_text({std::get<0>(name), std::get<1>(name)});
  if (!customer.there) return fail(10, text + " is not there");
  expect(10, customer.balance == customer.delivered_amount - customer.paid,
         text + " has the balance " + std::to_string(customer.balance) + ", owes " +
             std::to_string(customer.delivered_amount) + " and paid " + std::to_string(customer.paid));
  expect(12, customer.balance + customer.ytd_payment == customer.delivered_amount,
         text + " has the balance " + std::to_string(customer.balance) + " after paying " +
             std::to_string(customer.ytd_payment) + ", and owed " +
             std::to_string(customer.delivered_amount));
}

}  // namespace namdb::workloads::tpcc
