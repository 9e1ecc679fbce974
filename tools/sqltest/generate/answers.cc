#include "tools/sqltest/generate/answers.h"

#include <libpq-fe.h>
#include <algorithm>

namespace namdb::sqltest {
namespace {

std::string hexadecimal(const char* bytes, int size) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (int i = 0; i < size; ++i) {
    text += kDigits[static_cast<unsigned char>(bytes[i]) >> 4];
    text += kDigits[static_cast<unsigned char>(bytes[i]) & 15];
  }
  return text;
}

Answer answer_of(PGconn* connection, PGresult* result) {
  Answer answer;
  const ExecStatusType status = PQresultStatus(result);
  if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK && status != PGRES_EMPTY_QUERY) {
    const char* sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char* message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    answer.sqlstate = sqlstate == nullptr ? "-----" : sqlstate;
    answer.message = message == nullptr ? PQerrorMessage(connection) : message;
    return answer;
  }
  answer.tag = PQcmdStatus(result);
  for (int column = 0; column < PQnfields(result); ++column) {
    answer.names.emplace_back(PQfname(result, column));
    // Types that statements have made have other identities on each server.
    constexpr Oid kFirstMade = 16'384;
    answer.types.push_back(std::min(PQftype(result, column), kFirstMade));
    answer.modifiers.push_back(PQfmod(result, column));
  }
  for (int row = 0; row < PQntuples(result); ++row) {
    auto& fields = answer.rows.emplace_back();
    for (int column = 0; column < PQnfields(result); ++column) {
      auto& field = fields.emplace_back();
      if (PQgetisnull(result, row, column) != 0) continue;
      const char* value = PQgetvalue(result, row, column);
      field = PQfformat(result, column) == 1 ? hexadecimal(value, PQgetlength(result, row, column)) : value;
    }
  }
  return answer;
}

}  // namespace

std::unique_ptr<Connection> Connection::open(const std::string& where, std::string& why) {
  std::unique_ptr<Connection> connection(new Connection(PQconnectdb(where.c_str())));
  if (PQstatus(connection->connection_) != CONNECTION_OK) {
    why = PQerrorMessage(connection->connection_);
    return nullptr;
  }
  PQsetNoticeProcessor(connection->connection_, [](void*, const char*) {}, nullptr);
  return connection;
}

Connection::~Connection() {
  PQfinish(connection_);
}

void Connection::send(const std::string& sql, bool binary, const std::vector<std::string>& parameters) {
  if (binary || !parameters.empty()) {
    std::vector<const char*> values;
    for (const std::string& parameter : parameters) values.push_back(parameter.c_str());
    PQsendQueryParams(connection_, sql.c_str(), static_cast<int>(values.size()), nullptr, values.data(),
                      nullptr, nullptr, binary ? 1 : 0);
  } else {
    PQsendQuery(connection_, sql.c_str());
  }
  PQflush(connection_);
}

Answer Connection::receive() {
  Answer answer;
  while (PGresult* result = PQgetResult(connection_)) {
    answer = answer_of(connection_, result);
    PQclear(result);
  }
  if (PQstatus(connection_) != CONNECTION_OK) {
    answer = {};
    answer.lost = true;
    answer.sqlstate = "-----";
    answer.message = PQerrorMessage(connection_);
  }
  return answer;
}

Answer Connection::ask(const std::string& sql) {
  send(sql, false);
  return receive();
}

Answer Connection::describe(const std::string& sql) {
  PGresult* prepared = PQprepare(connection_, "", sql.c_str(), 0, nullptr);
  Answer answer = answer_of(connection_, prepared);
  PQclear(prepared);
  if (answer.failed()) return answer;
  PGresult* described = PQdescribePrepared(connection_, "");
  answer = answer_of(connection_, described);
  PQclear(described);
  return answer;
}

bool Connection::in_block() const {
  return PQtransactionStatus(connection_) != PQTRANS_IDLE;
}

}  // namespace namdb::sqltest
