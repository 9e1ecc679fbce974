// The frames of window functions.
#include <algorithm>

#include "compute/sql/execute/row_order.h"
#include "compute/sql/execute/window_feed.h"
#include "compute/sql/value/interval.h"

namespace namdb::sql {
namespace {

bool is_negative(const Type& type, const Datum& value) {
  switch (type.type_class()) {
    case TypeClass::real:
      return !(value.real >= 0);  // NaN, too
    case TypeClass::numeric:
      return value.decimal().value < 0;
    case TypeClass::interval:
      return comparable_us(value.interval()) < 0;
    default:
      return value.integer < 0;
  }
}

Status check_offset(const WindowFrame& frame, const Expr& expr, const Datum& value, bool is_start) {
  const std::string name = is_start ? "frame starting offset" : "frame ending offset";
  if (value.null) return Status(ErrorCode::null_not_allowed, name + " must not be null");
  if (!is_negative(expr.type, value)) return {};
  return Status(ErrorCode::invalid_frame_offset,
                frame.mode == FrameMode::range ? "invalid preceding or following size in window function"
                                               : name + " must not be negative");
}

}  // namespace

// Behind the last group: the end of the partition.
std::size_t WindowFeed::begin_of_group(Rows partition, std::size_t group) const {
  return group < group_begins_.size() ? group_begins_[group] : partition.end;
}

std::size_t WindowFeed::first_behind(const WindowCall& call, Rows partition, const Datum* value,
                                     bool with) const {
  std::size_t first = partition.begin;
  std::size_t last = partition.end;
  while (first < last) {
    const std::size_t middle = first + (last - first) / 2;
    const Datum* const key = values_[order_[middle]].data() + call.partition.size();
    const bool is_behind =
        with ? !comes_before(call.order, key, value, nullptr) : comes_before(call.order, value, key, nullptr);
    if (is_behind) {
      last = middle;
    } else {
      first = middle + 1;
    }
  }
  return first;
}

Status WindowFeed::find_bound(const WindowCall& call, Rows partition, std::size_t at, bool is_start,
                              std::size_t& out) const {
  const WindowFrame& frame = call.frame;
  const FrameBound bound = is_start ? frame.start : frame.end;
  if (bound == FrameBound::unbounded) {
    out = is_start ? partition.begin : partition.end;
    return {};
  }
  const bool of_rows = frame.mode == FrameMode::rows;
  const std::size_t group = peer_groups_[at];
  if (bound == FrameBound::current) {
    if (of_rows) {
      out = is_start ? at : at + 1;
    } else {
      out = is_start ? rank_[at] : begin_of_group(partition, group + 1);
    }
    return {};
  }
  // The offsets stand behind the arguments, and the values of a range behind those.
  const std::span<const Datum> parts = argument(call, at).subspan(call.args.size());
  const bool is_second = !is_start && frame.start_offset != nullptr;
  const Datum& offset = parts[is_second ? 1 : 0];
  const Expr& expr = is_start ? *frame.start_offset : *frame.end_offset;
  if (Status status = check_offset(frame, expr, offset, is_start); !status.ok()) return status;
  if (frame.mode == FrameMode::range) {
    const bool has_both = frame.start_offset != nullptr && frame.end_offset != nullptr;
    const Datum& value = parts[(has_both ? 2 : 1) + (is_second ? 1 : 0)];
    if (value.null) {  // as that of the row is: its peers
      out = is_start ? rank_[at] : begin_of_group(partition, group + 1);
    } else {
      out = first_behind(call, partition, &value, is_start);
    }
    return {};
  }
  const auto count = static_cast<std::int64_t>(of_rows ? partition.size() : group_begins_.size());
  const std::int64_t distance = std::min(offset.integer, count);
  const auto here = static_cast<std::int64_t>(of_rows ? at - partition.begin : group);
  const std::int64_t there = bound == FrameBound::preceding ? here - distance : here + distance;
  const auto place =
      static_cast<std::size_t>(std::clamp<std::int64_t>(is_start ? there : there + 1, 0, count));
  out = of_rows ? partition.begin + place : begin_of_group(partition, place);
  return {};
}

Status WindowFeed::find_frame(const WindowCall& call, Rows partition, std::size_t at, Rows& frame) const {
  if (Status status = find_bound(call, partition, at, true, frame.begin); !status.ok()) return status;
  if (Status status = find_bound(call, partition, at, false, frame.end); !status.ok()) return status;
  frame.end = std::max(frame.begin, frame.end);
  return {};
}

}  // namespace namdb::sql
