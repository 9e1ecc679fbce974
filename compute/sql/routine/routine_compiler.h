// The state of compiling one routine.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compute/sql/bind/bind_expression.h"
#include "compute/sql/bind/bind_input.h"
#include "compute/sql/bind/bind_statement.h"
#include "compute/sql/plan/routine.h"
#include "compute/sql/routine/routine_scope.h"
#include "compute/sql/routine/routine_source.h"

namespace namdb::sql {

class RoutineCompiler {
 public:
  RoutineCompiler(const RoutineSource& source, BindInput input);
  Result<std::shared_ptr<CompiledRoutine>> compile();

 private:
  Status compile_plpgsql();
  Status compile_sql();
  Result<Step> compile_last_query(std::shared_ptr<const Plan> query);
  Status return_mismatch(std::string detail) const;
  // "procedure", "function": for messages.
  std::string kind() const { return source_.signature()->is_function ? "function" : "procedure"; }
  void declare_parameters();

  // --- steps ---
  Status compile_steps(const Json& items, Steps& steps);
  Result<Step> compile_step(Node step);
  Result<Step> compile_nested_step(Node step);
  Result<Step::Body> compile_body(Node step);
  Result<Step::Body> compile_block(const Json& body);
  Result<Step::Body> compile_assignment(const Json& body);
  Result<Step::Body> compile_if(const Json& body);
  Result<Step::Body> compile_case(const Json& body);
  Result<Step::Body> compile_loop(const Json& body);
  Result<Step::Body> compile_while(const Json& body);
  Result<Step::Body> compile_range_loop(const Json& body);
  Result<Step::Body> compile_query_loop(const Json& body);
  Result<Step::Body> compile_array_loop(const Json& body);
  Result<Step::Body> compile_leave(const Json& body);
  Result<Step::Body> compile_return(const Json& body);
  Result<Step::Body> compile_return_next(const Json& body);
  Result<Step::Body> compile_return_query(const Json& body);
  Result<Step::Body> compile_end_of_transaction(const Json& body);
  Result<Step::Body> compile_raise(const Json& body);
  Result<Step::Body> compile_query(const Json& body);
  Result<Step::Body> compile_perform(const Json& body);
  Result<Step::Body> compile_invocation(const Json& body);
  Result<Step::Body> compile_diagnostics(const Json& body);
  Result<Step::Body> compile_assert(const Json& body);
  Status compile_handlers(const Json& exceptions, BlockStep& block);

  // --- variables ---
  // Finds the variables of all blocks and loops among the datums.
  Status match_datums(const Json& steps);
  Status match_step(Node step);
  Status declare_variable(const std::string& name, std::uint32_t datum, BlockStep& block);
  Result<Type> declared_type(const RoutineSource::DeclaredType& declared);
  Status declare_row(const RoutineSource::DeclaredType& declared, RoutineVariable& record);
  // The number of the next datum of that name behind `after`, which then is behind it. `declared`: by
  // DECLARE, otherwise by a loop.
  Result<std::uint32_t> next_datum(std::string_view name, bool declared, std::uint32_t& after) const;
  void add_fields(RoutineVariable& record, const std::vector<ResultColumn>& columns);

  // --- values and plans ---
  // `expression`: the object with PLpgSQL_expr.
  // `wanted`: none: the type that the expression has.
  Result<ExprPtr> value(const Json& expression, std::optional<Type> wanted = std::nullopt);
  Result<ExprPtr> condition(const Json& expression);
  Result<std::shared_ptr<const Plan>> plan(const Json& expression);
  Result<std::shared_ptr<const Plan>> plan_of(Node statement);
  // The targets of INTO, for rows of those columns.
  Result<std::vector<SlotTarget>> targets(const Json& target, const std::vector<ResultColumn>& columns);
  Result<SlotTarget> target_of(std::uint32_t slot, Type from) {
    return target_of(slot, from, routine_->slots[slot].type);
  }
  Result<SlotTarget> target_of(std::uint32_t slot, Type from, Type wanted);
  Result<std::uint32_t> assignable(std::uint32_t datum);
  Status convert(ExpressionBinder& expressions, ExprPtr& expr, Type wanted);

  const RoutineSource& source_;
  BindInput input_;
  std::shared_ptr<CompiledRoutine> routine_;
  RoutineScope scope_;
  // While the datums are matched: the next block that the text begins, and datums behind the last one found.
  std::size_t next_block_ = 0;
  std::uint32_t declared_datum_ = 0;
  std::uint32_t loop_datum_ = 0;
  struct Declared {
    std::string name;
    std::uint32_t datum = 0;
  };
  std::map<const Json*, std::vector<Declared>> declared_;  // by block
  std::map<const Json*, std::uint32_t> loop_datums_;       // by loop
  // SQLSTATE and SQLERRM of the handlers around.
  struct HandlerSlots {
    std::uint32_t sqlstate = 0;
    std::uint32_t message = 0;
  };
  std::vector<HandlerSlots> handlers_;
  std::size_t depth_ = 0;               // of the step that is compiled, in others
  std::uint32_t made_datum_ = 1 << 30;  // the next number of a variable that is not a datum
};

}  // namespace namdb::sql
