#include "tools/support/wire/wire_client.h"

#include <charconv>
#include <utility>

#include "tools/support/report/progress.h"

namespace namdb::support {

using layout::ColumnType;

namespace {
constexpr std::uint64_t kPause_ns = 10'000'000;
}  // namespace

WireClient::WireClient(std::unique_ptr<Connection> connection, std::unique_ptr<workloads::CallSource> calls,
                       const workloads::Workload& workload, const Definitions& definitions,
                       std::uint64_t pipeline, RunRecorder& recorder)
    : connection_(std::move(connection)),
      calls_(std::move(calls)),
      workload_(workload),
      pipeline_(pipeline),
      recorder_(recorder) {
  for (const workloads::TransactionType& type : workload_.transactions()) {
    definitions_.push_back(&definitions.at(type.procedure));
  }
}

Status WireClient::reopen(std::unique_ptr<Connection> connection) {
  connection_ = std::move(connection);
  wants_write_ = false;
  return prepare();
}

Status WireClient::prepare() {
  statements_.clear();
  for (std::size_t i = 0; i < definitions_.size(); ++i) {
    const procedure::Definition& definition = *definitions_[i];
    statements_.push_back("call" + std::to_string(i));
    if (workload_.transactions()[i].weight <= 0) continue;
    std::string sql = "CALL " + definition.name + "(";
    std::vector<unsigned> types;
    for (const procedure::Parameter& parameter : definition.parameters) {
      types.push_back(wire_type(parameter.type));
      sql += (types.size() > 1 ? ",$" : "$") + std::to_string(types.size());
    }
    sql += ")";
    if (Status status = connection_->prepare(statements_.back(), sql, types); !status.ok()) {
      return Status(status.code(), sql + ": " + status.message(),
                    "start nam-computed with --procedure-library .../libnamdb_workloads.so");
    }
  }
  if (PQsetnonblocking(connection_->get(), 1) != 0 || PQenterPipelineMode(connection_->get()) != 1) {
    return Status(ErrorCode::connection_failure, PQerrorMessage(connection_->get()));
  }
  return {};
}

Status WireClient::advance(bool readable) {
  if (readable && PQconsumeInput(connection_->get()) == 0) return broken();
  if (Status status = read_results(); !status.ok()) return status;
  if (Status status = send_calls(); !status.ok()) return status;
  const int flushed = PQflush(connection_->get());
  if (flushed < 0) return broken();
  wants_write_ = flushed == 1;
  return {};
}

Status WireClient::read_results() {
  std::uint64_t now_ns = 0;
  int nothing = 0;
  // After each statement's results comes a null, then its Sync. Two nulls in a row: nothing is there.
  while (!under_way_.empty() && nothing < 2 && PQisBusy(connection_->get()) == 0) {
    const ResultHandle result(PQgetResult(connection_->get()));
    if (result == nullptr) {
      ++nothing;
      continue;
    }
    nothing = 0;
    if (PQresultStatus(result.get()) == PGRES_PIPELINE_SYNC) {
      if (now_ns == 0) now_ns = steady_now_ns();
      finish_front(now_ns);
    } else {
      take_result(result.get());
    }
  }
  return PQstatus(connection_->get()) == CONNECTION_OK ? Status() : broken();
}

void WireClient::take_result(PGresult* result) {
  UnderWay& call = under_way_.front();
  switch (PQresultStatus(result)) {
    case PGRES_COMMAND_OK:
      break;
    case PGRES_TUPLES_OK:
      if (PQntuples(result) == 1) take_row(call, result);
      break;
    default: {
      ServerError error = server_error(connection_->get(), result);
      call.sqlstate = std::move(error.sqlstate);
      call.message = std::move(error.message);
    }
  }
}

void WireClient::take_row(UnderWay& call, PGresult* result) {
  const std::vector<procedure::Parameter>& types = definitions_[call.call.type]->results;
  for (int column = 0; column < PQnfields(result) && column < static_cast<int>(types.size()); ++column) {
    procedure::Value& value = call.results.emplace_back();
    const procedure::Parameter& type = types[static_cast<std::size_t>(column)];
    const std::string_view text(PQgetvalue(result, 0, column),
                                static_cast<std::size_t>(PQgetlength(result, 0, column)));
    // Points in time differ from run to run: they stay out of the results, and so out of their hash.
    if (PQgetisnull(result, 0, column) != 0 || type.type == ColumnType::timestamp) continue;
    if (type.type == ColumnType::text || type.type == ColumnType::varchar) {
      value = std::string(text);
    } else if (const auto number = parse_numeric(text, type.scale)) {
      value = *number;
    }
  }
}

void WireClient::finish_front(std::uint64_t now_ns) {
  UnderWay& call = under_way_.front();
  if (call.sqlstate == "57P03" || call.sqlstate.starts_with("08")) resume_ns_ = now_ns + kPause_ns;
  recorder_.record(call.call, {call.sqlstate, call.message, call.results}, call.start_ns, now_ns, hash_);
  spare_.push_back(std::move(call));
  under_way_.pop_front();
}

Status WireClient::send_calls() {
  if (under_way_.size() >= pipeline_) return {};
  const std::uint64_t now_ns = steady_now_ns();
  if (now_ns < resume_ns_) return {};
  resume_ns_ = 0;
  while (under_way_.size() < pipeline_ && recorder_.go_on(now_ns, started_)) {
    UnderWay call;
    if (!spare_.empty()) {
      call = std::move(spare_.back());
      spare_.pop_back();
    }
    call.sqlstate.clear();
    call.message.clear();
    call.results.clear();
    calls_->next(call.call);
    call.start_ns = now_ns;
    parameters_.clear();
    const procedure::Definition& definition = *definitions_[call.call.type];
    for (std::size_t i = 0; i < definition.parameters.size(); ++i) {
      parameters_.add(call.call.arguments[i], definition.parameters[i].type, definition.parameters[i].scale);
    }
    const std::string& statement = statements_[call.call.type];
    ++started_;
    under_way_.push_back(std::move(call));
    if (PQsendQueryPrepared(connection_->get(), statement.c_str(), parameters_.count(), parameters_.values(),
                            parameters_.lengths(), parameters_.formats(), 0) != 1 ||
        PQpipelineSync(connection_->get()) != 1) {
      return broken();
    }
  }
  return {};
}

Status WireClient::broken() {
  const ServerError error = server_error(connection_->get(), nullptr);
  const std::uint64_t now_ns = steady_now_ns();
  while (!under_way_.empty()) {
    if (under_way_.front().sqlstate.empty()) {
      under_way_.front().sqlstate = error.sqlstate;
      under_way_.front().message = error.message;
    }
    finish_front(now_ns);
  }
  return Status(ErrorCode::connection_failure, "a connection broke: " + error.message);
}

}  // namespace namdb::support
