// TPC-C's twelve consistency conditions (specification revision 5.11, clause 3.3.2), over all rows of one
// snapshot, in whatever order they come.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "common/layout/row.h"
#include "workloads/tpcc_schema.h"

namespace namdb::workloads::tpcc {

inline constexpr std::size_t kConditions = 12;

class Conditions {
 public:
  // Warehouse, district and order, or customer.
  using Name = std::tuple<std::int64_t, std::int64_t, std::int64_t>;
  struct Order {
    bool there = false;
    bool is_new = false;
    bool delivered = false;  // has a carrier
    std::int64_t customer = 0;
    std::int64_t says_lines = 0;
    std::int64_t lines = 0;
    std::int64_t delivered_lines = 0;
    std::int64_t amount = 0;
  };

  // `scale` is that of the load: orders that it has delivered are in no customer's count of deliveries.
  explicit Conditions(const Scale& scale) : scale_(scale) {}

  // A row of the table at that position (TableIndex).
  void add(std::size_t table, const layout::RowView& row);
  // Once, behind the last row: the first finding against each condition, a sentence; empty where it holds.
  std::array<std::string, kConditions> check();

  // All orders, also those of which only lines or a new-order entry exist.
  const std::map<Name, Order>& orders() const { return orders_; }

  static std::string order_text(const Name& name);

 private:
  using DistrictName = std::pair<std::int64_t, std::int64_t>;
  struct District {
    bool there = false;
    std::int64_t ytd = 0;
    std::int64_t next_order = 0;
    std::int64_t newest_order = 0;
    std::int64_t oldest_new = 0;
    std::int64_t newest_new = 0;
    std::int64_t orders = 0;
    std::int64_t new_orders = 0;
    std::int64_t says_lines = 0;
    std::int64_t lines = 0;
    std::int64_t paid = 0;
    std::int64_t deliveries = 0;
  };
  struct Customer {
    bool there = false;
    std::int64_t balance = 0;
    std::int64_t ytd_payment = 0;
    std::int64_t paid = 0;
    std::int64_t delivered_amount = 0;
  };

  void fail(std::size_t condition, const std::string& what) {
    if (findings_[condition - 1].empty()) findings_[condition - 1] = what;
  }
  void expect(std::size_t condition, bool holds, const std::string& what) {
    if (!holds) fail(condition, what);
  }
  void check_warehouses();
  void check_district(const DistrictName& name, const District& district);
  void check_order(const Name& name, const Order& order);
  void check_customer(const Name& name, const Customer& customer);
  static std::string district_text(const DistrictName& name);

  Scale scale_;
  std::map<std::int64_t, std::int64_t> warehouse_ytd_;
  std::map<DistrictName, District> districts_;
  std::map<Name, Order> orders_;
  std::map<Name, Customer> customers_;
  std::array<std::string, kConditions> findings_;
};

}  // namespace namdb::workloads::tpcc
