// Calls of window functions: values of a row that depend on rows beside it. They are columns of a derived
// table, whose query gives the rows.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "compute/sql/plan/plan.h"

namespace namdb::sql {

enum class WindowKind : std::uint8_t {
  row_number,
  rank,
  dense_rank,
  percent_rank,
  cumulative_distribution,
  ntile,
  lag,
  lead,
  first_value,
  last_value,
  nth_value,
  aggregate
};

// The frame begins with the partition.
enum class FrameEnd : std::uint8_t { row, peers, partition };

struct WindowCall {
  WindowKind kind = WindowKind::row_number;
  Type type;
  std::vector<ExprPtr> args;  // over the rows of the query
  Aggregate aggregate;        // of that kind
  std::vector<OrderItem> partition;
  std::vector<OrderItem> order;
  FrameEnd frame_end = FrameEnd::peers;

  // Calls `visit` with each of its expressions.
  template <typename Visit>
  void for_each_expression(Visit&& visit) {
    for (ExprPtr& argument : args) visit(argument);
    if (aggregate.argument != nullptr) visit(aggregate.argument);
    if (aggregate.separator != nullptr) visit(aggregate.separator);
    for (std::vector<OrderItem>* const items : {&aggregate.order, &partition, &order}) {
      for (OrderItem& item : *items) visit(item.value);
    }
  }
  template <typename Visit>
  void for_each_expression(Visit&& visit) const {
    for (const ExprPtr& argument : args) visit(argument);
    aggregate.for_each_expression(visit);
    for (const std::vector<OrderItem>* const items : {&partition, &order}) {
      for (const OrderItem& item : *items) visit(item.value);
    }
  }
};

struct WindowCalls {
  std::vector<WindowCall> calls;
};

}  // namespace namdb::sql
