#include "compute/sql/execute/set_function.h"

namespace namdb::sql {

using Kind = SetFunction::Kind;

Status SetFunctionRows::begin(const EvalContext& context) {
  arena_.reset();
  row_ = 0;
  states_.assign(function_.calls.size(), {});
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (Status status = begin_call(function_.calls[i], context, states_[i]); !status.ok()) return status;
  }
  return {};
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
    state.next = values[0].integer;
    state.last = values[1].integer;
    if (values.size() > 2) state.step = values[2].integer;
    if (state.step == 0) return Status(ErrorCode::invalid_parameter_value, "step size cannot equal zero");
  } else if (call.kind == Kind::subscripts) {
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
  state.ended = __builtin_add_overflow(state.next, state.step, &state.next);
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
