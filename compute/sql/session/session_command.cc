// Statements outside of the engine's transactions: BEGIN and COMMIT themselves, settings, EXPLAIN.
#include "compute/sql/plan/explain.h"
#include "compute/sql/session/session.h"
#include "compute/sql/session/statement_kind.h"
#include "compute/sql/system/virtual_table.h"

namespace namdb::sql {

using reactor::Task;

Task<Status> Session::run_command(const Plan& plan, Portal& portal, ResultSink& sink,
                                  Completion& completion) {
  completion.tag = plan.tag;
  if (const auto* transaction = plan.as<TransactionPlan>()) {
    Status status = co_await run_transaction_command(*transaction, sink, completion);
    co_await sweep_temporary();
    co_return status;
  }
  if (const auto* set = plan.as<SetPlan>()) {
    if (rights_.names_identity(set->name)) co_return co_await set_identity(set, &sink);
    co_return run_set(*set, sink);
  }
  if (plan.as<LockPlan>() != nullptr) co_return co_await run_lock();
  if (const auto* constraints = plan.as<ConstraintsPlan>())
    co_return co_await set_constraints(*constraints, sink);
  if (const auto* show = plan.as<ShowPlan>()) co_return co_await run_show(*show, sink, completion);
  if (const auto* discard = plan.as<DiscardPlan>()) {
    Status status = run_discard(*discard, portal, sink);
    if (status.ok() && (discard->all || discard->temporary)) co_await drop_all_temporary();
    co_return status;
  }
  if (const auto* explain = plan.as<ExplainPlan>())
    co_return co_await run_explain(*explain, portal, sink, completion);
  if (plan.is_schema_change()) co_return co_await run_ddl(plan, sink);
  if (const auto* deallocate = plan.as<DeallocatePlan>()) {
    co_return run_deallocate(*deallocate);
  }
  if (const auto* prepare = plan.as<PreparePlan>()) co_return co_await run_prepare(*prepare, portal);
  if (plan.as<FetchPlan>() != nullptr) co_return co_await run_fetch(plan, portal, sink, completion);
  if (const auto* close = plan.as<ClosePlan>()) co_return run_close(*close, portal);
  if (const auto* nothing = plan.as<NothingPlan>()) {
    if (!nothing->notice.empty()) notify(sink, "NOTICE", "00000", nothing->notice);
    co_return Status();
  }
  completion.tag = {};  // an empty statement
  co_return Status();
}

void Session::notify(ResultSink& sink, std::string_view severity, std::string_view sqlstate,
                     std::string_view message) const {
  if (settings_.wants(severity)) sink.notice(severity, sqlstate, message);
}

Status Session::check_characteristics(const TransactionPlan& plan, ResultSink& sink) {
  if (plan.isolation) {
    if (Status status = settings_.check_isolation(*plan.isolation); !status.ok()) return status;
  }
  if (plan.for_session) {
    if (plan.isolation) {
      Status status =
          settings_.set("default_transaction_isolation", *plan.isolation, Settings::Scope::session);
      if (!status.ok()) return status;
    }
    if (plan.read_only) {
      Status status = settings_.set("default_transaction_read_only", *plan.read_only ? "on" : "off",
                                    Settings::Scope::session);
      if (!status.ok()) return status;
      sink.setting_changed("default_transaction_read_only", *plan.read_only ? "on" : "off");
    }
    return {};
  }
  if (plan.isolation) {
    if (transaction_ != nullptr && settings_.get("transaction_isolation") != plan.isolation) {
      return Status(ErrorCode::active_transaction,
                    "SET TRANSACTION ISOLATION LEVEL must be called before any query");
    }
    Status status = settings_.set("transaction_isolation", *plan.isolation, Settings::Scope::transaction);
    if (!status.ok()) return status;
  }
  if (plan.read_only) {
    if (!*plan.read_only && block_read_only_ && transaction_ != nullptr) {
      return Status(ErrorCode::active_transaction,
                    "transaction read-write mode must be set before any query");
    }
    block_read_only_ = *plan.read_only;
    return settings_.set("transaction_read_only", block_read_only_ ? "on" : "off",
                         Settings::Scope::transaction);
  }
  return {};
}

Task<Status> Session::run_transaction_command(const TransactionPlan& plan, ResultSink& sink,
                                              Completion& completion) {
  switch (plan.command) {
    case TransactionCommand::begin: {
      if (state_ == State::block) {
        notify(sink, "WARNING", "25001", "there is already a transaction in progress");
        co_return check_characteristics(plan, sink);
      }
      if (plan.isolation) {
        if (Status status = settings_.check_isolation(*plan.isolation); !status.ok()) co_return status;
      }
      if (state_ == State::idle) block_read_only_ = read_only();
      state_ = State::block;  // an implicit transaction becomes the block's beginning
      settings_.begin_block();
      if (const auto isolation = settings_.get("default_transaction_isolation");
          isolation && !plan.isolation && isolation != settings_.get("transaction_isolation")) {
        Status status = settings_.set("transaction_isolation", *isolation, Settings::Scope::transaction);
        if (!status.ok()) co_return status;
      }
      co_return check_characteristics(plan, sink);
    }
    case TransactionCommand::set_characteristics:
      if (!plan.for_session && state_ != State::block) {
        if (plan.isolation) {
          if (Status status = settings_.check_isolation(*plan.isolation); !status.ok()) co_return status;
        }
        notify(sink, "WARNING", "25P01", "SET TRANSACTION can only be used in transaction blocks");
        co_return Status();
      }
      co_return check_characteristics(plan, sink);
    case TransactionCommand::commit: {
      if (state_ == State::failed) {
        completion.tag = "ROLLBACK";
        end_transaction();
        state_ = State::idle;
        end_settings_of_block(Settings::BlockEnd::rolled_back, sink);
        co_return co_await undo_block_ddl(sink);
      }
      if (state_ != State::block) notify(sink, "WARNING", "25P01", "there is no transaction in progress");
      Status status = co_await commit_transaction("block");
      end_settings_of_block(status.ok() ? Settings::BlockEnd::committed : Settings::BlockEnd::rolled_back,
                            sink);
      if (status.ok()) co_return co_await drop_at_commit(sink);
      // An unknown outcome may be a commit.
      if (status.code() == ErrorCode::unknown_outcome) forget_block_ddl();
      const Status undone = co_await undo_block_ddl(sink);
      static_cast<void>(undone);  // the first error tells more
      co_return status;
    }
    case TransactionCommand::savepoint:
      co_return make_savepoint(plan.savepoint);
    case TransactionCommand::release_savepoint:
      co_return release_savepoint(plan.savepoint);
    case TransactionCommand::rollback_to_savepoint: {
      std::string name = plan.savepoint;
      co_return co_await rollback_to_savepoint(std::move(name), sink);
    }
    case TransactionCommand::rollback:
      if (state_ != State::block && state_ != State::failed)
        notify(sink, "WARNING", "25P01", "there is no transaction in progress");
      if (transaction_ != nullptr) {
        const Status rolled_back(ErrorCode::rolled_back, "ROLLBACK");
        environment_.statistics.entry("block").count_attempt(rolled_back, Attempt::last,
                                                             transaction_->counters());
      }
      end_transaction();
      state_ = State::idle;
      end_settings_of_block(Settings::BlockEnd::rolled_back, sink);
      co_return co_await undo_block_ddl(sink);
  }
  co_return Status(ErrorCode::internal, "an unknown transaction command");
}

// Reports to the client the settings that have got their former values back.
void Session::end_settings_of_block(Settings::BlockEnd end, ResultSink& sink) {
  for (const std::string_view name : settings_.end_block(end))
    sink.setting_changed(name, *settings_.get(name));
  if (identity_in_block_) rights_.apply_identity();
  identity_in_block_ = false;
}

// Reports to the client the settings that may have changed.
void Session::report_settings(ResultSink& sink) {
  for (const std::string_view name :
       {"application_name", "DateStyle", "default_transaction_read_only", "TimeZone", "IntervalStyle"})
    sink.setting_changed(name, *settings_.get(name));
}

Status Session::run_set(const SetPlan& plan, ResultSink& sink) {
  if (plan.name.empty()) {
    settings_.reset_all();
    report_settings(sink);
    return {};
  }
  if (plan.name == "transaction_isolation" && state_ != State::block) return {};
  if (plan.name == "transaction_read_only") return set_read_only(plan, sink);
  const auto scope = plan.local ? Settings::Scope::transaction : Settings::Scope::session;
  Status status = plan.value ? settings_.set(plan.name, *plan.value, scope) : settings_.reset(plan.name);
  if (!status.ok()) return status;
  if (plan.local && state_ != State::block) {
    notify(sink, "WARNING", "25P01", "SET LOCAL can only be used in transaction blocks");
    return {};
  }
  if (const auto name = Settings::reported_name(plan.name))
    sink.setting_changed(*name, *settings_.get(*name));
  return {};
}

Task<Status> Session::set_identity(const SetPlan* set, ResultSink* sink) {
  constexpr std::string_view kUserSetting = "session_authorization";
  SetPlan plan = *set;
  follow_roles();
  // Another server may have made the role.
  if (plan.value && *plan.value != "none" && facts_.roles->find(*plan.value) == nullptr) {
    const auto roles = co_await engine_.roles();
    if (!roles.ok()) co_return roles.status();
    follow_roles();
  }
  if (Status status = rights_.check_identity(plan); !status.ok()) co_return status;
  rights_.set_identity(plan);
  identity_in_block_ = identity_in_block_ || state_ == State::block;
  if (plan.local && state_ != State::block)
    notify(*sink, "WARNING", "25P01", "SET LOCAL can only be used in transaction blocks");
  if (plan.name == kUserSetting)
    sink->setting_changed(kUserSetting, settings_.get(kUserSetting).value_or(""));
  co_return Status();
}

Task<Result<Datum>> Session::setting_function(std::string_view name, std::span<const Datum> arguments,
                                              ResultSink* sink) {
  const std::string setting(arguments[0].text);
  if (name == "set_config") {
    const SetPlan set{setting, std::string(arguments[1].text), arguments[2].is_true()};
    // Outside of a block the transaction is the statement's own: no other sees the value.
    const bool has_no_effect = set.local && state_ != State::block;
    if (rights_.names_identity(setting)) {
      Status status = co_await set_identity(&set, sink);
      if (!status.ok()) co_return status;
      setting_text_ = settings_.get(setting).value_or("");
      co_return Datum::of_text(setting_text_);
    }
    Status status = has_no_effect ? Settings(settings_).set(setting, *set.value, Settings::Scope::session)
                                  : run_set(set, *sink);
    if (!status.ok()) co_return status;
    setting_text_ = has_no_effect ? *set.value : settings_.get(setting).value_or("");
    co_return Datum::of_text(setting_text_);
  }
  const std::optional<std::string> value = settings_.get(setting);
  if (!value) {
    if (arguments.size() > 1 && arguments[1].is_true()) co_return Datum();
    co_return Status(ErrorCode::undefined_object, "unrecognized configuration parameter \"" + setting + "\"");
  }
  setting_text_ = *value;
  co_return Datum::of_text(setting_text_);
}

// Sets the mode of the running block; outside of a block the statement's own transaction ends with it.
Status Session::set_read_only(const SetPlan& plan, ResultSink& sink) {
  Settings scratch = settings_;
  Status status = scratch.set(plan.name, plan.value.value_or("off"), Settings::Scope::session);
  if (!status.ok() || state_ != State::block) return status;
  TransactionPlan characteristics;
  characteristics.read_only = scratch.get(plan.name) == "on";
  return check_characteristics(characteristics, sink);
}

Task<Status> Session::run_show(const ShowPlan& plan, ResultSink& sink, Completion&) {
  if (plan.name == "all") {
    for (const Settings::Row& row : settings_.all()) {
      const std::array<Datum, 3> values = {Datum::of_text(row.name), Datum::of_text(row.value),
                                           Datum::of_text(row.description)};
      sink.add_row(values);
    }
    co_return Status();
  }
  if (plan.name == "namdb.statistics") {
    arena_.reset();
    VirtualTableInput input{&engine_, &environment_.statistics.all(), &arena_, &facts_};
    const VirtualTable* table = find_virtual_table("public", "namdb_statistics");
    Result<VirtualRows> rows = co_await table->rows(input);
    if (!rows.ok()) co_return rows.status();
    for (const std::vector<Datum>& row : *rows) sink.add_row(row);
    co_return Status();
  }
  std::optional<std::string> value = settings_.get(plan.name);
  if (plan.name == "transaction_read_only") value = read_only() ? "on" : "off";
  if (!value) {
    co_return Status(ErrorCode::undefined_object,
                     "unrecognized configuration parameter \"" + plan.name + "\"");
  }
  const Datum datum = Datum::of_text(*value);
  sink.add_row({&datum, 1});
  co_return Status();
}

Status Session::run_discard(const DiscardPlan& plan, const Portal& running, ResultSink& sink) {
  if (plan.all && state_ != State::idle) {
    return Status(ErrorCode::active_transaction, "DISCARD ALL cannot run inside a transaction block");
  }
  if (plan.sequences) {
    sequence_values_.forget_all();
  }
  if (!plan.all) return {};
  settings_.reset_all();
  settings_.set_identity("session_authorization", rights_.authenticated_user(), Settings::Scope::session);
  settings_.set_identity("role", "none", Settings::Scope::session);
  rights_.apply_identity();
  report_settings(sink);
  prepared_.close_all();
  if (locks_ != nullptr) locks_->give_back_all();
  return run_close(ClosePlan(), running);
}

// `running` stays: it may be one of them.
Status Session::run_close(const ClosePlan& plan, const Portal& running) {
  if (!plan.name.empty()) {
    const Portal* const portal = find_portal(plan.name);
    if (portal == nullptr || portal == &running)
      return Status(ErrorCode::undefined_portal, "cursor \"" + plan.name + "\" does not exist");
    close_portal(plan.name);
    return {};
  }
  if (&running != &portals_.unnamed()) portals_.unnamed().end();
  for (auto& [name, portal] : portals_.named()) {
    if (&portal != &running) portal.end();
  }
  portals_.sweep(&running);
  return {};
}

// Runs the statement for its cost. Outside of a block the cost of its commit is part of it.
Task<Status> Session::analyze(const Plan& plan, Portal& portal, ResultSink& messages,
                              ExplainedRun& explained) {
  SilentSink sink;
  const bool own = state_ == State::idle;
  std::unique_ptr<txn::Transaction> transaction;
  if (own) {
    transaction = begin();
  } else {
    ensure_transaction();
    if (plan.as<SelectPlan>() == nullptr || plan.calls_volatile) {
      const bool calls = may_write_anywhere(plan);
      Status status = co_await keep_open_portals(calls ? nullptr : &plan.tables, &portal, &messages);
      if (!status.ok()) co_return status;
    }
  }
  txn::Transaction& used = own ? *transaction : *transaction_;
  const fabric::OperationCounters before = used.counters();
  portal.state.clear();
  portal.state.costs = &explained.parts;
  Run run = make_run(&used, portal, sink);
  temporary_.note_writes(plan.writes);
  Portal scratch;
  const LabelWatch labels;
  Status status = co_await run_plan(run, plan, scratch, 0);
  scratch.cursor.reset();
  if (status.ok() && labels.has_missed()) status = co_await types_.learn_labels(&labels);
  portal.state.costs = nullptr;
  if (status.ok() && own && !deferred_.empty()) status = co_await check_deferred(&used, /*all=*/true);
  if (own) deferred_.forget();
  if (status.ok() && own) status = co_await empty_temporary(&used);
  if (status.ok() && own) status = co_await used.commit();
  if (own) end_id(status);
  if (!status.ok()) co_return status;
  explained.total = used.counters() - before;
  explained.rows = run.affected;
  explained.without_commit = !own && used.has_writes();
  co_return Status();
}

Task<Status> Session::run_explain(const ExplainPlan& plan, Portal& portal, ResultSink& sink,
                                  Completion& completion) {
  Portal executed;  // by EXECUTE
  const Plan* statement = plan.statement.get();
  if (statement->as<ExecutePlan>() != nullptr) {
    // Lives as long as the plan around it, which the portal has.
    const std::shared_ptr<const Plan> execute(portal.plan, statement);
    Status status = co_await begin_execute(execute, &executed, &sink);
    if (!status.ok()) co_return status;
    statement = executed.plan.get();
    status = co_await rights_.check_rights(statement, executed.prepared.get());
    if (!status.ok()) co_return status;
    if (statement->as<SelectPlan>() == nullptr && !writes_rows(*statement) && !statement->is_call())
      co_return Status(ErrorCode::feature_not_supported, "EXPLAIN of this statement is not supported");
  }
  Portal& run = executed.plan == nullptr ? portal : executed;
  ExplainedRun explained;
  if (plan.analyze) {
    const auto* const select = statement->as<SelectPlan>();
    const std::string_view writer = select == nullptr ? statement->tag : select->locking_command;
    if (read_only() && !writer.empty()) {
      co_return Status(ErrorCode::read_only_transaction,
                       "cannot execute " + std::string(writer) + " in a read-only transaction");
    }
    Status status = co_await analyze(*statement, run, sink, explained);
    if (!status.ok()) co_return status;
  }
  const ExplainedRun* const counted = plan.analyze ? &explained : nullptr;
  const std::vector<std::string> lines =
      plan.as_json ? std::vector{explain_json(*statement, counted)} : explain_text(*statement, counted);
  for (const std::string& line : lines) {
    const std::string shown = without_prefixes(line);
    const Datum datum = Datum::of_text(shown);
    sink.add_row({&datum, 1});
  }
  completion.rows = lines.size();
  co_return Status();
}

}  // namespace namdb::sql
