// The rows of functions in FROM: generate_series(), unnest() and their like.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "compute/sql/expression/expression.h"
#include "compute/sql/expression/statement_state.h"
#include "compute/sql/plan/plan.h"
#include "compute/sql/value/array.h"
#include "compute/sql/value/interval_parts.h"
#include "compute/sql/value/json_text.h"

namespace namdb::sql {

class SetFunctionRows {
 public:
  // The function outlives the rows.
  explicit SetFunctionRows(const SetFunction& function) : function_(function) {}

  // Evaluates the arguments, and begins anew with them. Errors are theirs; after a pause it is called again.
  // invalid_parameter_value: a series with a step of 0.
  Status begin(const EvalContext& context);
  // The next row: a value for each column, whose strings live until the next begin(). False: there is none.
  bool next(std::span<Datum> row);

 private:
  struct State {
    bool ended = false;
    Datum value;  // of a scalar function, and the array of others
    std::int64_t next = 0;
    std::int64_t last = 0;
    std::int64_t step = 1;
    std::shared_ptr<const RoutineRows> rows;
    std::size_t next_row = 0;
    Interval interval;               // the step of a series of times
    absl::TimeZone zone;             // in which it is added
    std::size_t read_bytes = 0;      // of the array
    std::optional<JsonItems> items;  // that are left of the JSON value
  };

  static Status begin_series(const SetFunction::Call& call, std::span<const Datum> values, State& state);
  static void advance(const SetFunction::Call& call, State& state);
  static Status begin_routine(const Expr& call, const EvalContext& context, State& state);
  Status begin_call(const SetFunction::Call& call, const EvalContext& context, State& state);
  bool next_values(const SetFunction::Call& call, State& state, std::span<Datum> values);
  bool next_value(const SetFunction::Call& call, State& state, Datum& value);
  // The next part of a JSON value.
  bool next_item(const SetFunction::Call& call, State& state, Datum& value);

  const SetFunction& function_;
  std::vector<State> states_;
  std::int64_t row_ = 0;
  Arena arena_;  // of arrays and strings
};

}  // namespace namdb::sql
