#include "tools/namsql/connection.h"

#include <cstdlib>
#include <utility>

#include "tools/namsql/interrupts.h"
#include "tools/namsql/output.h"
#include "tools/namsql/text.h"

namespace namdb::namsql {
namespace {

// Numbers of types in PostgreSQL's catalog.
enum : Oid {
  kBool = 16,
  kInt8 = 20,
  kInt2 = 21,
  kInt4 = 23,
  kOid = 26,
  kJson = 114,
  kFloat4 = 700,
  kFloat8 = 701,
  kNumeric = 1700,
  kJsonb = 3802,
};

ValueKind kind_of(Oid type) {
  switch (type) {
    case kBool:
      return ValueKind::boolean;
    case kInt8:
    case kInt2:
    case kInt4:
    case kOid:
    case kFloat4:
    case kFloat8:
    case kNumeric:
      return ValueKind::number;
    case kJson:
    case kJsonb:
      return ValueKind::json;
    default:
      return ValueKind::text;
  }
}

bool in_environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

bool is_connection_string(std::string_view database) {
  return database.find('=') != std::string_view::npos || database.starts_with("postgresql://") ||
         database.starts_with("postgres://");
}

class Parameters {
 public:
  explicit Parameters(const Address& address) {
    const bool by_string = is_connection_string(address.database);
    if (by_string) read(address.database);
    const bool by_service = in_environment("PGSERVICE") || has_service_;
    // Those that come first give way to those of the string, and these to flags.
    if (!by_service && !has_host_ && address.host.empty() && !in_environment("PGHOST") &&
        !in_environment("PGHOSTADDR"))
      add("host", "127.0.0.1");
    if (!by_service && !has_port_ && address.port.empty() && !in_environment("PGPORT")) add("port", "5433");
    if (!address.database.empty()) add("dbname", address.database);
    if (!by_service && !in_environment("PGDATABASE") &&
        (by_string ? !has_database_ : address.database.empty()))
      add("dbname", "namdb");
    if (!address.host.empty()) add("host", address.host);
    if (!address.port.empty()) add("port", address.port);
    if (!address.user.empty()) add("user", address.user);
    add("client_encoding", "UTF8");
    add("fallback_application_name", "namsql");
  }

  PGconn* connect() const {
    std::vector<const char*> names;
    std::vector<const char*> values;
    for (const auto& [name, value] : entries_) {
      names.push_back(name);
      values.push_back(value.c_str());
    }
    names.push_back(nullptr);
    values.push_back(nullptr);
    return PQconnectdbParams(names.data(), values.data(), 1);
  }

 private:
  void add(const char* name, std::string value) { entries_.emplace_back(name, std::move(value)); }

  void read(const std::string& text) {
    // A malformed one is refused by the attempt to connect.
    PQconninfoOption* options = PQconninfoParse(text.c_str(), nullptr);
    for (PQconninfoOption* option = options; option != nullptr && option->keyword != nullptr; ++option) {
      if (option->val == nullptr) continue;
      const std::string_view name = option->keyword;
      has_host_ |= name == "host" || name == "hostaddr";
      has_port_ |= name == "port";
      has_database_ |= name == "dbname";
      has_service_ |= name == "service";
    }
    PQconninfoFree(options);
  }

  std::vector<std::pair<const char*, std::string>> entries_;
  bool has_host_ = false;
  bool has_port_ = false;
  bool has_database_ = false;
  bool has_service_ = false;
};

void show_notice(void*, const PGresult* answer) {
  complain(error_text(server_error(answer), {}));
}

std::string field(const PGresult* answer, int code) {
  const char* value = PQresultErrorField(answer, code);
  return value != nullptr ? value : "";
}

}  // namespace

ServerError server_error(const PGresult* answer) {
  ServerError error;
  error.severity = field(answer, PG_DIAG_SEVERITY);
  error.sqlstate = field(answer, PG_DIAG_SQLSTATE);
  error.message = field(answer, PG_DIAG_MESSAGE_PRIMARY);
  error.detail = field(answer, PG_DIAG_MESSAGE_DETAIL);
  error.hint = field(answer, PG_DIAG_MESSAGE_HINT);
  error.position =
      static_cast<std::size_t>(std::strtoul(field(answer, PG_DIAG_STATEMENT_POSITION).c_str(), nullptr, 10));
  // Errors of libpq itself have no fields.
  if (error.message.empty()) error.message = trimmed(PQresultErrorMessage(answer));
  return error;
}

std::vector<Column> columns_of(const PGresult* answer) {
  std::vector<Column> columns;
  for (int i = 0; i < PQnfields(answer); ++i)
    columns.push_back({PQfname(answer, i), kind_of(PQftype(answer, i))});
  return columns;
}

ResultTable table_of(const PGresult* answer) {
  ResultTable table;
  table.columns = columns_of(answer);
  for (int row = 0; row < PQntuples(answer); ++row) {
    auto& cells = table.rows.emplace_back();
    for (int column = 0; column < PQnfields(answer); ++column) {
      Cell& cell = cells.emplace_back();
      if (PQgetisnull(answer, row, column) == 0)
        cell.emplace(PQgetvalue(answer, row, column),
                     static_cast<std::size_t>(PQgetlength(answer, row, column)));
    }
  }
  return table;
}

Connection::Connection(PGconn* connection) : connection_(connection) {
  prepare();
}

void Connection::prepare() {
  PQsetNoticeReceiver(get(), show_notice, nullptr);
}

Result<std::unique_ptr<Connection>> Connection::open(const Address& address) {
  std::unique_ptr<Connection> connection(new Connection(Parameters(address).connect()));
  if (!connection->lives()) return Status(ErrorCode::connection_failure, connection->error_message());
  return connection;
}

bool Connection::in_block() const {
  const PGTransactionStatusType status = PQtransactionStatus(get());
  return status == PQTRANS_INTRANS || status == PQTRANS_INERROR;
}

Address Connection::address() const {
  const auto text = [](const char* value) { return std::string(value != nullptr ? value : ""); };
  return {text(PQdb(get())), text(PQhost(get())), text(PQport(get())), text(PQuser(get()))};
}

bool Connection::reconnect() {
  PQreset(get());
  prepare();
  return lives();
}

std::string Connection::error_message() const {
  return std::string(trimmed(PQerrorMessage(get())));
}

bool Connection::send(const std::string& statement, Rows rows) {
  if (PQsendQuery(get(), statement.c_str()) == 0) return false;
  if (rows == Rows::one_by_one) PQsetSingleRowMode(get());
  return true;
}

void Connection::cancel() {
  interrupted_ = true;
  PGcancel* request = PQgetCancel(get());
  if (request == nullptr) return;
  char reason[256];
  if (PQcancel(request, reason, sizeof reason) == 0)
    complain(concat("The request to cancel could not be sent: ", trimmed(reason), "\n"));
  PQfreeCancel(request);
}

ResultHandle Connection::next() {
  while (PQisBusy(get()) != 0) {
    if (Interrupts::wait(PQsocket(get()), Interrupts::Ready::read, -1) == Interrupts::Wake::interrupted) {
      cancel();
    } else if (PQconsumeInput(get()) == 0) {
      break;  // the connection is lost: PQgetResult says so
    }
  }
  return ResultHandle(PQgetResult(get()));
}

std::optional<std::string> Connection::take_copy_data() {
  for (;;) {
    char* buffer = nullptr;
    const int length = PQgetCopyData(get(), &buffer, 1);
    if (length > 0) {
      std::string data(buffer, static_cast<std::size_t>(length));
      PQfreemem(buffer);
      return data;
    }
    if (length < 0) return std::nullopt;
    if (Interrupts::wait(PQsocket(get()), Interrupts::Ready::read, -1) == Interrupts::Wake::interrupted) {
      cancel();
    } else if (PQconsumeInput(get()) == 0) {
      return std::nullopt;
    }
  }
}

bool Connection::flush() {
  for (;;) {
    const int left = PQflush(get());
    if (left <= 0) return left == 0;
    const auto wake = Interrupts::wait(PQsocket(get()), Interrupts::Ready::read_or_write, -1);
    if (wake == Interrupts::Wake::interrupted) {
      interrupted_ = true;
      return false;
    }
    if (PQconsumeInput(get()) == 0) return false;
  }
}

bool Connection::put_copy_data(std::string_view data) {
  if (Interrupts::take()) interrupted_ = true;
  if (interrupted_) return false;
  PQsetnonblocking(get(), 1);
  const bool put = PQputCopyData(get(), data.data(), static_cast<int>(data.size())) == 1 && flush();
  PQsetnonblocking(get(), 0);
  return put;
}

bool Connection::end_copy(const std::optional<std::string>& reason_to_fail) {
  return PQputCopyEnd(get(), reason_to_fail ? reason_to_fail->c_str() : nullptr) == 1;
}

std::optional<ResultTable> Connection::ask(const std::string& statement) {
  if (!send(statement, Rows::together)) {
    last_error_ = error_message();
    return std::nullopt;
  }
  std::optional<ResultTable> table;
  while (const ResultHandle answer = next()) {
    if (PQresultStatus(answer.get()) == PGRES_TUPLES_OK) {
      table = table_of(answer.get());
    } else {
      last_error_ = trimmed(error_text(server_error(answer.get()), statement));
    }
    if (!lives()) return std::nullopt;
  }
  return table;
}

}  // namespace namdb::namsql
