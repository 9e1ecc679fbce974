// The signature of a procedure or function that is written in SQL or PL/pgSQL, as its CREATE statement says.
// It is immutable, and may be shared by any number of runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "compute/api/routine.h"
#include "compute/sql/expression/expression.h"
#include "compute/sql/value/types.h"

namespace namdb::sql {

enum class RoutineLanguage : std::uint8_t { sql, plpgsql };
enum class RoutineVolatility : std::uint8_t { is_volatile, stable, immutable };

struct RoutineParameter {
  enum class Mode : std::uint8_t { in, out, in_out, table };  // table: a column of RETURNS TABLE
  std::string name;                                           // empty: it has none
  Type type;
  Mode mode = Mode::in;
  ExprPtr default_value;  // null: there is none

  bool gives() const { return mode != Mode::in; }
  bool is_input() const { return mode == Mode::in || mode == Mode::in_out; }
};

struct RoutineSignature {
  storage::RoutineRef routine;  // null while it is created
  std::string name;
  RoutineLanguage language = RoutineLanguage::sql;
  std::vector<RoutineParameter> parameters;
  std::string body;

  bool is_function = false;
  // Of a function.
  bool is_expression = false;    // RETURN outside of AS is its body; the definition has it
  bool returns_nothing = false;  // void
  bool returns_set = false;
  Type result;                     // of its value; text if there is none
  std::size_t result_columns = 1;  // several: it gives rows of its output parameters, and no value
  bool is_strict = false;
  RoutineVolatility volatility = RoutineVolatility::is_volatile;
  // As they were given; empty: they were not.
  std::string cost;
  std::string rows;
  std::string parallel;

  // Whether a call gives it an argument: to functions only input parameters are passed.
  bool passes(const RoutineParameter& parameter) const { return !is_function || parameter.is_input(); }
  bool has_outputs() const {
    for (const RoutineParameter& parameter : parameters) {
      if (parameter.gives()) return true;
    }
    return false;
  }
  // In FROM it is a table.
  bool gives_rows() const { return returns_set || result_columns > 1; }
  // Its statements see the tables as the statement that calls it does, and write nothing.
  bool only_reads() const { return is_function && volatility != RoutineVolatility::is_volatile; }
};

}  // namespace namdb::sql
