#include "tools/support/client/connection.h"

#include "tools/support/client/wire_value.h"

namespace namdb::support {
namespace {

std::string first_line(const char* text) {
  std::string line = text == nullptr ? "" : text;
  line.resize(std::min(line.find('\n'), line.size()));
  return line;
}

}  // namespace

ErrorCode code_of_sqlstate(std::string_view sqlstate) {
  for (const ErrorInfo& info : error_table()) {
    if (info.sqlstate == sqlstate) return info.code;
  }
  return ErrorCode::internal;
}

ServerError server_error(PGconn* connection, const PGresult* result) {
  const char* sqlstate = result == nullptr ? nullptr : PQresultErrorField(result, PG_DIAG_SQLSTATE);
  if (sqlstate != nullptr) {
    return {sqlstate, first_line(PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY))};
  }
  return {"08006", first_line(PQerrorMessage(connection))};
}

Result<std::unique_ptr<Connection>> Connection::open(const Endpoint& endpoint) {
  const std::string port = std::to_string(endpoint.port);
  const char* keywords[] = {"host",    "port",       "user", "dbname", "connect_timeout", "application_name",
                            "sslmode", "gssencmode", nullptr};
  const char* values[] = {endpoint.host.c_str(),
                          port.c_str(),
                          endpoint.user.c_str(),
                          endpoint.database.c_str(),
                          "10",
                          "nambench",
                          "disable",
                          "disable",
                          nullptr};
  std::unique_ptr<Connection> connection(new Connection(PQconnectdbParams(keywords, values, 0)));
  if (PQstatus(connection->get()) != CONNECTION_OK) {
    return Status(ErrorCode::connection_failure, first_line(PQerrorMessage(connection->get())),
                  "start a cluster with: namctl dev up");
  }
  PQsetNoticeProcessor(connection->get(), [](void*, const char*) {}, nullptr);
  return connection;
}

Status Connection::status_of(const PGresult* result) const {
  switch (PQresultStatus(result)) {
    case PGRES_COMMAND_OK:
    case PGRES_TUPLES_OK:
    case PGRES_EMPTY_QUERY:
      return {};
    default: {
      ServerError error = server_error(get(), result);
      return Status(code_of_sqlstate(error.sqlstate), error.message + " (SQLSTATE " + error.sqlstate + ")");
    }
  }
}

Status Connection::execute(const std::string& sql) {
  const ResultHandle result(PQexec(get(), sql.c_str()));
  return status_of(result.get());
}

Result<std::vector<std::vector<std::string>>> Connection::query(const std::string& sql) {
  const ResultHandle result(PQexec(get(), sql.c_str()));
  if (Status status = status_of(result.get()); !status.ok()) return status;
  std::vector<std::vector<std::string>> rows(static_cast<std::size_t>(PQntuples(result.get())));
  for (std::size_t row = 0; row < rows.size(); ++row) {
    for (int column = 0; column < PQnfields(result.get()); ++column) {
      rows[row].emplace_back(PQgetvalue(result.get(), static_cast<int>(row), column));
    }
  }
  return rows;
}

Status Connection::prepare(const std::string& name, const std::string& sql,
                           const std::vector<unsigned>& types) {
  const ResultHandle result(
      PQprepare(get(), name.c_str(), sql.c_str(), static_cast<int>(types.size()), types.data()));
  return status_of(result.get());
}

Result<std::int64_t> Connection::count(const std::string& table) {
  return sum(table, {});
}

Result<std::int64_t> Connection::sum(const std::string& table, const layout::Column& column) {
  const std::string expression = column.name.empty() ? "count(*)" : "sum(" + column.name + ")";
  const std::string sql = "SELECT " + expression + " FROM " + table;
  auto rows = query(sql);
  if (!rows.ok()) return rows.status();
  if (rows->size() == 1 && rows->front().size() == 1) {
    if (const auto value = parse_numeric(rows->front().front(), column.scale)) return *value;
    if (rows->front().front().empty()) return 0;  // the sum of no rows is NULL
  }
  return Status(ErrorCode::internal, "no number in the answer to: " + sql);
}

Result<std::int64_t> Connection::query_number(const std::string& sql) {
  const auto rows = query(sql);
  if (!rows.ok()) return rows.status();
  if (rows->size() == 1 && rows->front().size() == 1) {
    if (const auto value = parse_numeric(rows->front().front(), 0)) return *value;
  }
  return Status(ErrorCode::internal, "no number in the answer to: " + sql);
}

Result<bool> Connection::partitioned(const std::string& table) {
  const auto count = query_number("SELECT count(*) FROM namdb_tables WHERE table_name = '" + table +
                                  "' AND partition_columns IS NOT NULL");
  if (!count.ok()) return count.status();
  return *count > 0;
}

Result<std::uint32_t> Connection::memory_servers() {
  const auto last = query_number("SELECT max(memory_server) FROM namdb_fabric");
  if (!last.ok()) return last.status();
  return static_cast<std::uint32_t>(*last + 1);
}

Status Connection::scan(std::span<const workloads::TableLoad> tables, const std::function<void()>& restart,
                        const TakeRow& take) {
  constexpr int kMaxAttempts = 5;
  Status status;
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    restart();
    status = execute("BEGIN ISOLATION LEVEL REPEATABLE READ");
    for (std::size_t i = 0; i < tables.size() && status.ok(); ++i) status = scan_table(i, tables[i], take);
    if (const Status ended = execute("ROLLBACK"); status.ok()) status = ended;
    if (status.ok() || status.code() != ErrorCode::serialization_failure) break;
  }
  return status;
}

// Row by row as they come, not all in memory.
Status Connection::scan_table(std::size_t position, const workloads::TableLoad& table, const TakeRow& take) {
  std::string columns;
  for (const layout::Column& column : table.spec.columns)
    columns += (columns.empty() ? "" : ", ") + column.name;
  const std::string sql = "SELECT " + columns + " FROM " + table.spec.name;
  if (PQsendQuery(get(), sql.c_str()) != 1 || PQsetSingleRowMode(get()) != 1) return status_of(nullptr);
  Status status;
  layout::Row row(table.schema);
  while (const ResultHandle result{PQgetResult(get())}) {
    if (PQresultStatus(result.get()) != PGRES_SINGLE_TUPLE) {
      if (status.ok()) status = status_of(result.get());
      continue;
    }
    for (std::uint32_t column = 0; column < table.spec.columns.size() && status.ok(); ++column) {
      const int field = static_cast<int>(column);
      if (PQgetisnull(result.get(), 0, field) != 0) {
        row.writer().set_null(column);
      } else {
        status = set_from_text(row.writer(), column, table.spec.columns[column],
                               {PQgetvalue(result.get(), 0, field),
                                static_cast<std::size_t>(PQgetlength(result.get(), 0, field))});
      }
    }
    if (status.ok()) take(position, row.view());
  }
  return status;
}

}  // namespace namdb::support
