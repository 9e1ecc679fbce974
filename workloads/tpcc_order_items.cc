#include "workloads/tpcc_order_items.h"

#include <charconv>

namespace namdb::workloads::tpcc {
namespace {

// Reads a positive number and the character behind it off the front of `text`.
bool take_number(std::string_view& text, char terminator, std::int32_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value <= 0) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (terminator == 0) return true;
  if (text.empty() || text.front() != terminator) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

std::optional<OrderItems> OrderItems::parse(std::string_view text) {
  OrderItems items;
  while (true) {
    OrderItem line;
    if (items.count_ == kMaxOrderLines || !take_number(text, ':', line.item) ||
        !take_number(text, ':', line.supply_warehouse) || !take_number(text, 0, line.quantity)) {
      return std::nullopt;
    }
    items.add(line);
    if (text.empty()) return items;
    if (text.front() != ',') return std::nullopt;
    text.remove_prefix(1);
  }
}

std::string OrderItems::to_text() const {
  std::string text;
  for (const OrderItem& line : lines()) {
    if (!text.empty()) text += ',';
    text += std::to_string(line.item) + ':' + std::to_string(line.supply_warehouse) + ':' +
            std::to_string(line.quantity);
  }
  return text;
}

}  // namespace namdb::workloads::tpcc
