// The state of one run of a statement inside one transaction. The executing functions leave commit, abort and
// retry to the session.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "common/reactor/task.h"
#include "compute/api/engine.h"
#include "compute/api/transaction_facts.h"
#include "compute/procedure/procedure.h"
#include "compute/sql/execute/gathered_memory.h"
#include "compute/sql/execute/query.h"
#include "compute/sql/execute/result_sink.h"
#include "compute/sql/expression/expression.h"
#include "compute/sql/expression/long_values.h"
#include "compute/sql/expression/statement_state.h"
#include "compute/sql/plan/plan.h"
#include "compute/sql/syntax/error_fields.h"
#include "compute/sql/system/statistics.h"

namespace namdb::txn {
struct WantedLock;
}  // namespace namdb::txn

namespace namdb::sql {

// Ends a running statement: because the client has canceled it (from any thread), at a deadline, or because
// its client no longer waits for it.
class Interrupt final : public txn::Interrupt {
 public:
  Interrupt(const Clock& clock, std::atomic<bool>& canceled) : clock_(clock), canceled_(canceled) {}
  void set_deadline(std::uint64_t deadline_ns) { deadline_ns_ = deadline_ns; }
  // `check` is called at each check of the interrupt; its error ends the statement.
  void set_client(std::function<Status()> check) { check_client_ = std::move(check); }
  // Forgets a cancel request that arrived while no statement ran.
  void clear() { canceled_.store(false, std::memory_order_relaxed); }
  Status check() const override;
  // Bounds the waits for any one record or bucket chain, in all attempts of the statement that begins now
  // together.
  void set_lock_timeout(std::uint64_t lock_timeout_ns);
  Status check_wait(layout::GlobalAddress held, std::uint64_t since_ns) const override;
  // An attempt has ended in a conflict over that lock. Error: the statement has waited for it long enough.
  Status add_conflict(const txn::MetLock& lock);
  // The statement has paused since then, because of the lock that it met last.
  void add_pause(std::uint64_t since_ns);

 private:
  const Clock& clock_;
  std::atomic<bool>& canceled_;
  std::uint64_t deadline_ns_ = ~std::uint64_t{0};
  std::uint64_t lock_timeout_ns_ = ~std::uint64_t{0};
  struct Met {
    layout::GlobalAddress held;
    std::uint64_t waited_ns;
  };
  std::vector<Met> met_;  // in former attempts, the last one at the end
  std::function<Status()> check_client_;
};

// Over shared memory a scan may never have to wait: after so many batches it yields, so that other sessions
// have their turns and a cancel request can arrive.
inline constexpr std::uint32_t kBatchesPerYield = 32;

// So many rows are read by key in one fetch.
inline constexpr std::size_t kFetchRows = 256;

struct CompiledRoutine;
class DeferredForeignKeys;

// The parts of expressions that wait for others: functions (compute/sql/expression/function.h), and
// subqueries.
class WaitingFunctions {
 public:
  virtual ~WaitingFunctions() = default;
  // Runs a subquery; `outer` are the values that it reads of the rows around it.
  virtual reactor::Task<Status> run_subquery(Run* run, const Expr* subquery, std::span<const Datum> outer,
                                             SubqueryRows* rows) = 0;
  // Brings the long values that `values` wants (long_value_rows.h).
  virtual reactor::Task<Status> bring_long_values(Run* run, LongValues* values) = 0;
  // The value of one of them, of an argument that is not NULL.
  virtual reactor::Task<Result<Datum>> transaction_id(txn::Transaction* transaction) = 0;
  virtual reactor::Task<Result<Datum>> transaction_outcome(std::int64_t id) = 0;
  // nextval() and its like.
  virtual reactor::Task<Result<Datum>> sequence_function(std::string_view name,
                                                         std::span<const Datum> arguments) = 0;
  // pg_advisory_lock() and its like; warnings go to `sink`.
  virtual reactor::Task<Result<Datum>> lock_function(std::string_view name, std::span<const Datum> arguments,
                                                     ResultSink* sink) = 0;
  // Locks that no session has, for the transaction: those of rows, where the protocol locks none at once.
  // False: there are no such locks.
  virtual reactor::Task<Result<bool>> claim(std::vector<txn::WantedLock>* wanted) = 0;
  // TRUNCATE ... RESTART IDENTITY: insufficient_privilege, before rows go; and the restart.
  virtual Status check_sequence_owners(const std::vector<std::string>& names) = 0;
  virtual reactor::Task<Status> restart_sequences(std::vector<std::string> names) = 0;
  // current_setting() and set_config(); changes are reported to `sink`. A string of the value lives until the
  // next call.
  virtual reactor::Task<Result<Datum>> setting_function(std::string_view name,
                                                        std::span<const Datum> arguments,
                                                        ResultSink* sink) = 0;
  // The routine, compiled for the catalog as this worker knows it.
  virtual reactor::Task<Result<std::shared_ptr<const CompiledRoutine>>> compiled_routine(
      std::shared_ptr<const RoutineSignature> signature) = 0;
  // The catalog was read: the facts about roles become those that the worker knows now.
  virtual void follow_roles() = 0;
  // insufficient_privilege. Not called for superusers.
  virtual reactor::Task<Status> check_rights(std::span<const RequiredRight> rights) = 0;
  // Calls a function that is written in SQL; strings of its value lie in the run's arena. The rows of one
  // that gives rows are put into the run's state, and the value is not NULL.
  virtual reactor::Task<Result<Datum>> call_routine(Run* run, const Expr* call,
                                                    std::span<const Datum> arguments) = 0;
  // All, as the system catalogs show them.
  virtual reactor::Task<Result<std::vector<CatalogRoutine>>> catalog_routines() = 0;
  virtual reactor::Task<Result<std::vector<CatalogSequence>>> catalog_sequences() = 0;
  // read_only_transaction: the command is not allowed.
  virtual Status check_may_write(std::string_view command) = 0;
  // A message of RAISE. `sqlstate`: empty: that of its severity.
  virtual void show_message(ResultSink& sink, std::string_view severity, std::string_view sqlstate,
                            std::string_view message) = 0;
};

// Buffers that all CALLs of a session reuse.
struct CallScratch {
  std::vector<procedure::Value> arguments;
  std::vector<procedure::Value> results;
  std::vector<Datum> row;
};

struct Run {
  txn::Engine& engine;
  txn::Transaction* transaction;  // null for statements that need none
  std::span<const Datum> parameters;
  const SessionFacts& facts;
  const Statistics& statistics;
  const Interrupt& interrupt;
  Arena& arena;
  Work& work;
  CallScratch& call_scratch;
  ResultSink& sink;
  MemoryBudget* client_memory;  // null: none
  ErrorFields& error;           // of the error that it ends in
  WaitingFunctions& waiting;
  StatementState& state;                                     // of the statement
  std::unique_ptr<Query> (*start_query)(const SelectPlan&);  // of a query within the statement
  std::span<const Datum> outer = {};                         // in a subquery: of the rows around it
  std::uint64_t affected = 0;                                // rows returned or changed
  std::size_t routine_depth = 0;                             // of routines that call each other
  bool checks_rights = false;                                // of a routine's statements
  const Plan* statement = nullptr;                           // that runs; null: an expression of a routine
  const Run* whole = nullptr;                                // of a query within: of its statement
  const Run* around = nullptr;                               // in a routine: of what calls it
  ResultSink* messages = nullptr;                            // of routines; null: they go to `sink`
  bool checks_unique = false;                                // of a statement in a block (unique_checks.h)
  bool selects_rows = false;                                 // that the statement is going to change
  // Its long values, and their memory (long_value_rows.h); and the part of the plan for which they are read.
  mutable LongValues long_values = {};
  mutable GatheredMemory long_memory{"a statement can read and write long values of",
                                     "select or change fewer rows"};
  const void* long_part = nullptr;
  bool leaves_no_work = false;              // a long value that is to be written is a pause
  DeferredForeignKeys* deferred = nullptr;  // null: each statement checks its foreign keys at its end

  // Called when the work is paused or due: lets other sessions run, or calls the function for which an
  // expression waits. Its error (the function's, a cancel request, a timeout, a client that is gone) ends the
  // statement; otherwise the caller evaluates again what was paused.
  reactor::Task<Status> take_turn();
  // After evaluate(), which gives the status of an evaluation, has paused: lets others have their turns, and
  // evaluates again until it does not pause. The status of the last evaluation.
  template <typename Evaluate>
  reactor::Task<Status> resume(Evaluate evaluate) {
    while (true) {
      if (Status status = co_await take_turn(); !status.ok()) co_return status;
      Status status = evaluate();
      if (!work.paused()) co_return status;
    }
  }
  // The same of an evaluation that is a task, which start() makes.
  template <typename Start>
  reactor::Task<Status> resume_task(Start start) {
    while (true) {
      if (Status status = co_await take_turn(); !status.ok()) co_return status;
      Status status = co_await start();
      if (!work.paused()) co_return status;
    }
  }
  // Counts a value of a list; whether other sessions should have their turns now.
  bool value_ends_turn() {
    work.charge(Work::kListValue_units);
    return work.due();
  }
  // Frees the values that the expressions of the last row have made.
  void next_row() {
    arena.reset();
    work.forget();
    long_values.forget_some();
  }

  // The run of a query within the statement, whose rows go to `rows`.
  Run nested(ResultSink& rows, Arena& own_arena, Work& own_work, std::span<const Datum> own_outer) const {
    Run run{engine,       transaction, parameters,    facts, statistics, interrupt, own_arena,   own_work,
            call_scratch, rows,        client_memory, error, waiting,    state,     start_query, own_outer};
    run.routine_depth = routine_depth;
    run.checks_rights = checks_rights;
    run.statement = statement;
    run.whole = whole == nullptr ? this : whole;
    run.around = around;
    run.messages = messages == nullptr ? &sink : messages;
    run.deferred = deferred;
    run.checks_unique = checks_unique;
    return run;
  }

  // Reads the catalog for the statement, unless it is there.
  reactor::Task<Status> read_catalog();
  reactor::Task<Result<Datum>> call_waiting();
  reactor::Task<Result<Datum>> value_of_subquery(const Expr* expr);
  reactor::Task<Status> let_pass(double seconds);
  EvalContext context() const {
    EvalContext context;
    context.parameters = parameters;
    context.arena = &arena;
    context.work = &work;
    context.facts = &facts;
    context.random = &engine.executor().random();
    context.outer = outer;
    context.state = &state;
    context.long_values = &long_values;
    return context;
  }
};

// Stores a value of the column's type in a row, with PostgreSQL's rules of assignment: numbers are rounded to
// the column's scale, blanks beyond the column's length are cut, anything else that does not fit is an error.
// NULL is stored whatever the column says: see check_not_null().
Status store_value(layout::RowWriter& row, std::uint32_t column, const Datum& value);
// Of a value of a varchar(n)[]: cuts its elements, as store_value() does. Any other value stays as it is.
Status cut_elements(const layout::Column& column, Arena& arena, Datum& value);

reactor::Task<Status> run_insert(Run& run, const InsertPlan& plan);
reactor::Task<Status> run_update(Run& run, const UpdatePlan& plan);
reactor::Task<Status> run_delete(Run& run, const DeletePlan& plan);
reactor::Task<Status> run_truncate(Run& run, const TruncatePlan& plan);
reactor::Task<Status> run_copy_from(Run& run, const CopyFromPlan& plan);
reactor::Task<Status> run_copy_to(Run& run, const CopyToPlan& plan);
reactor::Task<Status> run_call(Run& run, const CallPlan& plan, std::span<const ResultColumn> columns);

}  // namespace namdb::sql
