#include "tools/sqltest/libpq_client.h"

#include <libpq-fe.h>
#include <poll.h>

#include <algorithm>
#include <utility>

namespace namdb::sqltest {
namespace {

struct Finish {
  void operator()(PGconn* connection) const { PQfinish(connection); }
};
using Connection = std::unique_ptr<PGconn, Finish>;

class LibpqClient final : public Client {
 public:
  explicit LibpqClient(Connection connection) : connection_(std::move(connection)) {}

  // The last result counts, as in psql.
  Outcome run(const std::string& sql) override {
    return outcome_of_result(connection_.get(), PQexec(connection_.get(), sql.c_str()));
  }

 private:
  Connection connection_;
};

class LibpqStepClient final : public StepClient {
 public:
  explicit LibpqStepClient(Connection connection) : connection_(std::move(connection)) {}

  void send(const std::string& sql) override {
    outcomes_.clear();
    complete_ = false;
    if (PQsendQuery(connection_.get(), sql.c_str()) == 0) broken_ = true;
  }

  bool answers_within(std::chrono::milliseconds patience) override {
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (!complete_ && !broken_) {
      while (!complete_ && PQisBusy(connection_.get()) == 0) {
        PGresult* result = PQgetResult(connection_.get());
        complete_ = result == nullptr;
        if (!complete_) outcomes_.push_back(outcome_of_result(connection_.get(), result));
      }
      if (complete_) break;
      const auto left =
          std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
      pollfd socket{PQsocket(connection_.get()), POLLIN, 0};
      if (::poll(&socket, 1, std::max(0, static_cast<int>(left.count()))) == 0) return false;
      if (PQconsumeInput(connection_.get()) == 0) broken_ = true;
    }
    return true;
  }

  std::optional<std::vector<Outcome>> answer(std::chrono::milliseconds patience) override {
    if (!answers_within(patience)) {
      broken_ = true;
      return std::nullopt;
    }
    if (broken_) return lost();
    return std::exchange(outcomes_, {});
  }

  bool in_block() override {
    const PGTransactionStatusType status = PQtransactionStatus(connection_.get());
    return status == PQTRANS_INTRANS || status == PQTRANS_INERROR;
  }
  bool broken() override { return broken_ || PQstatus(connection_.get()) != CONNECTION_OK; }

 private:
  std::vector<Outcome> lost() {
    broken_ = true;
    Outcome outcome;
    outcome.sqlstate = "-----";
    outcome.message = PQerrorMessage(connection_.get());
    return {outcome};
  }

  Connection connection_;
  bool broken_ = false;
  bool complete_ = false;
  std::vector<Outcome> outcomes_;  // so far
};

Connection connect(const std::string& connection, std::string& why) {
  Connection handle(PQconnectdb(connection.c_str()));
  if (PQstatus(handle.get()) == CONNECTION_OK) {
    PQsetNoticeProcessor(handle.get(), [](void*, const char*) {}, nullptr);
    return handle;
  }
  why = PQerrorMessage(handle.get());
  return nullptr;
}

}  // namespace

Outcome outcome_of_result(PGconn* connection, PGresult* result) {
  Outcome outcome;
  const ExecStatusType status = PQresultStatus(result);
  if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK && status != PGRES_EMPTY_QUERY) {
    const char* sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char* message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    outcome.sqlstate = sqlstate == nullptr ? "-----" : sqlstate;
    outcome.message = message == nullptr ? PQerrorMessage(connection) : message;
  }
  outcome.tag = PQcmdStatus(result);
  for (int column = 0; column < PQnfields(result); ++column)
    outcome.names.emplace_back(PQfname(result, column));
  for (int row = 0; row < PQntuples(result); ++row) {
    auto& fields = outcome.rows.emplace_back();
    for (int column = 0; column < PQnfields(result); ++column) {
      auto& field = fields.emplace_back();
      if (PQgetisnull(result, row, column) == 0) field = PQgetvalue(result, row, column);
    }
  }
  PQclear(result);
  return outcome;
}

std::unique_ptr<Client> connect_libpq(const std::string& connection, std::string& why) {
  Connection handle = connect(connection, why);
  return handle == nullptr ? nullptr : std::make_unique<LibpqClient>(std::move(handle));
}

std::unique_ptr<StepClient> connect_step_client(const std::string& connection, std::string& why) {
  Connection handle = connect(connection, why);
  return handle == nullptr ? nullptr : std::make_unique<LibpqStepClient>(std::move(handle));
}

}  // namespace namdb::sqltest
