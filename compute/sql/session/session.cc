#include "compute/sql/session/session.h"

#include <algorithm>
#include <utility>

#include "compute/sql/execute/long_value_rows.h"
#include "compute/sql/execute/quick_statement.h"
#include "compute/sql/execute/run_routine.h"
#include "compute/sql/execute/run_subquery.h"
#include "compute/sql/execute/run_to_end.h"
#include "compute/sql/session/statement_kind.h"
#include "compute/sql/value/value_format.h"

namespace namdb::sql {

using reactor::Task;

namespace {

// Or what has failed in it.
bool ends_block(const Plan& plan) {
  const auto* transaction = plan.as<TransactionPlan>();
  return transaction != nullptr && (transaction->command == TransactionCommand::commit ||
                                    transaction->command == TransactionCommand::rollback ||
                                    transaction->command == TransactionCommand::rollback_to_savepoint);
}

Status read_only_error(std::string_view tag) {
  return Status(ErrorCode::read_only_transaction,
                "cannot execute " + std::string(tag) + " in a read-only transaction");
}

Task<Status> run_select(Run& run, const Plan& plan) {
  const std::unique_ptr<Query> query = run.start_query(*plan.as<SelectPlan>());
  co_return co_await query->fetch(run, 0);
}

}  // namespace

Session::Session(Environment& environment, std::string user, std::string database, std::int32_t process_id,
                 std::atomic<bool>& canceled)
    : environment_(environment),
      engine_(environment.engine),
      facts_{std::move(user),
             std::move(database),
             process_id,
             0,
             environment.engine.placement().memory_servers,
             0,
             &environment.wall_clock_us,
             environment.sessions},
      settings_(environment.engine.serializable(), environment.engine.flushed()),
      rights_(engine_, facts_, settings_),
      interrupt_(environment.engine.executor(), canceled),
      parser_(environment.planning, interrupt_),
      moves_(*this, engine_.executor(), work_, interrupt_),
      txn_session_(environment.engine.open_session()),
      temporary_(engine_, block_),
      types_(engine_, facts_, block_),
      type_uses_(engine_, facts_, block_, environment.routines, types_, parser_),
      sequence_values_(engine_, environment.sequences, rights_),
      prepared_(environment.client_memory) {
  facts_.time_zone = &settings_.zone();
  facts_.objects = this;
  facts_.session_user = facts_.user;
  settings_.initialize("session_authorization", facts_.user);
  follow_roles();
  const auto beside = engine_.placement().beside;
  settings_.initialize("namdb.beside_memory_server", beside ? std::to_string(*beside) : "");
}

Session::~Session() {
  end_transaction();
}

char Session::status() const {
  return state_ == State::block ? 'T' : state_ == State::failed ? 'E' : 'I';
}

void Session::begin_statement() {
  const std::uint64_t timeout_ns = settings_.statement_timeout_ns();
  interrupt_.set_deadline(timeout_ns == 0 ? ~std::uint64_t{0} : engine_.executor().now_ns() + timeout_ns);
  facts_.hides_public = settings_.hides_public();
  if (state_ == State::idle) clock_.start(facts_, engine_.executor().now_ns());
}

std::uint64_t Session::transaction_deadline_ns() const {
  const std::uint64_t timeout_ns = settings_.transaction_timeout_ns();
  return timeout_ns == 0 ? ~std::uint64_t{0} : clock_.began_ns() + timeout_ns;
}

void Session::ensure_transaction() {
  if (transaction_ != nullptr) return;
  if (state_ == State::idle) {
    block_read_only_ = read_only();  // while idle, since the last block's mode no longer counts
    state_ = State::implicit;
    clock_.start(facts_, engine_.executor().now_ns());
  }
  transaction_ = begin();
}

// Reads end when the client cancels, also while they wait for others; a commit does not.
std::unique_ptr<txn::Transaction> Session::begin() {
  std::unique_ptr<txn::Transaction> transaction = engine_.begin(*txn_session_);
  transaction->set_interrupt(&interrupt_);
  transaction->answer_when_logged(settings_.answers_when_logged());
  return transaction;
}

bool Session::read_only() const {
  return state_ == State::idle ? settings_.default_read_only() : block_read_only_;
}

// A suspended cursor belongs to the transaction and is destroyed before it. Portals are only marked: the
// portal of the COMMIT itself still runs.
void Session::end_transaction() {
  clock_.stop();
  savepoints_.clear();
  const bool all = state_ == State::block || state_ == State::failed;
  close_cursors(all ? EndedPortals::all : EndedPortals::suspended);
  transaction_.reset();
  resolved_constraints_.forget();
  deferred_.forget();
  Status rolled_back(ErrorCode::rolled_back, "ROLLBACK");
  end_id(rolled_back);
  if (locks_ != nullptr) locks_->end_transaction();
}

void Session::close_cursors(EndedPortals which) {
  const auto close = [which](Portal& portal) {
    const CursorState& cursor = portal.as_cursor;
    const bool ends = which == EndedPortals::all || portal.cursor != nullptr || cursor.declared;
    if (ends && !cursor.held) portal.end();
    portal.cursor.reset();
  };
  close(portals_.unnamed());
  close(simple_portal_);
  for (auto& [name, portal] : portals_.named()) close(portal);
}

void Session::describe_error(const Status& status, const txn::Transaction& transaction) {
  if (status.code() != ErrorCode::duplicate_key) return;
  const txn::TransactionFacts* facts = txn::transaction_facts(&transaction);
  if (facts != nullptr && facts->violation() != nullptr) describe_violation(*facts->violation(), error_);
}

void Session::fail(const Status& status) {
  const bool may_go_on = (state_ == State::block || state_ == State::failed) && !savepoints_.empty();
  if (transaction_ != nullptr && !may_go_on) {
    environment_.statistics.entry("block").count_attempt(status, Attempt::last, transaction_->counters());
    end_transaction();
  }
  if (state_ == State::block) state_ = State::failed;
  if (state_ == State::implicit) state_ = State::idle;
  if (state_ == State::idle) clock_.stop();
}

Task<Status> Session::check_and_commit() {
  if (Status status = co_await keep_held_portals(); !status.ok()) co_return status;
  if (transaction_ == nullptr) co_return Status();
  transaction_->answer_when_logged(settings_.answers_when_logged());  // as set since it began
  if (!deferred_.empty()) {
    Status status = co_await check_deferred(transaction_.get(), /*all=*/true);
    if (!status.ok()) co_return status;
  }
  if (Status emptied = co_await empty_temporary(transaction_.get()); !emptied.ok()) co_return emptied;
  co_return resolved_constraints_.as_conflict(co_await transaction_->commit(), *transaction_);
}

Task<Status> Session::commit_transaction(std::string_view statistics_name) {
  Status status = co_await check_and_commit();
  if (transaction_ != nullptr) {
    if (!status.ok()) describe_error(status, *transaction_);
    end_id(status);
    environment_.statistics.entry(statistics_name)
        .count_attempt(status, Attempt::last, transaction_->counters());
  }
  if (status.ok()) portals_.mark_held();
  end_transaction();
  state_ = State::idle;
  co_return status;
}

Task<Status> Session::sync() {
  Status status;
  if (state_ == State::implicit) status = co_await commit_transaction("block");
  forget_portals();
  if (locks_ != nullptr) co_await settle_locks();
  co_return status;
}

void Session::forget_portals() {
  if (state_ != State::idle) return;
  clock_.stop();
  if (portals_.unnamed().plan != nullptr) portals_.unnamed().reset();
  for (auto& [name, portal] : portals_.named()) {
    if (!portal.as_cursor.held) portal.valid = false;
  }
  portals_.sweep(nullptr);
}

bool Session::may_autocommit(const Portal& portal) const {
  if (state_ != State::idle || portal.as_cursor.in_use()) return false;
  const Plan* plan = portal.plan.get();
  if (const auto* execute = plan->as<ExecutePlan>()) plan = execute->statement.get();
  if (const auto* declare = plan == nullptr ? nullptr : plan->as<DeclarePlan>())
    return declare->holds && needs_transaction(*declare->query);
  return plan != nullptr && !plan->is_call() && needs_transaction(*plan);
}

Run Session::make_run(txn::Transaction* transaction, Portal& portal, ResultSink& sink) {
  arena_.reset();
  work_.forget();
  Run run{engine_, transaction,  portal.parameters, facts_, environment_.statistics.all(), interrupt_,
          arena_,  work_,        call_scratch_,     sink,   environment_.client_memory,    error_,
          *this,   portal.state, start_query};
  run.checks_rights = !rights_.is_superuser();
  run.deferred = &deferred_;
  run.checks_unique = state_ == State::block || state_ == State::implicit;
  return run;
}

Task<Status> Session::run_subquery(Run* run, const Expr* subquery, std::span<const Datum> outer,
                                   SubqueryRows* rows) {
  return sql::run_subquery(run, subquery, outer, rows);
}

Task<Status> Session::bring_long_values(Run* run, LongValues* values) {
  return sql::bring_long_values(run, values);
}

Task<Result<Datum>> Session::call_routine(Run* run, const Expr* call, std::span<const Datum> arguments) {
  return sql::call_routine(run, call, arguments);
}

Status Session::check_may_write(std::string_view command) {
  return read_only() ? read_only_error(command) : Status();
}

Task<Status> Session::run_plan(Run& run, const Plan& plan, Portal& portal, std::uint64_t max_rows) {
  run.statement = &plan;
  const auto* const select = plan.as<SelectPlan>();
  if (select == nullptr) return run_to_end(run, plan);
  if (portal.cursor == nullptr && max_rows == 0 && QuickStatement(plan).fits())
    return run_quickly(run, plan, run_select);
  if (portal.cursor == nullptr) portal.cursor = std::make_unique<SelectCursor>(*select);
  return portal.cursor->fetch(run, max_rows);
}

Task<Status> Session::run_alone(Run& run, Portal& portal, txn::Transaction* transaction, bool forbid_writes) {
  if (Status status = interrupt_.check(); !status.ok()) co_return status;
  const LabelWatch labels;
  Status status = co_await run_plan(run, *portal.plan, portal, 0);
  if (status.ok() && labels.has_missed()) status = co_await types_.learn_labels(&labels);
  portal.cursor.reset();
  if (!status.ok()) co_return status;
  if (!deferred_.empty()) status = co_await check_deferred(transaction, /*all=*/true);
  if (!status.ok()) co_return status;
  if (forbid_writes && transaction->has_writes()) co_return read_only_error("CALL");
  if (Status allowed = rights_.check_rights_again(*portal.plan); !allowed.ok()) co_return allowed;
  co_return co_await empty_temporary(transaction);
}

Task<Status> Session::run_autocommit(Portal& portal, ResultSink& sink, Completion& completion) {
  const bool forbid_writes = read_only();
  const std::string_view writer = writing_command(*portal.plan);
  if (forbid_writes && !writer.empty()) co_return read_only_error(writer);
  const std::uint64_t mark = sink.position();
  const std::uint32_t max_attempts = engine_.retry_options().max_attempts;
  for (std::uint32_t attempt = 1;; ++attempt) {
    // The catalog may have changed since the statement was bound, or since the last attempt.
    if (portal.plan->catalog_version != engine_.catalog_version()) {
      const bool sent = &portal == &simple_portal_ && portal.prepared->session_bytes == 0;
      Status renewed = co_await plan_again(*portal.prepared, sent ? Origin::sent : Origin::prepared);
      if (!renewed.ok()) co_return renewed;
      if (portal.prepared->plan->parameters != portal.plan->parameters) {
        co_return Status(ErrorCode::feature_not_supported, "cached plan must not change result type");
      }
      portal.plan = portal.prepared->plan;
      Status allowed = co_await rights_.check_rights(portal.plan.get(), portal.prepared.get());
      if (!allowed.ok()) co_return allowed;
    }
    std::unique_ptr<txn::Transaction> transaction = begin();
    portal.state.clear();
    Run run = make_run(transaction.get(), portal, sink);
    resolved_constraints_.forget();
    deferred_.forget();
    resolved_constraints_.note(*portal.plan);
    temporary_.note_writes(portal.plan->writes);
    Status status = co_await run_alone(run, portal, transaction.get(), forbid_writes);
    if (status.ok()) {
      status = resolved_constraints_.as_conflict(co_await transaction->commit(), *transaction);
    } else {
      status = co_await txn::confirm_error(transaction.get(), std::move(status));
    }
    end_id(status);
    // The end of ALTER TABLE is waited for, as that of a lock is.
    const bool altered = !status.ok() && status.code() == ErrorCode::table_is_altered;
    bool again = !status.ok() && status.info().retry && (altered || attempt < max_attempts);
    if (again) {
      // A client that cancels a statement gets that error, and not the conflict that the statement met.
      Status interrupted = interrupt_.check();
      const txn::TransactionFacts* facts = txn::transaction_facts(transaction.get());
      if (interrupted.ok() && facts != nullptr) interrupted = interrupt_.add_conflict(facts->met_lock());
      again = interrupted.ok() && sink.rewind(mark);
      if (!interrupted.ok()) status = std::move(interrupted);
    }
    portal.prepared->statistics->count_attempt(status, again ? Attempt::tried_again : Attempt::last,
                                               transaction->counters());
    if (status.ok()) set_completion(*portal.plan, run.affected, completion);
    if (!again && !status.ok()) describe_error(status, *transaction);
    if (!again) co_return status;
    error_ = {};
    transaction.reset();  // so that it holds no locks while it pauses
    if (locks_ != nullptr) {
      locks_->undo_attempt();
      locks_->end_transaction();
      co_await locks_->settle();
    }
    const std::uint64_t paused_ns = engine_.executor().now_ns();
    co_await engine_.backoff(attempt);
    interrupt_.add_pause(paused_ns);
  }
}

Task<Status> Session::run_within(Run& run, Portal& portal, std::uint64_t max_rows, bool calls) {
  if (Status status = interrupt_.check(); !status.ok()) co_return status;
  const LabelWatch labels;
  Status status = co_await run_plan(run, *portal.plan, portal, max_rows);
  if (status.ok() && labels.has_missed()) status = co_await types_.learn_labels(&labels);
  if (!status.ok()) co_return status;
  if (transaction_ != nullptr) {
    if (read_only() && calls && transaction_->has_writes()) co_return read_only_error("CALL");
    status = co_await transaction_->confirm_primaries();
    if (!status.ok()) co_return status;
  }
  co_return rights_.check_rights_again(*portal.plan);
}

Task<Status> Session::run_in_transaction(Portal& portal, ResultSink& sink, std::uint64_t max_rows,
                                         Completion& completion) {
  const Plan& plan = *portal.plan;
  if (needs_transaction(plan)) ensure_transaction();
  const std::string_view writer = writing_command(plan);
  if (read_only() && !writer.empty()) co_return read_only_error(writer);
  if (const auto* truncate = plan.as<TruncatePlan>()) {
    for (const DeletePlan& table : truncate->tables) {
      if (Status status = check_not_read("TRUNCATE", *table.source.table); !status.ok()) co_return status;
    }
  }
  const bool calls = may_write_anywhere(plan);
  if (calls || writes_rows(plan)) {
    Status status = co_await keep_open_portals(calls ? nullptr : &plan.tables, &portal, &sink);
    if (!status.ok()) co_return status;
  }
  if (portal.cursor == nullptr) portal.state.clear();
  Run run = make_run(transaction_.get(), portal, sink);
  resolved_constraints_.note(plan);
  temporary_.note_writes(plan.writes);
  Status status = co_await run_within(run, portal, max_rows, calls);
  if (!status.ok() && transaction_ != nullptr) describe_error(status, *transaction_);
  if (!status.ok()) co_return status;
  set_completion(plan, run.affected, completion);
  if (portal.cursor != nullptr) {
    completion.suspended = !portal.cursor->done() && max_rows != 0 && run.affected >= max_rows;
    if (!completion.suspended) portal.cursor.reset();
  }
  co_return Status();
}

Task<Status> Session::execute(Portal& portal, ResultSink& sink, std::uint64_t max_rows, bool autocommit,
                              Completion& completion) {
  if (locks_ != nullptr) locks_->begin_attempt();
  Status status = co_await execute_statement(portal, sink, max_rows, autocommit, completion);
  if (locks_ != nullptr) co_await settle_locks();
  co_return status;
}

Task<Status> Session::execute_statement(Portal& portal, ResultSink& sink, std::uint64_t max_rows,
                                        bool autocommit, Completion& completion) {
  std::shared_ptr<const Plan> plan = portal.plan;
  if (Status status = check_allowed(*plan); !status.ok()) co_return status;
  if (Status status = check_expired(*plan); !status.ok()) co_return status;
  if (portal.failed) co_return Status(ErrorCode::portal_not_ready, "portal cannot be run: it has failed");
  if (portal.finished) {
    if (plan->gives_rows()) {
      set_completion(*plan, 0, completion);
      co_return Status();
    }
    co_return Status(ErrorCode::portal_not_ready, "portal cannot be run: it has run already");
  }
  begin_statement();
  facts_.statement_us = clock_.begin_statement(facts_);
  const std::uint64_t lock_timeout_ns = settings_.lock_timeout_ns();
  interrupt_.set_lock_timeout(lock_timeout_ns == 0 ? ~std::uint64_t{0} : lock_timeout_ns);
  // Also between the statements of one message: no statement begins for a client that is gone.
  if (Status status = interrupt_.check(); !status.ok()) co_return status;
  Status status;
  if (plan->as<ExecutePlan>() != nullptr) {
    status = co_await begin_execute(plan, &portal, &sink);
    plan = portal.plan;
  }
  if (status.ok() && !rights_.rights_are_known(*plan, *portal.prepared))
    status = co_await rights_.check_rights(plan.get(), portal.prepared.get());
  if (status.ok() && portal.as_cursor.in_use())
    co_return co_await execute_cursor(portal, sink, max_rows, completion);
  if (status.ok() && max_rows != 0 && !plan->columns.empty() && plan->as<SelectPlan>() == nullptr) {
    status = co_await keep_all_rows(portal, sink, autocommit);
    if (status.ok()) co_return co_await execute_cursor(portal, sink, max_rows, completion);
  } else if (status.ok()) {
    status = co_await execute_all(portal, sink, max_rows, autocommit, completion);
    portal.finished = !completion.suspended;
    if (status.ok() && completion.suspended) {
      portal.as_cursor.position = completion.rows;
      portal.as_cursor.at_start = false;
    }
  }
  if (!status.ok()) {
    portal.finished = portal.failed = true;
    portal.cursor.reset();
  }
  co_return status;
}

Task<Status> Session::execute_all(Portal& portal, ResultSink& sink, std::uint64_t max_rows, bool autocommit,
                                  Completion& completion) {
  const Plan& plan = *portal.plan;
  if (plan.gives_rows()) sink.begin_rows(plan.columns, facts_.zone());
  if (const auto* declare = plan.as<DeclarePlan>()) {
    completion.tag = plan.tag;
    co_return co_await run_declare(*declare, portal, sink, autocommit);
  }
  if (!plan.is_transactional()) co_return co_await run_command(plan, portal, sink, completion);
  const bool call = plan.is_call();
  if (call && state_ == State::implicit) {
    Status status = co_await commit_transaction("block");
    if (!status.ok()) co_return status;
    clock_.start(facts_, engine_.executor().now_ns());
    facts_.statement_us = clock_.begin_statement(facts_);
  }
  if (state_ == State::idle && needs_transaction(plan) && (call || (autocommit && max_rows == 0)))
    co_return co_await run_autocommit(portal, sink, completion);
  co_return co_await run_in_transaction(portal, sink, max_rows, completion);
}

Status Session::check_describe(const Plan& plan) const {
  return plan.gives_rows() ? check_allowed(plan) : Status();
}

Status Session::check_expired(const Plan& plan) const {
  if (transaction_ == nullptr || ends_block(plan)) return {};
  const txn::TransactionFacts* facts = txn::transaction_facts(transaction_.get());
  return facts == nullptr ? Status() : facts->expired();
}

Status Session::check_allowed(const Plan& plan) const {
  return state_ != State::failed || ends_block(plan) ? Status() : only_end_of_block();
}

}  // namespace namdb::sql
