#include "tools/namctl/compute_connection.h"

#include <cstdlib>
#include <utility>

namespace namdb::namctl {
namespace {

std::string without_line_end(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace

ComputeConnection::ComputeConnection(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) {
    error_ = "not HOST:PORT";
    return;
  }
  const std::string parameters = "host=" + address.substr(0, colon) + " port=" + address.substr(colon + 1) +
                                 " dbname=namdb connect_timeout=5" +
                                 (std::getenv("PGUSER") == nullptr ? " user=namctl" : "");
  connection_ = PQconnectdb(parameters.c_str());
  if (PQstatus(connection_) != CONNECTION_OK) error_ = without_line_end(PQerrorMessage(connection_));
}

ComputeConnection::~ComputeConnection() {
  PQfinish(connection_);
}

std::string ComputeConnection::server_version() const {
  const char* version = PQparameterStatus(connection_, "server_version");
  return version != nullptr ? version : "";
}

Result<ComputeConnection::Rows> ComputeConnection::query(const char* text) {
  PGresult* result = PQexec(connection_, text);
  if (PQresultStatus(result) != PGRES_TUPLES_OK) {
    Status status(ErrorCode::connection_failure, without_line_end(PQerrorMessage(connection_)));
    PQclear(result);
    return status;
  }
  Rows rows;
  for (int row = 0; row < PQntuples(result); ++row) {
    auto& values = rows.emplace_back();
    for (int column = 0; column < PQnfields(result); ++column) {
      if (PQgetisnull(result, row, column) != 0) {
        values.emplace_back();
      } else {
        values.emplace_back(PQgetvalue(result, row, column));
      }
    }
  }
  PQclear(result);
  return rows;
}

}  // namespace namdb::namctl
