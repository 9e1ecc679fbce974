// From the values of an index path's expressions to ranges of the index's keys.
#include "compute/sql/execute/index_range.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>

#include "compute/sql/execute/column_values.h"
#include "compute/sql/value/characters.h"
#include "compute/sql/value/wide_datum.h"

namespace namdb::sql {
namespace {

// The place of a value among those that a column can hold: the greatest of these that is not above it.
struct Floor {
  enum class Kind : std::uint8_t { below_all, value, above_all };
  Kind kind = Kind::value;
  bool exact = true;  // it is the value
  std::int64_t integer = 0;
  double real = 0;
  std::string_view text;
  layout::WideField wide{};
};

std::int64_t least_integer(layout::ColumnType type) {
  switch (type) {
    case layout::ColumnType::smallint:
      return INT16_MIN;
    case layout::ColumnType::integer:
    case layout::ColumnType::date:
      return INT32_MIN;
    case layout::ColumnType::boolean:
      return 0;
    default:
      return INT64_MIN;
  }
}

std::int64_t greatest_integer(layout::ColumnType type) {
  return type == layout::ColumnType::boolean ? 1 : -(least_integer(type) + 1);
}

// The number times 10^scale, rounded down; `exact` says whether it was whole.
Int128 scaled_floor(const Decimal& number, unsigned scale, bool& exact) {
  constexpr Int128 kFar = Int128{1} << 100;  // beyond any column's range
  Int128 value = number.value;
  for (unsigned digits = number.scale; digits < scale; ++digits)
    value = value > kFar || value < -kFar ? value : value * 10;
  exact = true;
  for (unsigned digits = scale; digits < number.scale; ++digits) {
    const Int128 below = value % 10 < 0 ? 1 : 0;
    exact = exact && value % 10 == 0;
    value = value / 10 - below;
  }
  return value;
}

// The greatest number of type real that is not above the number.
double single_floor(double number) {
  const auto nearest = static_cast<float>(number);
  const bool above = static_cast<double>(nearest) > number;
  return static_cast<double>(above ? std::nextafter(nearest, -std::numeric_limits<float>::infinity())
                                   : nearest);
}

Floor floor_of(const layout::Column& column, const Type& type, const Datum& value) {
  Floor floor;
  if (column.is_wide()) {
    const Decimal number = type.id == TypeId::numeric ? value.decimal() : Decimal{value.integer, 0};
    floor.wide =
        column.type == layout::ColumnType::interval ? wide_field_of(value.interval()) : wide_field_of(number);
    return floor;
  }
  if (column.is_string()) {
    floor.text =
        column.type == layout::ColumnType::character ? without_trailing_blanks(value.text) : value.text;
    floor.exact = floor.text.size() <= column.length_bytes;
    floor.text = floor.text.substr(0, column.length_bytes);
    return floor;
  }
  if (column.is_real()) {
    floor.real = column.type == layout::ColumnType::real ? single_floor(value.real) : value.real;
    floor.exact = floor.real == value.real || std::isnan(value.real);
    return floor;
  }
  Int128 number = value.integer;
  if (type.id == TypeId::numeric) {
    const unsigned scale = column.type == layout::ColumnType::numeric ? column.scale : 0;
    number = scaled_floor(value.decimal(), scale, floor.exact);
  }
  if (number < least_integer(column.type)) floor.kind = Floor::Kind::below_all;
  if (number > greatest_integer(column.type)) floor.kind = Floor::Kind::above_all;
  if (floor.kind != Floor::Kind::value) {
    floor.exact = false;
  } else {
    floor.integer = static_cast<std::int64_t>(number);
  }
  return floor;
}

void append(layout::IndexPrefix& prefix, const layout::Column& column, const Floor& value) {
  if (column.is_string()) {
    prefix.text(value.text);
  } else if (column.is_wide()) {
    prefix.wide(value.wide.data());
  } else if (column.is_real()) {
    prefix.real(value.real);
  } else {
    prefix.integer(value.integer);
  }
}

// A place between two keys; nullopt: behind all keys.
using Place = std::optional<std::string>;

// The places of the first column behind a prefix. "Below" and "above" are meant in the order of the values,
// which is that of the keys or its opposite.
class ColumnPlaces {
 public:
  explicit ColumnPlaces(const layout::IndexPrefix& prefix, const layout::IndexShape& shape)
      : prefix_(prefix),
        part_(shape.parts()[prefix.columns()]),
        column_(shape.schema().columns()[part_.column]) {}

  bool descending() const { return part_.descending; }
  Place below_all() const { return descending() ? layout::index_successor(prefix_.bytes()) : prefix(); }
  Place above_all() const {
    if (column_.not_null) return descending() ? Place(prefix()) : layout::index_successor(prefix_.bytes());
    layout::IndexPrefix null = prefix_;
    null.null();
    return descending() ? layout::index_successor(null.bytes()) : Place(null.bytes());
  }
  // The place below or above the values that equal the bound.
  Place beside(const Expr& expr, const Datum& value, bool above_equal) const {
    const Floor floor = floor_of(column_, expr.type, value);
    if (floor.kind == Floor::Kind::below_all) return below_all();
    if (floor.kind == Floor::Kind::above_all) return above_all();
    layout::IndexPrefix end = prefix_;
    append(end, column_, floor);
    const bool above = above_equal || !floor.exact;
    return above == descending() ? Place(end.bytes()) : layout::index_successor(end.bytes());
  }

 private:
  Place prefix() const { return std::string(prefix_.bytes()); }

  const layout::IndexPrefix& prefix_;
  layout::IndexColumn part_;
  const layout::Column& column_;
};

// The values of a range's bounds.
struct Bounds {
  const IndexPath::Range* range = nullptr;
  Datum low;
  Datum high;

  // Nothing is below, or above, NULL.
  bool hold_nothing() const {
    return (range->low != nullptr && low.null) || (range->high != nullptr && high.null);
  }
};

// Adds the keys with the prefix in those bounds, if there may be some; null: all of them.
void add_range(const IndexPath& path, const layout::IndexPrefix& prefix, const Bounds* bounds,
               std::multimap<std::string, Place>& ranges) {
  Place from = std::string(prefix.bytes());
  Place to = layout::index_successor(prefix.bytes());
  if (bounds != nullptr) {
    const IndexPath::Range& range = *bounds->range;
    const ColumnPlaces places(prefix, path.index->shape);
    from = range.low == nullptr ? places.below_all()
                                : places.beside(*range.low, bounds->low, !range.low_inclusive);
    to = range.high == nullptr ? places.above_all()
                               : places.beside(*range.high, bounds->high, range.high_inclusive);
    if (places.descending()) std::swap(from, to);
  }
  if (from && (!to || *from < *to)) ranges.emplace(std::move(*from), std::move(to));
}

// Takes the first of the ranges, with those behind it that overlap it.
txn::IndexRange take_first(std::multimap<std::string, Place>& ranges) {
  auto first = ranges.extract(ranges.begin());
  txn::IndexRange range{std::move(first.key()), std::move(first.mapped()), false, 0};
  while (!ranges.empty() && range.high && ranges.begin()->first <= *range.high) {
    Place& high = ranges.begin()->second;
    if (!high || *high > *range.high) range.high = std::move(high);
    ranges.erase(ranges.begin());
  }
  if (!range.high) ranges.clear();
  return range;
}

using Values = std::vector<std::vector<ColumnValue>>;

reactor::Task<Status> evaluate_all(Run& run, const IndexPath& path, std::span<const Datum> outer,
                                   Values& values, std::vector<Bounds>& bounds) {
  EvalContext context = run.context();
  context.values = outer;
  Status status;
  for (const std::vector<ExprPtr>& column : path.equal) {
    status = co_await evaluate_values(run, &column, context, &values.emplace_back());
    if (!status.ok()) co_return status;
  }
  for (const IndexPath::Range& range : path.ranges) {
    Bounds& own = bounds.emplace_back(Bounds{&range, {}, {}});
    if (range.low != nullptr) status = evaluate(*range.low, context, own.low);
    if (status.ok() && range.high != nullptr) status = evaluate(*range.high, context, own.high);
    if (!status.ok()) co_return status;
    if (own.hold_nothing()) bounds.pop_back();
  }
  co_return status;
}

// False when no row has the values.
bool append_values(const IndexPath& path, const Values& values, std::size_t choice,
                   layout::IndexPrefix& prefix) {
  const layout::IndexShape& shape = path.index->shape;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i].empty()) return false;
    const ColumnValue& value = values[i][values[i].size() == 1 ? 0 : choice];
    const layout::Column& column = shape.schema().columns()[shape.parts()[i].column];
    if (value.wants_null) {
      if (column.not_null) return false;
      prefix.null();
      continue;
    }
    if (value.value.null) return false;
    const Floor floor = floor_of(column, value.type, value.value);
    if (!floor.exact) return false;
    append(prefix, column, floor);
  }
  return true;
}

}  // namespace

reactor::Task<Status> evaluate_ranges(Run& run, const IndexPath& path, std::span<const Datum> outer,
                                      std::vector<txn::IndexRange>& ranges) {
  // Evaluates all values first: each expression may end in an error.
  Values values;
  std::vector<Bounds> bounds;
  Status status = co_await evaluate_all(run, path, outer, values, bounds);
  if (!status.ok()) co_return status;
  if (bounds.empty() && !path.ranges.empty()) co_return Status();
  std::size_t choices = 1;
  for (const std::vector<ColumnValue>& column : values) choices = std::max(choices, column.size());
  // Sorted as they come, since a sort of many would be one long step. Equal ones count once.
  std::multimap<std::string, Place> sorted;
  for (std::size_t choice = 0; choice < choices; ++choice) {
    layout::IndexPrefix prefix(path.index->shape);
    if (append_values(path, values, choice, prefix)) {
      if (bounds.empty()) add_range(path, prefix, nullptr, sorted);
      for (const Bounds& own : bounds) add_range(path, prefix, &own, sorted);
    }
    if (run.value_ends_turn()) status = co_await run.take_turn();
    if (!status.ok()) co_return status;
  }
  while (!sorted.empty()) {
    ranges.push_back(take_first(sorted));
    ranges.back().descending = path.descending;
    if (run.value_ends_turn()) status = co_await run.take_turn();
    if (!status.ok()) co_return status;
  }
  if (path.descending) std::ranges::reverse(ranges);
  co_return Status();
}

}  // namespace namdb::sql
