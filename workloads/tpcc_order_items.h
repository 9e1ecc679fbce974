// The item list of a new order as one text argument: "item:warehouse:quantity" a line, joined by commas, such
// as "4711:1:5,815:2:1". Fifteen lines are some 200 bytes on the wire, one parameter to bind, and are parsed
// without allocating.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "workloads/tpcc_schema.h"

namespace namdb::workloads::tpcc {

struct OrderItem {
  std::int32_t item = 0;
  std::int32_t supply_warehouse = 0;
  std::int32_t quantity = 0;
};

class OrderItems {
 public:
  // nullopt when the text is malformed, has no line or more than kMaxOrderLines, or a number is not
  // positive.
  static std::optional<OrderItems> parse(std::string_view text);

  std::span<const OrderItem> lines() const { return {lines_.data(), count_}; }
  // The caller adds at most kMaxOrderLines.
  void add(OrderItem line) { lines_[count_++] = line; }
  std::string to_text() const;

 private:
  std::array<OrderItem, kMaxOrderLines> lines_{};
  std::size_t count_ = 0;
};

}  // namespace namdb::workloads::tpcc
