// The simple protocol: one string, any number of statements.
#include "compute/sql/session/session.h"
#include "compute/sql/syntax/syntax.h"

namespace namdb::sql {

using reactor::Task;

namespace {

// The work of planning a statement and answering it.
constexpr std::uint64_t kStatement_units = Work::kTurn_units / 64;

}  // namespace

Task<void> Session::simple_query(std::string text, ResultSink& sink) {
  // As in PostgreSQL, a simple query forgets the unnamed statement and the unnamed portal.
  prepared_.close("");
  portals_.unnamed().reset();
  error_ = {};
  begin_statement();
  ParsedText parsed = co_await parser_.parse(&text);
  if (const SyntaxError* error = parsed.error()) {
    fail(error->status);
    error_.position = error->position;
    sink.error(error->status, error_);
    co_return;
  }
  const SyntaxTree& tree = parsed.tree();
  const std::size_t count = tree.statement_count();
  if (count == 0) {
    if (Status status = co_await sync(); !status.ok()) {
      fail(status);
      sink.error(status, error_);
    } else {
      sink.complete(Completion());
    }
    co_return;
  }
  bool ok = true;
  for (std::size_t i = 0; i < count && ok; ++i) {
    work_.charge(kStatement_units);
    if (work_.due()) {
      co_await engine_.executor().yield();
      work_.begin_turn();
    }
    const ParsedStatement parsing{tree.statement(i), tree.statement_begin(i),
                                  tree.statement_bytes(i, text.size()), &text};
    ok = co_await run_simple(parsing, count == 1, i + 1 == count, sink);
  }
  parser_.forget(std::move(parsed));
}

Task<bool> Session::run_simple(ParsedStatement parsing, bool autocommit, bool last, ResultSink& sink) {
  auto prepared = std::make_shared<PreparedStatement>();
  // A retry may have to bind it again. PREPARE and DECLARE keep it.
  prepared->text =
      autocommit ? *parsing.text : parsing.text->substr(parsing.begin_bytes, parsing.length_bytes);
  Completion completion;
  begin_statement();
  Status status = co_await plan_statement(*prepared, parsing);
  if (status.ok() && !prepared->plan->parameters.empty())
    status = Status(ErrorCode::undefined_parameter, "there is no parameter $1");
  if (status.ok()) {
    simple_portal_.reset();
    simple_portal_.prepared = prepared;
    simple_portal_.plan = prepared->plan;
    simple_portal_.result_formats.assign(prepared->plan->columns.size(), 0);
    const auto* fetch = prepared->plan->as<FetchPlan>();
    const Portal* const fetched = fetch == nullptr ? nullptr : find_portal(fetch->name);
    const bool binary = fetched != nullptr && fetched->as_cursor.binary;
    if (binary) sink.show_binary(true);
    status = co_await execute(simple_portal_, sink, 0, autocommit, completion);
    if (binary) sink.show_binary(false);
    simple_portal_.reset();
  }
  // The last statement's success is the transaction's: its completion waits for the commit.
  if (status.ok() && last) status = co_await sync();
  if (!status.ok()) {
    fail(status);
    forget_portals();
    if (locks_ != nullptr) co_await settle_locks();
    sink.error(status, error_);
    co_return false;
  }
  sink.complete(completion);
  co_return true;
}

}  // namespace namdb::sql
