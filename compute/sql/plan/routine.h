// The body of a procedure or function that is written in SQL or PL/pgSQL, once it is compiled. It is
// immutable, and may be shared by any number of runs. Its signature is in expression/routine_signature.h.
//
// The values of a run are in slots: the parameters first, in their order, then the variables, one slot for
// each field of a record. To the expressions and statements of the body they are parameters.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "compute/sql/expression/expression.h"
#include "compute/sql/expression/routine_signature.h"
#include "compute/sql/plan/plan.h"

namespace namdb::sql {

// A value of another type becomes one of the slot's.
struct SlotTarget {
  std::uint32_t slot = 0;
  // Reads the value as its column 0; null: the types are the same.
  ExprPtr conversion;
};

struct Step;
using Steps = std::vector<Step>;

struct AssignStep {
  std::uint32_t slot = 0;
  ExprPtr value;
  bool of_case = false;  // the value that a CASE compares
};
struct IfStep {
  struct Branch {
    ExprPtr condition;  // null: otherwise
    Steps steps;
  };
  std::vector<Branch> branches;
  bool of_case = false;
  bool must_hold = false;  // without a branch that holds: case_not_found
};
struct LoopStep {
  std::string label;
  ExprPtr condition;  // null: for ever
  Steps steps;
};
struct RangeLoopStep {
  std::string label;
  std::uint32_t slot = 0;
  ExprPtr first;
  ExprPtr last;
  ExprPtr step;  // null: 1
  bool reverse = false;
  Steps steps;
};
struct QueryLoopStep {
  std::string label;
  std::shared_ptr<const Plan> query;
  std::vector<SlotTarget> targets;
  Steps steps;
};
struct ArrayLoopStep {
  std::string label;
  ExprPtr array;
  std::vector<SlotTarget> targets;  // one
  Steps steps;
};
// EXIT and CONTINUE.
struct LeaveStep {
  bool continues = false;
  std::string label;  // empty: of the innermost loop
  ExprPtr condition;  // null: always
};
struct ReturnStep {
  ExprPtr value;  // null: the output parameters are the result, or there is none
  // Converts the value to the result's type when the function ends, as SlotTarget's conversion does.
  ExprPtr conversion;
  bool is_end_of_function = false;  // without a word of RETURN
};
struct ReturnNextStep {
  ExprPtr value;  // null: the output parameters are the row
};
struct ReturnQueryStep {
  std::shared_ptr<const Plan> query;
  std::vector<ExprPtr> conversions;  // of each column, to that of the result: SlotTarget's
};
struct RaiseStep {
  std::string severity;              // "NOTICE"; empty: an error
  bool again = false;                // the error that is handled
  std::string sqlstate;              // of an error
  std::vector<std::string> message;  // its parts, between which the values stand
  std::vector<ExprPtr> values;
  bool has_message = false;  // otherwise it is that of the condition
  // USING, as text; null: it does not say so.
  ExprPtr message_value;
  ExprPtr sqlstate_value;
  ExprPtr detail;
  ExprPtr hint;
};
struct QueryStep {
  std::shared_ptr<const Plan> plan;
  // INTO; otherwise rows are not kept.
  bool into = false;
  bool strict = false;       // exactly one row
  bool one_at_most = false;  // more rows are an error
  std::vector<SlotTarget> targets;
  // Rows that later steps look up by keys which no step before them changes: they are read with this one's
  // (compute/sql/routine/read_ahead.h).
  struct Ahead {
    const Source* source = nullptr;  // null: INSERT
    const InsertPlan* insert = nullptr;
  };
  std::vector<Ahead> ahead;
};
struct InvokeStep {
  std::shared_ptr<const Plan> call;  // a CallPlan
  std::vector<SlotTarget> targets;   // of its results
};
struct AssertStep {
  ExprPtr condition;
  ExprPtr message;  // text; null: "assertion failed"
};
struct BlockStep {
  std::string label;
  std::vector<AssignStep> initial;  // of its variables; a null value: NULL
  Steps steps;
  struct Handler {
    std::vector<std::string> sqlstates;  // "22012", "22000": its class; empty text: all that may be handled
    Steps steps;
  };
  std::vector<Handler> handlers;
  std::uint32_t sqlstate_slot = 0;  // of the handlers
  std::uint32_t message_slot = 0;
};

// A statement that cannot be compiled: it fails when it is run, as in PostgreSQL, and may never be run.
struct FailStep {
  Status status;
  std::string_view name;  // of the step that it should have been
};

struct Step {
  using Body = std::variant<FailStep, AssignStep, IfStep, LoopStep, RangeLoopStep, QueryLoopStep,
                            ArrayLoopStep, LeaveStep, ReturnStep, ReturnNextStep, ReturnQueryStep, RaiseStep,
                            QueryStep, InvokeStep, AssertStep, BlockStep>;
  Body body;
  std::uint32_t line = 0;  // of the body's text, from 1; 0: not known
};

struct RoutineSlot {
  std::string name;
  Type type;
  bool not_null = false;
  // Of a field: its record, which has no fields before a row is assigned to it. Empty: it has, or is no
  // field.
  std::string record;
};

struct CompiledRoutine {
  std::shared_ptr<const RoutineSignature> signature;
  std::uint64_t catalog_version = 0;
  std::vector<RoutineSlot> slots;
  std::uint32_t found_slot = 0;
  std::uint32_t row_count_slot = 0;
  std::uint32_t result_slot = 0;  // of a function with one value
  BlockStep block;
  std::vector<RequiredRight> rights;  // for subqueries of its expressions; its statements have their own
  // Facts about the expressions that read tables: Plan's.
  std::map<const Expr*, std::shared_ptr<const Plan>> reading;
  MemoryShare memory;
};

}  // namespace namdb::sql
