#include "tools/namsim/workloads/tpcc_conditions.h"

#include <utility>

namespace namdb::sim {
namespace {

using namespace workloads::tpcc;
using layout::RowView;

struct Taken {
  std::int64_t quantity = 0;
  std::int64_t lines = 0;
};

// The first order lines' loads took nothing out of stock.
std::string check_stock(const TpccRows& rows, const Scale& scale) {
  std::map<std::pair<std::int64_t, std::int64_t>, Taken> taken;  // by warehouse and item
  for (const layout::Row& row : rows[kOrderLine]) {
    const RowView line = row.view();
    if (line.integer(kOlOId) <= scale.orders_per_district) continue;
    Taken& from = taken[{line.integer(kOlSupplyWId), line.integer(kOlIId)}];
    from.quantity += line.integer(kOlQuantity);
    ++from.lines;
  }
  for (const layout::Row& row : rows[kStock]) {
    const RowView stock = row.view();
    const Taken& from = taken[{stock.integer(kSWId), stock.integer(kSIId)}];
    if (stock.integer(kSYtd) == from.quantity && stock.integer(kSOrderCnt) == from.lines) continue;
    return "stock of item " + std::to_string(stock.integer(kSIId)) + " gave " +
           std::to_string(stock.integer(kSYtd)) + " to " + std::to_string(stock.integer(kSOrderCnt)) +
           " lines, the lines say " + std::to_string(from.quantity) + " to " + std::to_string(from.lines);
  }
  return {};
}

// Each payment of a customer is a row of history, so the customer's counter equals the number of its rows.
std::string check_payments(const TpccRows& rows) {
  std::map<Conditions::Name, std::int64_t> payments;
  for (const layout::Row& row : rows[kHistory])
    ++payments[{row.view().integer(kHCWId), row.view().integer(kHCDId), row.view().integer(kHCId)}];
  for (const layout::Row& row : rows[kCustomer]) {
    const RowView customer = row.view();
    const std::int64_t count =
        payments[{customer.integer(kCWId), customer.integer(kCDId), customer.integer(kCId)}];
    if (customer.integer(kCPaymentCnt) == count) continue;
    return "customer " + std::to_string(customer.integer(kCId)) + " counts " +
           std::to_string(customer.integer(kCPaymentCnt)) + " payments, its history " + std::to_string(count);
  }
  return {};
}

}  // namespace

std::string check_tpcc(const TpccRows& rows, const Scale& scale, const AcknowledgedOrders& acknowledged,
                       std::uint64_t begin_ns) {
  Conditions conditions(scale);
  for (std::size_t table = 0; table < rows.size(); ++table) {
    for (const layout::Row& row : rows[table]) conditions.add(table, row.view());
  }
  const std::array<std::string, kConditions> findings = conditions.check();
  for (std::size_t i = 0; i < findings.size(); ++i) {
    if (!findings[i].empty()) return "condition " + std::to_string(i + 1) + ": " + findings[i];
  }
  for (const auto& [name, order] : acknowledged) {
    if (order.acknowledged_ns >= begin_ns) continue;
    const auto found = conditions.orders().find(name);
    if (found == conditions.orders().end() || !found->second.there)
      return Conditions::order_text(name) + " was acknowledged and is not there";
    if (found->second.customer != order.customer || found->second.says_lines != order.lines)
      return Conditions::order_text(name) + " is not the one that was acknowledged";
  }
  const std::string wrong = check_payments(rows);
  return wrong.empty() ? check_stock(rows, scale) : wrong;
}

std::int64_t sum_of(const std::vector<layout::Row>& rows, std::uint32_t column) {
  std::int64_t sum = 0;
  for (const layout::Row& row : rows) sum += row.view().integer(column);
  return sum;
}

}  // namespace namdb::sim
