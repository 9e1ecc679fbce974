#include "compute/sql/execute/set_function.h"

#include "compute/sql/value/calendar.h"
#include "compute/sql/value/interval.h"

namespace namdb::sql {

using Kind = SetFunction::Kind;

namespace {

bool is_series_of_times(const SetFunction::Call& call) {
  return call.kind == Kind::series && call.args[0]->type.type_class() == TypeClass::time;
}

}  // namespace

Status SetFunctionRows::begin(const EvalContext& context) {
  arena_.reset();
  row_ = 0;
  states_.assign(function_.calls.size(), {});
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (Status status = begin_call(function_.calls[i], context, states_[i]); !status.ok()) return status;
  }
  return {};
}

Status SetFunctionRows::begin_series(const SetFunction::Call& call, std::span<const Datum> values,
                                     State& state) {
  state.next = values[0].integer;
  state.last = values[1].integer;
  if (is_series_of_times(call)) {
    state.interval = values[2].interval();
    const Int128 step_us = comparable_us(state.interval);
    // Its sign counts.
    state.step = step_us > 0 ? 1 : step_us < 0 ? -1 : 0;
    if (is_infinite_timestamp(state.next) || is_infinite_timestamp(state.last)) {
      return Status(ErrorCode::invalid_parameter_value, "a series of times cannot begin or end at infinity");
    }
  } else if (values.size() > 2) {
    state.step = values[2].integer;
  }
  if (state.step == 0) return Status(ErrorCode::invalid_parameter_value, "step size cannot equal zero");
  return {};
}

void SetFunctionRows::advance(const SetFunction::Call& call, State& state) {
  if (!is_series_of_times(call)) {
    state.ended = __builtin_add_overflow(state.next, state.step, &state.next);
    return;
  }
  const Result<std::int64_t> next = call.args[0]->type.id == TypeId::timestamptz
                                        ? add_interval(state.next, state.interval, state.zone)
                                        : add_interval(state.next, state.interval);
  state.ended = !next.ok();
  if (next.ok()) state.next = *next;
}

Status SetFunctionRows::begin_call(const SetFunction::Call& call, const EvalContext& context, State& state) {
  std::vector<Datum> values(call.args.size());
  bool any_null = false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (Status status = evaluate(*call.args[i], context, values[i]); !status.ok()) return status;
    any_null = any_null || values[i].null;
  }
  if (call.kind == Kind::scalar || !any_null) state.value = arena_.keep(values[0]);
  if (call.kind == Kind::scalar) return {};
  state.ended = any_null;
  if (any_null) return {};
  if (call.kind == Kind::series) {
    state.zone = context.time().zone;
    return begin_series(call, values, state);
  }
  if (call.kind == Kind::subscripts) {
    const TypeId array = call.args[0]->type.id;
    state.next = first_subscript(array);
    state.last = state.next + array_size(array, state.value) - 1;
    // An array has one dimension.
    state.ended = values[1].integer != 1;
  }
  return {};
}

bool SetFunctionRows::next_value(const SetFunction::Call& call, State& state, Datum& value) {
  value = Datum();
  if (state.ended) return false;
  switch (call.kind) {
    case Kind::scalar:
      value = state.value;
      state.ended = true;
      return true;
    case Kind::unnest: {
      Datum rest = state.value;
      rest.text.remove_prefix(state.read_bytes);
      ArrayReader reader(call.args[0]->type.id, rest);
      state.ended = !reader.next(value);
      state.read_bytes = state.value.text.size() - reader.rest_bytes();
      return !state.ended;
    }
    case Kind::series:
    case Kind::subscripts:
      break;
  }
  if (state.step > 0 ? state.next > state.last : state.next < state.last) {
    state.ended = true;
    return false;
  }
  value = Datum::of_integer(state.next);
  advance(call, state);
  return true;
}

bool SetFunctionRows::next(std::span<Datum> row) {
  bool any = false;
  for (std::size_t i = 0; i < states_.size(); ++i)
    any = next_value(function_.calls[i], states_[i], row[i]) || any;
  if (any && function_.ordinality) row[states_.size()] = Datum::of_integer(++row_);
  return any;
}

}  // namespace namdb::sql
