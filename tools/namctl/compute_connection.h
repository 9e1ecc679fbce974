// A compute server's SQL port as a tool uses it. Blocks the calling thread.
#pragma once

#include <libpq-fe.h>

#include <optional>
#include <string>
#include <vector>

#include "common/base/error.h"

namespace namdb::namctl {

class ComputeConnection {
 public:
  using Rows = std::vector<std::vector<std::optional<std::string>>>;

  // `address` is HOST:PORT. error() says why there is no connection.
  explicit ComputeConnection(const std::string& address);
  ComputeConnection(const ComputeConnection&) = delete;
  ComputeConnection& operator=(const ComputeConnection&) = delete;
  ~ComputeConnection();

  const std::string& error() const { return error_; }
  std::string server_version() const;
  // Needs a connection. Errors are the server's, as connection_failure.
  Result<Rows> query(const char* text);

 private:
  PGconn* connection_ = nullptr;
  std::string error_;
};

}  // namespace namdb::namctl
