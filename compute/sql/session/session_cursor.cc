// Cursors: portals that DECLARE makes and that FETCH and MOVE read, as they read those that Bind has made.
// Rows are read when they are wanted. They are kept as long as they may be wanted again (SCROLL), and where
// the portal could not read them later: before its transaction writes to its tables, and before it commits
// and leaves the cursor behind (WITH HOLD).
#include <algorithm>
#include <utility>

#include "compute/sql/session/session.h"
#include "compute/sql/session/statement_kind.h"
#include "compute/sql/value/value_format.h"

namespace namdb::sql {

using reactor::Task;

namespace {

Status cannot_run(std::string_view name) {
  return Status(ErrorCode::portal_not_ready, "portal \"" + std::string(name) + "\" cannot be run");
}

// An error of a row's values, which comes when that row is wanted.
bool is_of_values(const Status& status) {
  if (status.ok()) return false;
  const std::string_view sqlstate = status.info().sqlstate;
  return sqlstate.starts_with("22") || sqlstate.starts_with("21");
}

bool reads_one_of(const Plan& plan, const std::vector<std::uint32_t>* tables) {
  return tables == nullptr || plan.calls_routines ||
         std::ranges::find_first_of(plan.tables, *tables) != plan.tables.end();
}

}  // namespace

std::vector<CursorObject> Session::cursors() const {
  std::vector<CursorObject> objects;
  const auto add = [&objects](const std::string& name, const Portal& portal) {
    if (!portal.valid) return;
    const CursorState& cursor = portal.as_cursor;
    objects.push_back(
        {name, portal.prepared->text, cursor.holds, cursor.binary, cursor.scrolls, cursor.declared_us});
  };
  add("", portals_.unnamed());
  for (const auto& [name, portal] : portals_.named()) add(name, portal);
  return objects;
}

Result<Portal*> Session::make_cursor(const DeclarePlan& plan, const Portal& running) {
  if (find_portal(plan.name) != nullptr) {
    return Status(ErrorCode::duplicate_portal, "cursor \"" + plan.name + "\" already exists");
  }
  close_portal(plan.name);
  const std::string& text = running.prepared->text;
  std::size_t size_bytes = text.size() + running.parameters.size() * sizeof(Datum);
  for (const Datum& value : running.parameters) size_bytes += value.null ? 0 : value.text.size();
  if (!portals_.has_room(size_bytes)) {
    return Status(ErrorCode::out_of_memory,
                  "the texts and parameters of a session's cursors can have at most " +
                      std::to_string(kMaxPortal_bytes) + " bytes");
  }
  MemoryShare memory(environment_.client_memory);
  if (Status status = memory.resize(size_bytes); !status.ok()) return status;
  const Result<Portal*> entry = portals_.make(plan.name, &running);
  if (!entry.ok()) return entry.status();
  Portal& made = **entry;
  portals_.count(made, size_bytes);
  made.memory = std::move(memory);
  const std::span<const Datum> parameters = made.arrays.keep(std::span<const Datum>(running.parameters));
  made.parameters.assign(parameters.begin(), parameters.end());
  made.prepared = std::make_shared<PreparedStatement>();
  made.prepared->text = text;
  made.prepared->within = true;
  made.prepared->declared = running.plan->parameters;
  made.prepared->plan = plan.query;
  made.prepared->statistics = &environment_.statistics.entry(plan.query->tag);
  made.plan = plan.query;
  made.result_formats.assign(plan.query->columns.size(), 0);
  made.number = portals_.next_number();
  CursorState& cursor = made.as_cursor;
  cursor.declared = true;
  cursor.binary = plan.binary;
  cursor.scrolls = plan.scrolls;
  cursor.only_forward = plan.only_forward;
  cursor.holds = plan.holds;
  cursor.declared_us = facts_.statement_us;
  made.valid = true;
  return &made;
}

Task<Status> Session::run_declare(const DeclarePlan& plan, const Portal& running, ResultSink& sink,
                                  bool autocommit) {
  // The statements of one simple query are like those of a block.
  const bool in_block = state_ == State::block || (&running == &simple_portal_ && !autocommit);
  if (!plan.holds && !in_block) {
    co_return Status(ErrorCode::no_active_transaction,
                     "DECLARE CURSOR can only be used in transaction blocks");
  }
  const Result<Portal*> made = make_cursor(plan, running);
  if (!made.ok()) co_return made.status();
  Portal& portal = **made;
  const bool in_transaction = plan.query->as<SelectPlan>()->needs_transaction();
  Status status;
  if (state_ == State::idle && plan.holds && (autocommit || !in_transaction)) {
    // It is a transaction of its own, which may be tried again.
    portal.as_cursor.kept = std::make_unique<KeptRows>(environment_.client_memory);
    status = co_await run_and_keep(&portal, in_transaction, &sink);
    portal.as_cursor.source_done = portal.as_cursor.held = true;
  } else if (in_transaction) {
    // The cursor shows the rows as they are now.
    ensure_transaction();
    status = co_await transaction_->fetch();
  }
  if (!status.ok()) close_portal(plan.name);
  co_return status;
}

Task<Status> Session::fetch_rows(const FetchPlan* fetch, Portal* portal, ResultSink* sink,
                                 std::uint64_t* rows) {
  if (portal->plan->as<SelectPlan>() == nullptr && !portal->as_cursor.in_use()) {
    if (Status status = co_await keep_all_rows(*portal, *sink, false); !status.ok()) co_return status;
  }
  const Receiver to{*sink, !fetch->moves};
  FetchPlan wanted = *fetch;
  co_return co_await moves_.move_cursor(std::move(wanted), portal, to, rows);
}

Task<Status> Session::run_fetch(const Plan& plan, const Portal& running, ResultSink& sink,
                                Completion& completion) {
  const FetchPlan& fetch = *plan.as<FetchPlan>();
  Portal* const portal = find_portal(fetch.name);
  if (portal == nullptr)
    co_return Status(ErrorCode::undefined_portal, "cursor \"" + fetch.name + "\" does not exist");
  if (portal == &running || portal->failed) co_return cannot_run(fetch.name);
  const bool is_query = portal->plan->as<SelectPlan>() != nullptr;
  if (!portal->plan->gives_rows() || (!is_query && !writes_rows(*portal->plan)))
    co_return Status(ErrorCode::feature_not_supported,
                     "FETCH from a portal of this statement is not supported");
  if (!fetch.moves && !same_columns(plan.columns, portal->plan->columns))
    co_return Status(ErrorCode::feature_not_supported, "cached plan must not change result type");
  CursorState& cursor = portal->as_cursor;
  if (portal->finished) cursor.at_end = cursor.source_done = true;
  std::uint64_t rows = 0;
  if (Status status = co_await fetch_rows(&fetch, portal, &sink, &rows); !status.ok()) {
    portal->failed = true;
    portal->cursor.reset();
    co_return status;
  }
  completion.rows = rows;
  completion.counts_rows = true;
  co_return Status();
}

Task<Status> Session::execute_cursor(Portal& portal, ResultSink& sink, std::uint64_t max_rows,
                                     Completion& completion) {
  CursorState& cursor = portal.as_cursor;
  if (portal.failed) co_return Status(ErrorCode::portal_not_ready, "portal cannot be run: it has failed");
  sink.begin_rows(portal.plan->columns, facts_.zone());
  std::uint64_t rows = 0;
  const Receiver to{sink};
  Status status =
      co_await moves_.go_forward(max_rows == 0 ? CursorMoves::kAllRows : max_rows, &portal, to, &rows);
  if (!status.ok()) {
    portal.failed = true;
    portal.cursor.reset();
    co_return status;
  }
  const bool is_query = portal.plan->as<SelectPlan>() != nullptr;
  completion = cursor.completion;
  if (is_query) set_completion(*portal.plan, rows, completion);
  if (completion.counts_rows) completion.rows = rows;
  const bool may_have_more =
      !is_query || !cursor.source_done ||
      (cursor.kept != nullptr && cursor.position < cursor.kept_from + cursor.kept->size()) ||
      !cursor.end.ok();
  completion.suspended = max_rows != 0 && rows >= max_rows && may_have_more;
  if (!completion.suspended) cursor.at_end = true;
  co_return Status();
}

Task<Status> Session::keep_all_rows(Portal& portal, ResultSink& sink, bool autocommit) {
  CursorState& cursor = portal.as_cursor;
  cursor.kept = std::make_unique<KeptRows>(environment_.client_memory);
  CursorSink to(sink, false, cursor.kept.get(), 0);
  Status status = co_await execute_all(portal, to, 0, autocommit, cursor.completion);
  // The statement may be committed: it is too late for an error of the last few rows.
  const Status counted = cursor.kept->count();
  static_cast<void>(counted);
  cursor.source_done = true;
  co_return status;
}

Task<Status> Session::read_rows(std::uint64_t count, Portal* portal, Receiver to, std::uint64_t* rows) {
  CursorState& cursor = portal->as_cursor;
  const bool keeps_one = cursor.declared && !cursor.only_forward && !cursor.scrolls;
  KeptRows* kept = nullptr;
  if (cursor.scrolls || keeps_one) {
    if (cursor.kept == nullptr) cursor.kept = std::make_unique<KeptRows>(environment_.client_memory);
    kept = cursor.kept.get();
    if (keeps_one) kept->clear();
  }
  CursorSink sink(to.sink, to.gives_rows, kept, keeps_one ? count - 1 : 0);
  Completion completion;
  Status status =
      co_await run_in_transaction(*portal, sink, count == CursorMoves::kAllRows ? 0 : count, completion);
  if (status.ok() && kept != nullptr) status = kept->count();
  if (!status.ok()) co_return status;
  *rows = completion.rows;
  if (keeps_one) cursor.kept_from = cursor.position + *rows - kept->size();
  cursor.source_done = !completion.suspended;
  co_return Status();
}

Task<Status> Session::run_and_keep(Portal* portal, bool alone, ResultSink* sink) {
  KeptRows* const kept = portal->as_cursor.kept.get();
  CursorSink to(*sink, false, kept, 0);
  Completion completion;
  Status status;
  if (alone) status = co_await run_autocommit(*portal, to, completion);
  if (!alone) status = co_await run_in_transaction(*portal, to, 0, completion);
  if (!status.ok()) co_return status;
  co_return kept->count();
}

Task<Status> Session::keep_rest(Portal* portal, ResultSink* sink) {
  CursorState& cursor = portal->as_cursor;
  if (cursor.kept == nullptr) {
    cursor.kept = std::make_unique<KeptRows>(environment_.client_memory);
    cursor.kept_from = cursor.position;
  }
  Status status = co_await run_and_keep(portal, false, sink);
  portal->cursor.reset();
  if (is_of_values(status)) {
    cursor.end = std::move(status);
    error_ = {};
    status = Status();
  }
  cursor.source_done = true;
  if (!status.ok()) portal->failed = true;
  co_return status;
}

Task<Status> Session::keep_open_portals(const std::vector<std::uint32_t>* tables, const Portal* running,
                                        ResultSink* sink) {
  std::vector<Portal*> open;
  const auto add = [&](Portal& portal) {
    const bool has_ended = !portal.valid || portal.failed || portal.finished || portal.as_cursor.at_end ||
                           portal.as_cursor.source_done;
    if (&portal == running || has_ended) return;
    const auto* const query = portal.plan->as<SelectPlan>();
    if (query != nullptr && query->needs_transaction() && reads_one_of(*portal.plan, tables))
      open.push_back(&portal);
  };
  add(portals_.unnamed());
  for (auto& [name, portal] : portals_.named()) add(portal);
  for (Portal* const portal : open) {
    Status status = co_await keep_rest(portal, sink);
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

// As in PostgreSQL, a portal counts until it is closed, also one that has given all of its rows.
Status Session::check_not_read(std::string_view command, const storage::Table& table) const {
  const auto reads = [&table](const Portal& portal) {
    return portal.valid && !portal.failed && !portal.as_cursor.held &&
           portal.plan->as<SelectPlan>() != nullptr &&
           std::ranges::find(portal.plan->tables, table.id) != portal.plan->tables.end();
  };
  const bool is_read =
      reads(portals_.unnamed()) ||
      std::ranges::any_of(portals_.named(), [&](const auto& each) { return reads(each.second); });
  if (!is_read) return {};
  return Status(ErrorCode::object_in_use,
                "cannot " + std::string(command) + " \"" + table.name +
                    "\" because it is being used by active queries in this session");
}

Task<Status> Session::keep_held_portals() {
  SilentSink sink;  // no command runs whose client would want a message of the query's
  for (auto& [name, portal] : portals_.named()) {
    CursorState& cursor = portal.as_cursor;
    if (!cursor.holds || cursor.held || !portal.valid || portal.failed) continue;
    Status status;
    if (!cursor.source_done) status = co_await keep_rest(&portal, &sink);
    if (!status.ok()) co_return status;
    if (!cursor.end.ok()) co_return cursor.end;
  }
  co_return Status();
}

}  // namespace namdb::sql
