#include "tools/namsim/workloads/tpcc_conditions.h"

#include <algorithm>
#include <limits>

namespace namdb::sim {
namespace {

using namespace workloads::tpcc;
using layout::RowView;

using District = std::pair<std::int64_t, std::int64_t>;                 // warehouse, district
using Customer = std::tuple<std::int64_t, std::int64_t, std::int64_t>;  // and customer
using Stock = std::pair<std::int64_t, std::int64_t>;                    // warehouse, item

struct DistrictSums {
  std::int64_t newest_order = 0;
  std::int64_t oldest_new = std::numeric_limits<std::int64_t>::max();
  std::int64_t newest_new = 0;
  std::int64_t new_orders = 0;
  std::int64_t paid = 0;
};

struct Order {
  bool there = false;
  bool is_new = false;
  bool delivered = false;
  std::int64_t customer = 0;
  std::int64_t says_lines = 0;
  std::int64_t lines = 0;
};

struct Payments {
  std::int64_t count = 0;
  std::int64_t sum = 0;
};

struct Taken {
  std::int64_t quantity = 0;
  std::int64_t lines = 0;
};

class Conditions {
 public:
  Conditions(const TpccRows& rows, std::int64_t initial_orders)
      : rows_(rows), initial_orders_(initial_orders) {
    for (const layout::Row& row : rows_[kOrders]) add_order(row.view());
    for (const layout::Row& row : rows_[kNewOrder]) add_new_order(row.view());
    for (const layout::Row& row : rows_[kOrderLine]) add_line(row.view());
    for (const layout::Row& row : rows_[kHistory]) add_payment(row.view());
  }

  std::string check(const AcknowledgedOrders& acknowledged, std::uint64_t begin_ns) {
    check_money();
    for (const layout::Row& row : rows_[kDistrict]) check_district(row.view());
    for (const auto& [name, order] : orders_) check_order(name, order);
    for (const layout::Row& row : rows_[kCustomer]) check_customer(row.view());
    for (const layout::Row& row : rows_[kStock]) check_stock(row.view());
    for (const auto& [name, order] : acknowledged) {
      if (order.acknowledged_ns >= begin_ns) continue;
      const Order& found = orders_[name];
      wrong(found.there, text(name) + " was acknowledged and is not there");
      wrong(found.customer == order.customer && found.says_lines == order.lines,
            text(name) + " is not the one that was acknowledged");
    }
    return wrong_;
  }

 private:
  static std::string text(const OrderName& name) {
    return "order " + std::to_string(std::get<2>(name)) + " of district " +
           std::to_string(std::get<1>(name)) + " of warehouse " + std::to_string(std::get<0>(name));
  }
  static std::string text(const District& name) {
    return "district " + std::to_string(name.second) + " of warehouse " + std::to_string(name.first);
  }
  // Unless the condition holds.
  void wrong(bool holds, const std::string& what) {
    if (!holds && wrong_.empty()) wrong_ = what;
  }

  void add_order(RowView row) {
    Order& order = orders_[{row.integer(kOWId), row.integer(kODId), row.integer(kOId)}];
    order.there = true;
    order.delivered = !row.is_null(kOCarrierId);
    order.customer = row.integer(kOCId);
    order.says_lines = row.integer(kOOlCnt);
    DistrictSums& district = districts_[{row.integer(kOWId), row.integer(kODId)}];
    district.newest_order = std::max(district.newest_order, row.integer(kOId));
  }

  void add_new_order(RowView row) {
    orders_[{row.integer(kNoWId), row.integer(kNoDId), row.integer(kNoOId)}].is_new = true;
    DistrictSums& district = districts_[{row.integer(kNoWId), row.integer(kNoDId)}];
    district.oldest_new = std::min(district.oldest_new, row.integer(kNoOId));
    district.newest_new = std::max(district.newest_new, row.integer(kNoOId));
    ++district.new_orders;
  }

  void add_line(RowView row) {
    const OrderName name{row.integer(kOlWId), row.integer(kOlDId), row.integer(kOlOId)};
    Order& order = orders_[name];
    ++order.lines;
    // Condition 7.
    wrong(order.delivered == !row.is_null(kOlDeliveryD),
          text(name) + " and its lines disagree about delivery");
    if (row.integer(kOlOId) <= initial_orders_) return;
    Taken& taken = taken_[{row.integer(kOlSupplyWId), row.integer(kOlIId)}];
    taken.quantity += row.integer(kOlQuantity);
    ++taken.lines;
  }

  void add_payment(RowView row) {
    districts_[{row.integer(kHWId), row.integer(kHDId)}].paid += row.integer(kHAmount);
    Payments& payments = payments_[{row.integer(kHCWId), row.integer(kHCDId), row.integer(kHCId)}];
    ++payments.count;
    payments.sum += row.integer(kHAmount);
  }

  // Conditions 1 and 8.
  void check_money() {
    for (const layout::Row& row : rows_[kWarehouse]) {
      const std::int64_t warehouse = row.view().integer(kWId);
      std::int64_t districts = 0;
      for (const layout::Row& district : rows_[kDistrict])
        districts += district.view().integer(kDWId) == warehouse ? district.view().integer(kDYtd) : 0;
      std::int64_t paid = 0;
      for (const auto& [name, sums] : districts_) paid += name.first == warehouse ? sums.paid : 0;
      const std::int64_t ytd = row.view().integer(kWYtd);
      const std::string name = "warehouse " + std::to_string(warehouse) + " received " + std::to_string(ytd);
      wrong(ytd == districts, name + ", its districts " + std::to_string(districts));
      wrong(ytd == paid, name + ", its history says " + std::to_string(paid));
    }
  }

  void check_district(RowView row) {
    const District name{row.integer(kDWId), row.integer(kDId)};
    const DistrictSums& sums = districts_[name];
    const std::int64_t newest = row.integer(kDNextOId) - 1;
    // Condition 2.
    wrong(sums.newest_order == newest, text(name) + " has given the number " + std::to_string(newest) +
                                           ", its newest order is " + std::to_string(sums.newest_order));
    // Condition 3.
    if (sums.new_orders != 0) {
      wrong(sums.newest_new == newest, text(name) + ": the newest order is not among the new ones");
      wrong(sums.newest_new - sums.oldest_new + 1 == sums.new_orders, text(name) + " misses a new order");
    } else {
      wrong(newest == initial_orders_, text(name) + " has no new orders");
    }
    // Condition 9.
    wrong(row.integer(kDYtd) == sums.paid, text(name) + " received " + std::to_string(row.integer(kDYtd)) +
                                               ", its history says " + std::to_string(sums.paid));
  }

  // Conditions 4 to 6.
  void check_order(const OrderName& name, const Order& order) {
    wrong(order.there, text(name) + " has lines or an entry as a new one, and is not there");
    wrong(order.is_new != order.delivered, text(name) + " is new and delivered, or neither");
    wrong(order.lines == order.says_lines, text(name) + " has " + std::to_string(order.lines) +
                                               " lines and says " + std::to_string(order.says_lines));
  }

  // Conditions 10 and 12; what was delivered cost nothing.
  void check_customer(RowView row) {
    const Payments& payments = payments_[{row.integer(kCWId), row.integer(kCDId), row.integer(kCId)}];
    const std::string name = "customer " + std::to_string(row.integer(kCId)) + " of " +
                             text(District{row.integer(kCWId), row.integer(kCDId)});
    wrong(row.integer(kCBalance) == -payments.sum && row.integer(kCYtdPayment) == payments.sum,
          name + " has the balance " + std::to_string(row.integer(kCBalance)) + ", paid " +
              std::to_string(row.integer(kCYtdPayment)) + ", its history says " +
              std::to_string(payments.sum));
    wrong(row.integer(kCPaymentCnt) == payments.count,
          name + " counts " + std::to_string(row.integer(kCPaymentCnt)) + " payments, its history " +
              std::to_string(payments.count));
  }

  void check_stock(RowView row) {
    const Taken& taken = taken_[{row.integer(kSWId), row.integer(kSIId)}];
    wrong(row.integer(kSYtd) == taken.quantity && row.integer(kSOrderCnt) == taken.lines,
          "stock of item " + std::to_string(row.integer(kSIId)) + " gave " +
              std::to_string(row.integer(kSYtd)) + " to " + std::to_string(row.integer(kSOrderCnt)) +
              " lines, the lines say " + std::to_string(taken.quantity) + " to " +
              std::to_string(taken.lines));
  }

  const TpccRows& rows_;
  std::int64_t initial_orders_;
  std::map<District, DistrictSums> districts_;
  std::map<OrderName, Order> orders_;
  std::map<Customer, Payments> payments_;
  std::map<Stock, Taken> taken_;
  std::string wrong_;
};

}  // namespace

std::string check_tpcc(const TpccRows& rows, std::int64_t initial_orders, const AcknowledgedOrders& orders,
                       std::uint64_t begin_ns) {
  return Conditions(rows, initial_orders).check(orders, begin_ns);
}

std::int64_t sum_of(const std::vector<layout::Row>& rows, std::uint32_t column) {
  std::int64_t sum = 0;
  for (const layout::Row& row : rows) sum += row.view().integer(column);
  return sum;
}

}  // namespace namdb::sim
