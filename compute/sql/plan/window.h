// Calls of window functions: values of a row that depend on rows beside it. They are columns of a derived
// table, whose query gives the rows.
#pragma once

#include <array>
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

// In what a frame is counted.
enum class FrameMode : std::uint8_t { rows, range, groups };
// One of its two ends; `unbounded`: that of the partition.
enum class FrameBound : std::uint8_t { unbounded, preceding, current, following };

// The rows of the partition that count for a row: as a rule those up to its last peer.
struct WindowFrame {
  FrameMode mode = FrameMode::range;
  FrameBound start = FrameBound::unbounded;
  FrameBound end = FrameBound::current;
  // How far off these are. bigint, but of a range; null: neither `preceding` nor `following`.
  ExprPtr start_offset;
  ExprPtr end_offset;
  // In a range: the values of the order's one expression at that distance; otherwise null.
  ExprPtr start_value;
  ExprPtr end_value;

  std::array<const ExprPtr*, 4> parts() const {
    return {&start_offset, &end_offset, &start_value, &end_value};
  }
  std::array<ExprPtr*, 4> parts() { return {&start_offset, &end_offset, &start_value, &end_value}; }
};

struct WindowCall {
  WindowKind kind = WindowKind::row_number;
  Type type;
  std::vector<ExprPtr> args;  // over the rows of the query
  Aggregate aggregate;        // of that kind
  std::vector<OrderItem> partition;
  std::vector<OrderItem> order;
  WindowFrame frame;

  // Calls `visit` with each of its expressions.
  template <typename Visit>
  void for_each_expression(Visit&& visit) {
    for (ExprPtr& argument : args) visit(argument);
    if (aggregate.argument != nullptr) visit(aggregate.argument);
    if (aggregate.separator != nullptr) visit(aggregate.separator);
    for (std::vector<OrderItem>* const items : {&aggregate.order, &partition, &order}) {
      for (OrderItem& item : *items) visit(item.value);
    }
    for (ExprPtr* const part : frame.parts()) {
      if (*part != nullptr) visit(*part);
    }
  }
  template <typename Visit>
  void for_each_expression(Visit&& visit) const {
    for (const ExprPtr& argument : args) visit(argument);
    aggregate.for_each_expression(visit);
    for (const std::vector<OrderItem>* const items : {&partition, &order}) {
      for (const OrderItem& item : *items) visit(item.value);
    }
    for (const ExprPtr* const part : frame.parts()) {
      if (*part != nullptr) visit(*part);
    }
  }
};

struct WindowCalls {
  std::vector<WindowCall> calls;
};

}  // namespace namdb::sql
