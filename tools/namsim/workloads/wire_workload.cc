#include "tools/namsim/workloads/wire_workload.h"

#include <algorithm>
#include <array>

#include "compute/pgwire/server.h"

namespace namdb::sim {

using history::Operation;
using history::Outcome;
using history::Version;
using reactor::Task;

namespace {

// append_to(key, element, key, element): appends to each list and returns what they were. A key below 0 is
// passed, an element of 0 is only read, as is a list that is full.
Task<Status> append_to(procedure::Context& context) {
  std::array<std::optional<procedure::RowId>, 2> rows;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (context.integer(2 * i) < 0) continue;
    const procedure::Key key = std::move(procedure::Key(context.schema(0)).integer(context.integer(2 * i)));
    rows[i] = context.get(0, key.bytes());
  }
  NAMDB_CO_CHECK(co_await context.fetch());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i]) continue;
    if (!context.found(*rows[i])) co_return procedure::abort_with("a row is gone");
    std::string text(context.row(*rows[i]).text(1));
    context.result(i, text);
    if (context.integer(2 * i + 1) == 0) continue;
    text += (text.empty() ? "" : ",") + std::to_string(context.integer(2 * i + 1));
    if (text.size() > AppendWorkload::kList_bytes) co_return procedure::abort_with("a list is full");
    NAMDB_CO_CHECK(context.update(*rows[i]).set_text(1, text));
  }
  co_return Status();
}

procedure::Definition append_to_definition() {
  procedure::Definition definition;
  definition.name = "append_to";
  for (const char* name : {"key1", "element1", "key2", "element2"})
    definition.parameters.push_back({.name = name});
  for (const char* name : {"list1", "list2"})
    definition.results.push_back({.name = name, .type = layout::ColumnType::varchar});
  definition.tables = {WireWorkload::kTable};
  definition.run = append_to;
  return definition;
}

}  // namespace

struct WireWorkload::Server {
  Server(fabric::sim::SimWorld& world, txn::Engine& engine)
      : process({}, [&world] { return static_cast<std::uint32_t>(world.random().next()); }),
        sql(engine, procedures, process, 0) {
    procedures.add(append_to_definition());
  }

  procedure::ProcedureRegistry procedures;
  pgwire::ProcessState process;
  pgwire::Server sql;
};

WireWorkload::WireWorkload(fabric::sim::SimWorld& world, history::History& history, WorkloadOptions options)
    : AppendWorkload(world, history, options) {}

WireWorkload::~WireWorkload() = default;

WireWorkload::Server& WireWorkload::server_of(txn::Engine& engine) {
  std::unique_ptr<Server>& server = servers_[&engine];
  if (server == nullptr) server = std::make_unique<Server>(world(), engine);
  return *server;
}

void WireWorkload::died(txn::Engine& engine) {
  const auto found = servers_.find(&engine);
  if (found == servers_.end()) return;
  fabric::sim::SimWorld::bury(std::move(found->second));
  servers_.erase(found);
}

Task<void> WireWorkload::leave(txn::Engine& engine) {
  const auto found = servers_.find(&engine);
  if (found == servers_.end()) co_return;
  co_await found->second->sql.stop();
  servers_.erase(&engine);
}

class WireWorkload::Client final : public WorkloadClient {
 public:
  Client(WireWorkload& workload, txn::Engine& engine) : workload_(workload), engine_(engine) {}

  Task<Outcome> run_one(std::uint64_t session_id) override {
    if (wire_ == nullptr || wire_->lost()) {
      StreamPair pair = connect_streams(workload_.world(), engine_.executor(), workload_.options().streams);
      wire_ = std::make_unique<WireClient>(std::move(pair.client));
      workload_.server_of(engine_).sql.adopt(std::move(pair.server));
      const WireAnswer answer = co_await wire_->start();
      if (!answer.lost && !answer.ok())
        workload_.complain("start-up: " + answer.sqlstate + " " + answer.message);
      // Records made after the data is gone belong to its next life.
      if (!answer.ok() || workload_.gone()) co_return Outcome::aborted;
    }
    const std::size_t record = workload_.begin_record(session_id);
    Outcome outcome = Outcome::aborted;
    if (workload_.random().chance(0.5)) {
      outcome = co_await workload_.run_call(wire_.get(), record);
    } else {
      outcome = co_await workload_.run_block(wire_.get(), record);
    }
    history::Transaction& transaction = workload_.recorded().at(record);
    transaction.outcome = outcome;
    if (outcome != Outcome::unknown) transaction.end_ns = workload_.world().now_ns();
    co_return outcome;
  }

 private:
  WireWorkload& workload_;
  txn::Engine& engine_;
  std::unique_ptr<WireClient> wire_;
};

std::unique_ptr<WorkloadClient> WireWorkload::open_client(txn::Engine& engine) {
  return std::make_unique<Client>(*this, engine);
}

void WireWorkload::judge_sqlstate(const std::string& sqlstate, const std::string& message) {
  const auto is = [&](std::initializer_list<ErrorCode> codes) {
    return std::any_of(codes.begin(), codes.end(),
                       [&](ErrorCode code) { return Status(code, "").info().sqlstate == sqlstate; });
  };
  if (message.find("was collected") != std::string::npos) return complain("a version was lost: " + message);
  if (is({ErrorCode::serialization_failure, ErrorCode::procedure_abort})) return;
  if (options().may_grow_old && is({ErrorCode::transaction_timeout, ErrorCode::snapshot_too_old})) return;
  if (options().may_lose_connections && is({ErrorCode::connection_failure, ErrorCode::unknown_outcome,
                                            ErrorCode::cannot_connect_now, ErrorCode::fenced}))
    return;
  if ((lives().size() > 1 || gone()) && is({ErrorCode::undefined_table})) return;
  if (options().full_region && is({ErrorCode::out_of_memory, ErrorCode::limit_exceeded})) return;
  complain(sqlstate + ": " + message);
}

std::vector<std::uint64_t> WireWorkload::draw_keys(std::uint64_t most) {
  std::vector<std::uint64_t> keys(options().keys);
  for (std::size_t i = 0; i < keys.size(); ++i) std::swap(keys[i] = i, keys[random().below(i + 1)]);
  keys.resize(std::min<std::size_t>(keys.size(), random().between(options().fewest_keys, most)));
  return keys;
}

bool WireWorkload::usable(const WireAnswer& answer) {
  if (answer.ok()) return true;
  if (!answer.lost) judge_sqlstate(answer.sqlstate, answer.message);
  return false;
}

Outcome WireWorkload::outcome_of(const WireAnswer& answer) {
  if (answer.lost) return Outcome::unknown;
  if (answer.ok()) return answer.tag == "ROLLBACK" ? Outcome::aborted : Outcome::committed;
  judge_sqlstate(answer.sqlstate, answer.message);
  return answer.sqlstate == "40003" ? Outcome::unknown : Outcome::aborted;
}

Task<Outcome> WireWorkload::run_block(WireClient* client, std::size_t at) {
  WireAnswer answer = co_await client->query("BEGIN");
  if (!usable(answer)) co_return Outcome::aborted;
  std::uint64_t writes = 0;
  for (const std::uint64_t key : draw_keys(options().keys_per_transaction)) {
    const std::string where = " WHERE id = " + std::to_string(key);
    answer = co_await client->query("SELECT elements FROM " + std::string(kTable) + where);
    bool going_on = usable(answer);
    if (going_on && (answer.rows.size() != 1 || !answer.rows[0][0])) {
      // A block may see rows of different moments, if it then cannot commit.
      const WireAnswer end = co_await client->query("COMMIT");
      if (usable(end)) complain("a row is gone: SELECT answered " + answer.kinds + ", and COMMIT " + end.tag);
      co_return Outcome::aborted;
    }
    std::string text = going_on ? *answer.rows[0][0] : "";
    Result<std::vector<Version>> list = parse_list(text);
    if (!list.ok()) complain(list.status().to_string());
    if (going_on && list.ok()) {
      record(at, Operation::read_list(key, *list));
      const Version element = recorded().next_version();
      text += (text.empty() ? "" : ",") + std::to_string(element);
      const bool appends = writes < options().most_writes && random().chance(options().write_probability);
      if (appends && text.size() <= kList_bytes) {
        ++writes;
        record(at, Operation::append(key, element));
        answer = co_await client->query("UPDATE " + std::string(kTable) + " SET elements = '" + text + "'" +
                                        where);
        going_on = usable(answer);
        if (going_on && answer.tag != "UPDATE 1") complain("UPDATE of one row answered " + answer.tag);
      }
    }
    if (going_on && complaint().empty()) continue;
    if (!client->lost()) answer = co_await client->query("ROLLBACK");
    co_return Outcome::aborted;
  }
  answer = co_await client->query("COMMIT");
  co_return outcome_of(answer);
}

Task<Outcome> WireWorkload::run_call(WireClient* client, std::size_t at) {
  std::vector<std::uint64_t> keys = draw_keys(2);
  std::vector<std::optional<std::string>> arguments;
  std::vector<Version> elements;
  for (std::size_t i = 0; i < 2; ++i) {
    const bool appends = i < keys.size() && random().chance(options().write_probability);
    elements.push_back(appends ? recorded().next_version() : 0);
    arguments.emplace_back(i < keys.size() ? std::to_string(keys[i]) : "-1");
    arguments.emplace_back(std::to_string(elements.back()));
    if (appends) record(at, Operation::append(keys[i], elements.back()));
  }
  const WireAnswer answer = co_await client->execute("CALL append_to($1, $2, $3, $4)", std::move(arguments));
  const Outcome outcome = outcome_of(answer);
  if (outcome != Outcome::committed) co_return outcome;
  if (answer.rows.size() != 1 || answer.rows[0].size() != 2) {
    complain("CALL answered " + answer.kinds);
    co_return outcome;
  }
  // Now the values that were read are known as well.
  recorded().at(at).operations.clear();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    Result<std::vector<Version>> list = parse_list(answer.rows[0][i].value_or("?"));
    if (!list.ok()) {
      complain(list.status().to_string());
      co_return outcome;
    }
    record(at, Operation::read_list(keys[i], std::move(list).value()));
    if (elements[i] != 0) record(at, Operation::append(keys[i], elements[i]));
  }
  co_return outcome;
}

}  // namespace namdb::sim
