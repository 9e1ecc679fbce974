#include "compute/sql/execute/set_function.h"

#include <algorithm>

#include "compute/sql/value/calendar.h"
#include "compute/sql/value/interval.h"

namespace namdb::sql {

using Kind = SetFunction::Kind;

namespace {

bool is_series_of_times(const SetFunction::Call& call) {
  return call.kind == Kind::series && call.args[0]->type.type_class() == TypeClass::time;
}

Status cannot(std::string message) {
  return Status(ErrorCode::invalid_parameter_value, std::move(message));
}

// "name=value".
Datum part_of_option(const Datum& option, std::string_view part) {
  if (option.null) return {};
  const std::size_t end = option.text.find('=');
  if (part == SetFunction::kOptionName) return Datum::of_text(option.text.substr(0, end));
  return end == std::string_view::npos ? Datum() : Datum::of_text(option.text.substr(end + 1));
}

// Whether the function is one of such values.
Status check_json_kind(const SetFunction::Call& call, const JsonValue& value) {
  const bool is_jsonb = call.name.starts_with("jsonb");
  const bool of_elements = call.kind == Kind::json_elements;
  if (value.kind == (of_elements ? JsonKind::array : JsonKind::object)) return {};
  const bool container = value.is_container();
  if (of_elements) {
    if (is_jsonb)
      return cannot(std::string("cannot extract elements from ") + (container ? "an object" : "a scalar"));
    return cannot("cannot call " + std::string(call.name) + " on a " + (container ? "non-array" : "scalar"));
  }
  if (call.name.ends_with("object_keys"))
    return cannot("cannot call " + std::string(call.name) + " on " + (container ? "an array" : "a scalar"));
  if (is_jsonb) return cannot("cannot call " + std::string(call.name) + " on a non-object");
  return cannot(container ? "cannot deconstruct an array as an object" : "cannot deconstruct a scalar");
}

}  // namespace

Status SetFunctionRows::begin(const EvalContext& context) {
  arena_.reset();
  row_ = 0;
  states_.assign(function_.calls.size(), {});
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (Status status = begin_call(function_.calls[i], context, states_[i]); !status.ok()) return status;
  }
  // The next row of a join calls it again.
  for (const SetFunction::Call& call : function_.calls) {
    if (call.kind == Kind::routine) context.work->forget(*call.args[0]);
  }
  return {};
}

// The value is NULL if it was not called.
Status SetFunctionRows::begin_routine(const Expr& call, const EvalContext& context, State& state) {
  Datum value;
  if (Status status = evaluate(call, context, value); !status.ok()) return status;
  const auto rows = context.state->routine_rows.find(&call);
  if (!value.null && rows != context.state->routine_rows.end()) state.rows = rows->second;
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
  if (call.kind == Kind::routine) return begin_routine(*call.args[0], context, state);
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
  if (call.kind == Kind::json_elements || call.kind == Kind::json_keys || call.kind == Kind::json_values) {
    const JsonValue value = json_value(state.value.text);
    state.items.emplace(value);
    return check_json_kind(call, value);
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

bool SetFunctionRows::next_item(const SetFunction::Call& call, State& state, Datum& value) {
  JsonItem item;
  state.ended = !state.items->next(item);
  if (state.ended) return false;
  const JsonValue part = call.kind == Kind::json_keys ? JsonValue{JsonKind::string, item.key} : item.value;
  if (call.as_text && part.kind == JsonKind::null) return true;
  value = Datum::of_text(part.text);
  if (!call.as_text || part.kind != JsonKind::string) return true;
  std::string text;
  append_unescaped(text, part.text);
  value = Datum::of_text(arena_.copy(text));
  return true;
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
      if (!call.name.empty()) value = part_of_option(value, call.name);
      return !state.ended;
    }
    case Kind::json_elements:
    case Kind::json_keys:
    case Kind::json_values:
      return next_item(call, state, value);
    case Kind::series:
    case Kind::subscripts:
    case Kind::routine:
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

bool SetFunctionRows::next_values(const SetFunction::Call& call, State& state, std::span<Datum> values) {
  if (call.kind != Kind::routine) return next_value(call, state, values[0]);
  if (state.rows == nullptr || state.next_row == state.rows->rows.size()) {
    std::ranges::fill(values, Datum());
    return false;
  }
  std::ranges::copy(state.rows->rows[state.next_row++], values.begin());
  return true;
}

bool SetFunctionRows::next(std::span<Datum> row) {
  bool any = false;
  std::size_t first = 0;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const SetFunction::Call& call = function_.calls[i];
    any = next_values(call, states_[i], row.subspan(first, call.columns)) || any;
    first += call.columns;
  }
  if (any && function_.ordinality) row[first] = Datum::of_integer(++row_);
  return any;
}

}  // namespace namdb::sql
