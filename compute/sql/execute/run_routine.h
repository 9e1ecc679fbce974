// A run of a routine that is written in SQL, within the transaction of the statement that calls it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compute/sql/execute/gathered_memory.h"
#include "compute/sql/execute/inner_sink.h"
#include "compute/sql/execute/quick_statement.h"
#include "compute/sql/execute/run.h"
#include "compute/sql/plan/routine.h"

namespace namdb::sql {

// Routines that call each other deeper than this are refused.
inline constexpr std::size_t kMaxRoutineDepth = 64;

// The value of a call of a function in an expression; a string of it lies in the run's arena. The rows of a
// function that gives rows are put into the run's state.
reactor::Task<Result<Datum>> call_routine(Run* run, const Expr* call, std::span<const Datum> arguments);
// CALL: compiles the routine if need be, and gives its output parameters as a row to the run's sink, if it
// has any (`columns`).
reactor::Task<Status> run_routine_call(Run& run, const CallRoutinePlan& plan,
                                       std::span<const ResultColumn> columns);

// The rows of a statement of a routine, which are kept for its next step.
class StepRows final : public InnerSink {
 public:
  // Passes messages on to `outer`. Keeps no rows at first.
  explicit StepRows(ResultSink& outer) : InnerSink(outer) {}

  // Forgets the rows, and keeps so many of those that come.
  void clear(std::uint64_t kept_rows) {
    kept_rows_ = kept_rows;
    count_ = 0;
    counted_bytes_ = 0;
    rows_.clear();
    arena_.reset();
    memory_.emplace("a statement of a procedure can keep", "read fewer rows at once");
  }
  std::uint64_t count() const { return count_; }
  std::span<const Datum> operator[](std::size_t row) const { return rows_[row]; }
  // Counts the rows that have come since the last call. Error out_of_memory.
  Status count_memory(MemoryBudget* budget) {
    const std::size_t bytes = arena_.allocated_bytes() + rows_.size() * sizeof(rows_[0]);
    const std::size_t more = bytes - std::exchange(counted_bytes_, bytes);
    return memory_->add(budget, more);
  }

  void add_row(std::span<const Datum> values) override {
    ++count_;
    if (rows_.size() < kept_rows_) rows_.push_back(arena_.keep(values));
  }
  bool congested() const override { return outer().congested(); }
  reactor::Task<Status> relieve() override { return outer().relieve(); }
  std::uint64_t position() const override { return count_; }
  bool rewind(std::uint64_t) override { return false; }

 private:
  std::uint64_t kept_rows_ = 0;
  std::uint64_t count_ = 0;
  std::size_t counted_bytes_ = 0;
  std::optional<GatheredMemory> memory_;
  std::vector<std::span<const Datum>> rows_;
  Arena arena_;
};

class RoutineRun {
 public:
  // `caller`: of the statement; it outlives this. `work`: of the routine's expressions.
  RoutineRun(Run& caller, std::shared_ptr<const CompiledRoutine> routine, Work& work);
  RoutineRun(const RoutineRun&) = delete;
  RoutineRun& operator=(const RoutineRun&) = delete;

  // A value of the slot's type; its string is copied. Error null_not_allowed.
  Status set(std::uint32_t slot, const Datum& value);
  const Datum& value(std::uint32_t slot) const { return values_[slot]; }
  // All of it, once.
  reactor::Task<Status> run();
  // The rows of a function that gives rows; a function that returns no set has one.
  std::shared_ptr<const RoutineRows> take_rows() { return std::move(rows_); }

 private:
  // How a list of steps has ended: with its last step, or with one of these.
  struct Flow {
    enum class Kind : std::uint8_t { next, exits, continues, returned };
    Kind kind = Kind::next;
    std::string_view label;  // of EXIT and CONTINUE; empty: the innermost loop
  };
  // After a pass of the loop: whether it ends. A flow that is the loop's own becomes `next`.
  static bool ends_loop(Flow& flow, std::string_view label);

  reactor::Task<Status> run_steps(const Steps* steps, Flow* flow);
  reactor::Task<Status> run_step(const Step* step, Flow* flow);
  reactor::Task<Status> run_block(const BlockStep* block, Flow* flow);
  reactor::Task<Status> handle(const BlockStep* block, txn::Transaction::Savepoint mark, Status status,
                               Flow* flow);
  // The steps of the handler, of an error that is noted (handled_).
  reactor::Task<Status> run_handler(const BlockStep* block, const BlockStep::Handler* handler,
                                    const std::string* sqlstate, Flow* flow);
  reactor::Task<Status> run_if(const IfStep* step, Flow* flow);
  reactor::Task<Status> run_loop(const LoopStep* loop, Flow* flow);
  // The loop's bounds, and its step if it has one: without it, `step` stays as it is.
  reactor::Task<Status> evaluate_range(const RangeLoopStep* loop, Datum* first, Datum* last, Datum* step);
  reactor::Task<Status> run_range(const RangeLoopStep* loop, Flow* flow);
  reactor::Task<Status> run_over_rows(const QueryLoopStep* loop, Flow* flow);
  reactor::Task<Status> run_over_array(const ArrayLoopStep* loop, Flow* flow);
  reactor::Task<Status> leave(const LeaveStep* step, Flow* flow);
  reactor::Task<Status> assign(const AssignStep* step);
  reactor::Task<Status> raise(const RaiseStep* step);
  reactor::Task<Status> give_result(const ReturnStep* step);
  reactor::Task<Status> keep_result();
  reactor::Task<Status> give_row(const ReturnNextStep* step);
  reactor::Task<Status> give_rows(const ReturnQueryStep* step);
  // Adds a row to those that the function returns.
  Status add_row(std::span<const Datum> row);
  std::vector<Datum> outputs() const;
  reactor::Task<Status> run_query(const QueryStep* step);
  reactor::Task<Status> invoke(const InvokeStep* step);
  reactor::Task<Status> check(const AssertStep* step);

  // --- run_routine_now.cc: steps that need not wait, without a coroutine of their own. AtOnce::given_up, as
  // where an expression has paused: the coroutines above run the step from its beginning ---
  Result<AtOnce> evaluate_now(const Expr& expr, Datum& out);
  Result<AtOnce> assign_now(const AssignStep& step);
  // `taken`: the steps of the branch; null: none.
  Result<AtOnce> choose_now(const IfStep& step, const Steps*& taken);
  // The halves of a quick statement; and asking for rows of later ones.
  Result<AtOnce> begin_now(const QueryStep& step, QuickStatement& statement);
  Result<AtOnce> end_now(const QueryStep& step, QuickStatement& statement);
  void ask_ahead(const QueryStep& step);
  void ask_insert_ahead(const InsertPlan& insert);
  Result<AtOnce> assign_row_now(const QueryStep& step, std::span<Datum> row);
  AtOnce give_up_now();

  // The value of an expression, whose string lives until the next one is evaluated. `row`: the values that
  // its columns read.
  reactor::Task<Status> evaluate_value(const Expr* expr, Datum* out, std::span<const Datum> row = {});
  reactor::Task<Status> holds(const Expr* condition, bool* out);
  // The values of a row go to the targets; without a row they get NULL.
  reactor::Task<Status> assign_row(const std::vector<SlotTarget>* targets, std::span<const Datum> row);
  // Runs a statement; gives it `rows` for its rows, of which it takes at most `max_rows` from a query.
  reactor::Task<Status> run_statement(const Plan* plan, StepRows* rows, std::uint64_t max_rows,
                                      std::uint64_t* affected);
  void set_found(std::uint64_t rows);
  // Other sessions have their turns, if it is time.
  reactor::Task<Status> pass_turn();
  void add_context(const Step& step);

  // Receives the messages of RAISE.
  ResultSink& message_sink() { return caller_.messages == nullptr ? caller_.sink : *caller_.messages; }

  Run& caller_;
  const std::shared_ptr<const CompiledRoutine> routine_;
  std::vector<Datum> values_;
  std::vector<std::string> strings_;  // of the values, which borrow from them
  std::size_t string_bytes_ = 0;
  MemoryShare memory_;  // of long ones
  Arena arena_;
  Work& work_;
  CallScratch call_scratch_;
  // The value of RETURN, before its conversion.
  Datum result_;
  std::string result_string_;
  const ReturnStep* result_step_ = nullptr;
  std::shared_ptr<RoutineRows> rows_;
  std::shared_ptr<GatheredMemory> rows_memory_;  // the rows keep it, too
  std::size_t rows_bytes_ = 0;
  StatementState state_;
  StepRows step_rows_;
  Run run_;  // of its expressions and statements
  // The keys of rows that are to be inserted, and were asked for, in tables without a primary key.
  struct ChosenId {
    const InsertPlan* insert = nullptr;
    std::string id;
  };
  std::vector<ChosenId> chosen_ids_;
  bool had_turn_ = false;       // others have, since the last statement: the transaction may have ended
  bool has_context_ = false;    // the error has the place in this routine
  Status handled_;              // the error that a handler handles
  ErrorFields handled_fields_;  // and its fields
};

}  // namespace namdb::sql
