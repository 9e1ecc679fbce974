// A libpq connection to a compute server, with errors as Status.
#pragma once

#include <libpq-fe.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "tools/support/client/database_view.h"

namespace namdb::support {

struct Endpoint {
  std::string host = "127.0.0.1";
  std::uint16_t port = 5433;
  std::string user = "namdb";
  std::string database = "namdb";
};

struct ResultDeleter {
  void operator()(PGresult* result) const { PQclear(result); }
};
using ResultHandle = std::unique_ptr<PGresult, ResultDeleter>;

// The error of a failed result or a broken connection.
struct ServerError {
  std::string sqlstate;  // "08006" when the connection broke
  std::string message;
};
ServerError server_error(PGconn* connection, const PGresult* result);

class Connection : public DatabaseView {
 public:
  static Result<std::unique_ptr<Connection>> open(const Endpoint& endpoint);

  PGconn* get() const { return connection_.get(); }
  // Blocking; any number of rows. Code: the one with the server's SQLSTATE, or `internal`.
  Status execute(const std::string& sql);
  Result<std::vector<std::vector<std::string>>> query(const std::string& sql);
  // One number, of one row.
  Result<std::int64_t> query_number(const std::string& sql);
  Status prepare(const std::string& name, const std::string& sql, const std::vector<unsigned>& types);

  Result<std::int64_t> count(const std::string& table) override;
  Result<std::int64_t> sum(const std::string& table, const layout::Column& column) override;
  Result<bool> partitioned(const std::string& table) override;
  Result<std::uint32_t> memory_servers() override;
  Status scan(std::span<const workloads::TableLoad> tables, const std::function<void()>& restart,
              const TakeRow& take) override;

 private:
  Status scan_table(std::size_t position, const workloads::TableLoad& table, const TakeRow& take);
  struct Finish {
    void operator()(PGconn* connection) const { PQfinish(connection); }
  };
  explicit Connection(PGconn* connection) : connection_(connection) {}
  Status status_of(const PGresult* result) const;
  std::unique_ptr<PGconn, Finish> connection_;
};

// The first row of the error table with that SQLSTATE.
ErrorCode code_of_sqlstate(std::string_view sqlstate);

}  // namespace namdb::support
