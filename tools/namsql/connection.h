// The connection to a server: libpq, waiting with Ctrl-C at hand. An interrupt while a statement runs asks
// the server to cancel it; the statement then ends with an error like any other.
#pragma once

#include <libpq-fe.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "tools/namsql/result_table.h"
#include "tools/namsql/server_error.h"

namespace namdb::namsql {

// As the command line gives them; empty ones are taken from the environment (PGHOST, ...), and else are
// 127.0.0.1, 5433, the system's user, and namdb.
struct Address {
  std::string database;  // or a connection string, or a URI
  std::string host;
  std::string port;
  std::string user;
};

struct ResultDeleter {
  void operator()(PGresult* result) const { PQclear(result); }
};
using ResultHandle = std::unique_ptr<PGresult, ResultDeleter>;

ServerError server_error(const PGresult* answer);
// The answer's columns and rows, as a table without a title.
std::vector<Column> columns_of(const PGresult* answer);
ResultTable table_of(const PGresult* answer);

class Connection {
 public:
  enum class Rows : std::uint8_t { together, one_by_one };

  // Error: connection_failure, with the reason.
  static Result<std::unique_ptr<Connection>> open(const Address& address);

  PGconn* get() const { return connection_.get(); }
  bool lives() const { return PQstatus(get()) == CONNECTION_OK; }
  bool in_block() const;
  bool block_failed() const { return PQtransactionStatus(get()) == PQTRANS_INERROR; }
  // For another connection to the same server as the same user.
  Address address() const;
  // One attempt to connect anew.
  bool reconnect();

  // A statement: send() and then next() until it gives nothing. It must be called to the end, too, for a
  // statement that has failed.
  bool send(const std::string& statement, Rows rows);
  ResultHandle next();
  // Whether Ctrl-C was noticed since forget_interrupt().
  bool was_interrupted() const { return interrupted_; }
  void forget_interrupt() { interrupted_ = false; }
  std::string error_message() const;

  // Data of COPY, in next()'s state PGRES_COPY_OUT: nothing at the end.
  std::optional<std::string> take_copy_data();
  // In the state PGRES_COPY_IN. False when the connection is lost or an interrupt came.
  bool put_copy_data(std::string_view data);
  // With a reason the server drops what it got.
  bool end_copy(const std::optional<std::string>& reason_to_fail);

  // For the program itself: the rows of a statement. If there are none, last_error() says why.
  std::optional<ResultTable> ask(const std::string& statement);
  const std::string& last_error() const { return last_error_; }

 private:
  struct Finish {
    void operator()(PGconn* connection) const { PQfinish(connection); }
  };
  explicit Connection(PGconn* connection);
  void prepare();
  void cancel();
  bool flush();

  std::unique_ptr<PGconn, Finish> connection_;
  bool interrupted_ = false;
  std::string last_error_;
};

}  // namespace namdb::namsql
