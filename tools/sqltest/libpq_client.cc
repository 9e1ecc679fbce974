#include "tools/sqltest/libpq_client.h"

#include <libpq-fe.h>

namespace namdb::sqltest {
namespace {

class LibpqClient final : public Client {
 public:
  explicit LibpqClient(PGconn* connection) : connection_(connection) {}
  ~LibpqClient() override { PQfinish(connection_); }

  // The last result counts, as in psql.
  Outcome run(const std::string& sql) override {
    Outcome outcome;
    PGresult* result = PQexec(connection_, sql.c_str());
    const ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK && status != PGRES_EMPTY_QUERY) {
      const char* sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
      const char* message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
      outcome.sqlstate = sqlstate == nullptr ? "-----" : sqlstate;
      outcome.message = message == nullptr ? PQerrorMessage(connection_) : message;
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

 private:
  PGconn* connection_;
};

}  // namespace

std::unique_ptr<Client> connect_libpq(const std::string& connection, std::string& why) {
  PGconn* handle = PQconnectdb(connection.c_str());
  if (PQstatus(handle) == CONNECTION_OK) {
    PQsetNoticeProcessor(handle, [](void*, const char*) {}, nullptr);
    return std::make_unique<LibpqClient>(handle);
  }
  why = PQerrorMessage(handle);
  PQfinish(handle);
  return nullptr;
}

}  // namespace namdb::sqltest
