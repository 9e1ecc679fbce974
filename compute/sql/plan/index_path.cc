#include "compute/sql/plan/index_path.h"

#include <algorithm>
#include <deque>
#include <optional>

#include "compute/sql/plan/index_terms.h"
#include "compute/sql/value/generated_column.h"

namespace namdb::sql {
namespace {

// The filter's conditions on the columns of an index.
struct Candidate {
  storage::IndexRef index;
  std::vector<std::vector<const Expr*>> equal;  // a null pointer: NULL
  std::vector<ValueRange> ranges;
  bool ranges_say_all = true;  // of the conditions that they come from
  std::vector<const Expr*> conditions;
  bool gives_order = false;
  bool descending = false;
  int score = 0;
};

struct Equality {
  std::vector<const Expr*> values;
  const Expr* condition = nullptr;
};

// The conditions that every row meets, on a table with those columns.
struct Conditions {
  std::span<const Expr* const> all;
  const TableColumns& columns;
};

Equality equality_of(const Conditions& conditions, std::uint32_t column) {
  Equality best;
  for (const Expr* condition : conditions.all) {
    std::vector<const Expr*> values = equal_values(*condition, conditions.columns, column);
    if (is_null_test(*condition, conditions.columns, column)) values = {nullptr};
    if (restricts_more(values, best.values)) best = {std::move(values), condition};
  }
  return best;
}

// One range of conditions that AND connects, or else those of one condition with OR.
void find_ranges(Candidate& candidate, const Conditions& conditions, std::uint32_t column) {
  ValueRange range;
  for (const Expr* condition : conditions.all) {
    const std::optional<Bound> bound = bound_of(*condition, conditions.columns, column);
    if (!bound) continue;
    std::optional<Bound>& side = bound->is_low ? range.low : range.high;
    if (side) continue;
    side = bound;
    candidate.conditions.push_back(condition);
    ++candidate.score;
  }
  if (range.low || range.high) {
    candidate.ranges.push_back(range);
    ++candidate.score;
    return;
  }
  for (const Expr* condition : conditions.all) {
    if (condition->kind != ExprKind::logical_or) continue;
    candidate.ranges = ranges_of(*condition, conditions.columns, column);
    if (candidate.ranges.empty()) continue;
    candidate.conditions.push_back(condition);
    candidate.ranges_say_all = false;
    candidate.score += 2;
    return;
  }
}

// Whether the index gives the order, forwards or backwards. Columns with one value each order nothing.
bool match_order(Candidate& candidate, std::span<const OrderItem> order) {
  const layout::IndexShape& shape = candidate.index->shape;
  const std::span<const layout::IndexColumn> parts = shape.parts();
  std::vector<bool> settled(shape.schema().columns().size());
  for (std::size_t i = 0; i < candidate.equal.size(); ++i)
    settled[parts[i].column] = !is_list(candidate.equal[i]);
  std::optional<bool> descending;
  std::size_t position = 0;
  for (const OrderItem& item : order) {
    if (item.value->kind != ExprKind::column) return false;
    const std::uint32_t column = item.value->index;
    if (settled[column]) continue;
    while (position < parts.size() && settled[parts[position].column]) ++position;
    if (position == parts.size()) break;  // no two rows are equal so far
    if (parts[position].column != column) return false;
    const bool nulls_fit = shape.schema().columns()[column].not_null || item.nulls_first == item.descending;
    const bool backwards = item.descending != parts[position].descending;
    if (!nulls_fit || (descending && *descending != backwards)) return false;
    descending = backwards;
    settled[column] = true;
  }
  candidate.descending = descending.value_or(false);
  return true;
}

Candidate consider(const storage::IndexRef& index, const Conditions& conditions,
                   std::span<const OrderItem> order) {
  constexpr int kOneValue = 8;
  constexpr int kList = 6;
  Candidate candidate;
  candidate.index = index;
  bool has_list = false;
  // A hash index needs equality on all of its columns, and gives no order.
  for (const layout::IndexColumn& part : index->hash ? index->shape.columns() : index->shape.parts()) {
    Equality equality = equality_of(conditions, part.column);
    const bool has_several = is_list(equality.values);
    const bool is_null = !equality.values.empty() && equality.values.front() == nullptr;
    if (index->hash && (equality.values.empty() || (has_several && has_list) || is_null)) return {};
    if (equality.values.empty() || (has_several && has_list)) {
      find_ranges(candidate, conditions, part.column);
      break;
    }
    has_list = has_list || has_several;
    candidate.score += has_several ? kList : kOneValue;
    candidate.equal.push_back(std::move(equality.values));
    candidate.conditions.push_back(equality.condition);
  }
  candidate.gives_order = !index->hash && !order.empty() && match_order(candidate, order);
  candidate.score += candidate.gives_order ? 1 : 0;
  return candidate;
}

// Of the values of the first column of a part of a table, all.
void take_part(Candidate& candidate) {
  if (!candidate.equal.empty() || !candidate.ranges.empty() || candidate.index == nullptr) return;
  candidate.ranges.emplace_back();
  candidate.score += 2;
}

bool has_index_column(const storage::Index& index) {
  return std::ranges::any_of(index.shape.columns(), [&](const layout::IndexColumn& part) {
    return is_index_column(index.shape.schema().columns()[part.column]);
  });
}

ExprPtr clone_or_null(const Expr* expr) {
  return expr == nullptr ? nullptr : clone(*expr);
}

}  // namespace

bool find_index_path(Source& source, std::span<const storage::IndexRef> indexes,
                     std::span<const OrderItem> order) {
  std::vector<const Expr*> conditions;
  if (source.filter != nullptr) conditions = conjuncts(*source.filter);
  return find_index_path(source, conditions, {}, indexes, order);
}

bool find_index_path(Source& source, std::span<const Expr* const> conditions, const TableColumns& columns,
                     std::span<const storage::IndexRef> indexes, std::span<const OrderItem> order) {
  if (source.table == nullptr || !source.key.empty()) return false;
  Candidate best;
  std::deque<IndexTerms> made;  // as long as candidates point there
  for (const storage::IndexRef& index : indexes) {
    if (!index->ready() || index->replaced()) continue;
    Candidate candidate;
    if (!has_index_column(*index)) {
      candidate = consider(index, {conditions, columns}, order);
    } else if (source.index_expressions != nullptr) {
      std::optional<IndexTerms> terms =
          terms_of(*index, *source.table, *source.index_expressions, conditions, columns.first, order);
      if (!terms) continue;
      const IndexTerms& own = made.emplace_back(*std::move(terms));
      candidate = consider(index, {own.conditions, columns}, own.order);
      if (own.part_is_not_null && !index->hash) take_part(candidate);
      for (const Expr*& condition : candidate.conditions) {
        const auto position = std::ranges::find(own.conditions, condition) - own.conditions.begin();
        condition = conditions[static_cast<std::size_t>(position)];
      }
    }
    // When both find the rows by equality alone, the hash index's entries are fewer bytes, and need no call.
    const bool is_hash = index->hash && best.index != nullptr && !best.index->hash;
    if (candidate.score > best.score || (is_hash && candidate.score == best.score))
      best = std::move(candidate);
  }
  if (best.score == 0) return false;
  auto path = std::make_unique<IndexPath>();
  path->index = best.index;
  for (const std::vector<const Expr*>& values : best.equal) {
    std::vector<ExprPtr>& copies = path->equal.emplace_back();
    for (const Expr* value : values) copies.push_back(clone_or_null(value));
  }
  for (const ValueRange& found : best.ranges) {
    IndexPath::Range& range = path->ranges.emplace_back();
    if (found.low) range.low = clone(*found.low->value);
    if (found.high) range.high = clone(*found.high->value);
    range.low_inclusive = found.low && found.low->inclusive;
    range.high_inclusive = found.high && found.high->inclusive;
  }
  path->descending = best.descending && best.gives_order;
  for (const Expr* condition : best.conditions) path->conditions.push_back(clone(*condition));
  path->has_other_conditions = best.conditions.size() < conditions.size() || !best.ranges_say_all;
  source.index_path = std::move(path);
  return best.gives_order;
}

}  // namespace namdb::sql
