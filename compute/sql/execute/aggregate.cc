#include "compute/sql/execute/aggregate.h"

#include <cmath>

#include "common/layout/wide_value.h"
#include "compute/sql/execute/row_order.h"
#include "compute/sql/value/array.h"
#include "compute/sql/value/equal_bytes.h"
#include "compute/sql/value/interval.h"
#include "compute/sql/value/jsonb.h"

namespace namdb::sql {

AggregateStep step_of(const Aggregate& aggregate) {
  if (aggregate.kind == AggregateKind::count_rows) return AggregateStep::count_rows;
  if (aggregate.distinct || aggregate.argument->kind != ExprKind::column) return AggregateStep::evaluated;
  const TypeClass type_class = aggregate.argument->type.type_class();
  const bool is_integer = type_class == TypeClass::integer || type_class == TypeClass::time ||
                          type_class == TypeClass::time_of_day;
  switch (aggregate.kind) {
    case AggregateKind::count:
      return AggregateStep::count;
    case AggregateKind::sum:
    case AggregateKind::average: {
      // Only these are stored in a word.
      const auto digits = aggregate.argument->type.numeric_precision();
      const bool is_word = type_class == TypeClass::integer ||
                           (type_class == TypeClass::numeric && digits && *digits <= layout::kMaxWordDigits);
      return is_word ? AggregateStep::sum : AggregateStep::evaluated;
    }
    case AggregateKind::minimum:
      return is_integer ? AggregateStep::least : AggregateStep::evaluated;
    case AggregateKind::maximum:
      return is_integer ? AggregateStep::greatest : AggregateStep::evaluated;
    default:
      return AggregateStep::evaluated;
  }
}

void Accumulator::add_stored(AggregateStep step, const layout::RowView& row) {
  if (step == AggregateStep::count_rows) {
    ++count_;
    return;
  }
  const std::uint32_t column = aggregate_->argument->index;
  if (row.is_null(column)) return;
  ++count_;
  if (step == AggregateStep::count) return;
  const std::int64_t value = row.integer(column);
  if (step == AggregateStep::sum) {
    // Stored numbers have 64 bits, and so the sum of all rows that there can be fits.
    sum_.value += value;
    sum_.scale = row.schema().columns()[column].scale;
    return;
  }
  const bool is_better = step == AggregateStep::least ? value < best_.integer : value > best_.integer;
  if (best_.null || is_better) best_ = Datum::of_integer(value);
}

Status Accumulator::add(const EvalContext& context, GatheredMemory& memory, MemoryBudget* budget) {
  if (aggregate_->kind == AggregateKind::count_rows) {
    ++count_;
    return {};
  }
  if (aggregate_->filter != nullptr) {
    bool selected = false;
    Status status = evaluate_condition(*aggregate_->filter, context, selected);
    if (!status.ok() || !selected) return status;
  }
  Datum value;
  if (Status status = evaluate(*aggregate_->argument, context, value); !status.ok()) return status;
  if (value.null && aggregate_->kind == AggregateKind::json_object)
    return Status(ErrorCode::invalid_parameter_value, "field name must not be null");
  if (value.null && aggregate_->kind != AggregateKind::array) return {};
  if (aggregate_->collects()) {
    // When one of them pauses, nothing is counted yet.
    if (Status status = evaluate_others(context); !status.ok()) return status;
  }
  if (aggregate_->distinct) {
    std::string bytes;
    append_equal_bytes(bytes, aggregate_->argument->type.id, value);
    if (seen_ == nullptr) seen_ = std::make_unique<absl::flat_hash_set<std::string>>();
    bool is_new = false;
    Status status = add_seen(*seen_, std::move(bytes), memory, budget, is_new);
    if (!status.ok() || !is_new) return status;
  }
  ++count_;
  context.work->charge_bytes(value.text.size());
  if (aggregate_->collects()) return collect(context, value, memory, budget);
  return add_value(value);
}

Status Accumulator::evaluate_others(const EvalContext& context) const {
  Datum value;
  if (aggregate_->separator != nullptr) {
    if (Status status = evaluate(*aggregate_->separator, context, value); !status.ok()) return status;
  }
  for (const OrderItem& order : aggregate_->order) {
    if (Status status = evaluate(*order.value, context, value); !status.ok()) return status;
  }
  return {};
}

bool Accumulator::ComesBefore::operator()(const Kept& left, const Kept& right) const {
  return comes_before(aggregate->order, left.order.data(), right.order.data(), nullptr);
}

Status Accumulator::collect(const EvalContext& context, const Datum& value, GatheredMemory& memory,
                            MemoryBudget* budget) {
  Kept kept{value, {}, {}};
  if (aggregate_->separator != nullptr) {
    if (Status status = evaluate(*aggregate_->separator, context, kept.separator); !status.ok())
      return status;
  }
  std::vector<Datum> order(aggregate_->order.size());
  std::size_t bytes = sizeof(Kept) + 4 * sizeof(void*) + value.text.size() + kept.separator.text.size();
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (Status status = evaluate(*aggregate_->order[i].value, context, order[i]); !status.ok()) return status;
    bytes += sizeof(Datum) + order[i].text.size();
  }
  if (Status status = memory.add(budget, bytes); !status.ok()) return status;
  context.work->charge_bytes(bytes);
  if (collection_ == nullptr) collection_ = std::make_unique<Collection>(aggregate_);
  Arena& arena = collection_->arena;
  kept.value = arena.keep(kept.value);
  kept.separator = arena.keep(kept.separator);
  kept.order = arena.keep(std::span<const Datum>(order));
  collection_->kept.insert(kept);
  return {};
}

Status Accumulator::collected(Arena& arena, Datum& out) const {
  if (aggregate_->kind == AggregateKind::array) {
    ArrayWriter writer(aggregate_->type.id);
    for (const Kept& kept : collection_->kept) {
      writer.add(kept.value);
      if (Status status = check_array_bytes(writer.bytes()); !status.ok()) return status;
    }
    out = writer.finish(arena);
    return {};
  }
  if (aggregate_->kind == AggregateKind::json_array || aggregate_->kind == AggregateKind::json_object)
    return collected_json(arena, out);
  std::string text;
  for (const Kept& kept : collection_->kept) {
    if (&kept != &*collection_->kept.begin() && !kept.separator.null) text += kept.separator.text;
    text += kept.value.text;
    if (Status status = check_text_bytes(text.size()); !status.ok()) return status;
  }
  out = Datum::of_text(arena.copy(text));
  return {};
}

Status Accumulator::collected_json(Arena& arena, Datum& out) const {
  const bool is_object = aggregate_->kind == AggregateKind::json_object;
  const bool is_jsonb = aggregate_->type.id == TypeId::jsonb;
  const bool spaced = is_object && !is_jsonb;  // as PostgreSQL writes them
  std::string text = is_object ? "{" : "[";
  if (spaced) text += ' ';
  for (const Kept& kept : collection_->kept) {
    if (&kept != &*collection_->kept.begin()) text += ", ";
    text += kept.value.text;
    if (Status status = check_text_bytes(text.size()); !status.ok()) return status;
  }
  if (spaced) text += ' ';
  text += is_object ? '}' : ']';
  if (is_jsonb) return is_object ? parse_jsonb(text, arena, out) : finish_jsonb(text, arena, out);
  out = Datum::of_text(arena.copy(text));
  return {};
}

// avg() does not show these squares. PostgreSQL counts them for variances, and their overflow is an error of
// avg().
Status Accumulator::add_square(double value, bool infinite) {
  const auto count = static_cast<double>(count_);
  if (count_ == 1) {
    if (!std::isfinite(value)) real_squares_ = std::nan("");
    return {};
  }
  const double distance = value * count - real_sum_;
  real_squares_ += distance * distance / (count * (count - 1));
  if (!std::isinf(real_sum_) && !std::isinf(real_squares_)) return {};
  if (!infinite) return Status(ErrorCode::numeric_out_of_range, "value out of range: overflow");
  real_squares_ = std::nan("");
  return {};
}

Status Accumulator::add_value(const Datum& value) {
  const TypeClass type_class = aggregate_->argument->type.type_class();
  switch (aggregate_->kind) {
    case AggregateKind::sum:
    case AggregateKind::average: {
      if (type_class == TypeClass::real) {
        const double sum = real_sum_ + value.real;
        if (std::isinf(sum) && !std::isinf(real_sum_) && !std::isinf(value.real))
          return Status(ErrorCode::numeric_out_of_range, "value out of range: overflow");
        const bool infinite = std::isinf(real_sum_) || std::isinf(value.real);
        real_sum_ = sum;
        return aggregate_->kind == AggregateKind::average ? add_square(value.real, infinite) : Status();
      }
      if (type_class == TypeClass::interval) {
        const Result<Interval> sum = namdb::sql::add(interval_sum_, value.interval());
        if (!sum.ok()) return sum.status();
        interval_sum_ = *sum;
        return {};
      }
      const Decimal number = type_class == TypeClass::integer ? Decimal{value.integer, 0} : value.decimal();
      const Result<Decimal> sum = namdb::sql::add(sum_, number);
      if (!sum.ok()) return sum.status();
      sum_ = *sum;
      return {};
    }
    case AggregateKind::minimum:
    case AggregateKind::maximum: {
      const int wanted = aggregate_->kind == AggregateKind::minimum ? -1 : 1;
      const int order = best_.null ? wanted : compare_values(aggregate_->argument->type.id, value, best_);
      // Of equal values that look different the last one stays, as in PostgreSQL.
      const bool last_stays = type_class == TypeClass::interval || type_class == TypeClass::numeric ||
                              type_class == TypeClass::real || type_class == TypeClass::array;
      if (order != wanted && (order != 0 || !last_stays)) return {};
      best_ = value;
      if (aggregate_->argument->type.has_bytes()) {
        best_text_ = value.text;
        best_.text = best_text_;
      }
      return {};
    }
    case AggregateKind::all_true:
    case AggregateKind::any_true: {
      const bool decisive = aggregate_->kind == AggregateKind::any_true;
      if (best_.null || value.is_true() == decisive) best_ = value;
      return {};
    }
    default:
      return {};
  }
}

Status Accumulator::result(Arena& arena, Datum& out) const {
  const bool real = aggregate_->type.type_class() == TypeClass::real;
  const bool interval = aggregate_->type.id == TypeId::interval;
  switch (aggregate_->kind) {
    case AggregateKind::count_rows:
    case AggregateKind::count:
      out = Datum::of_integer(count_);
      return {};
    case AggregateKind::minimum:
    case AggregateKind::maximum:
      out = best_;
      if (aggregate_->argument->type.has_bytes()) out.text = best_text_;
      return {};
    case AggregateKind::all_true:
    case AggregateKind::any_true:
      out = best_;
      return {};
    case AggregateKind::array:
    case AggregateKind::joined_string:
    case AggregateKind::json_array:
    case AggregateKind::json_object:
      if (collection_ == nullptr) break;
      return collected(arena, out);
    case AggregateKind::sum:
      if (count_ == 0) break;
      if (interval) {
        out = Datum::of_interval(interval_sum_);
      } else if (real) {
        out = Datum::of_real(real_sum_);
        if (aggregate_->type.id == TypeId::float4)
          out.real = static_cast<double>(static_cast<float>(real_sum_));
      } else if (aggregate_->type.id == TypeId::int8) {
        const Result<std::int64_t> sum = to_integer(sum_);
        if (!sum.ok()) return sum.status();
        out = Datum::of_integer(*sum);
      } else {
        out = Datum::of_decimal(sum_);
      }
      return {};
    case AggregateKind::average: {
      if (count_ == 0) break;
      if (real) {
        out = Datum::of_real((real_sum_ + 0.0) / static_cast<double>(count_));
        return {};
      }
      if (interval) {
        const Result<Interval> mean = divide(interval_sum_, static_cast<double>(count_));
        if (!mean.ok()) return mean.status();
        out = Datum::of_interval(*mean);
        return {};
      }
      const Result<Decimal> average = divide(sum_, {count_, 0});
      if (!average.ok()) return average.status();
      out = Datum::of_decimal(*average);
      return {};
    }
  }
  out = Datum();
  return {};
}

}  // namespace namdb::sql
