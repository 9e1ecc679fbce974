// Asks a server as psql does: simple queries, with the data of COPY in both directions, and a limit of time.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tools/sqltest/corpus.h"

namespace namdb::sqltest {

struct RegressAnswer {
  std::vector<Outcome> outcomes;  // one a statement; the rows of COPY TO STDOUT are lines
  bool late = false;              // no answer in time: it was canceled
  // The SQLSTATE of the first statement that failed, or empty.
  std::string sqlstate() const;
};

class RegressClient {
 public:
  virtual ~RegressClient() = default;
  // `data` is called when the server asks for the data of COPY FROM STDIN.
  virtual RegressAnswer run(const std::string& sql, const std::function<std::string()>& data) = 0;
  RegressAnswer run(const std::string& sql);
  virtual bool in_block() const = 0;      // a transaction block that goes on
  virtual bool block_failed() const = 0;  // one that waits for ROLLBACK
  virtual bool lost() const = 0;          // the connection
};

// Null when it cannot connect; `why` says why.
std::unique_ptr<RegressClient> connect_regress_client(const std::string& connection,
                                                      std::chrono::milliseconds patience, std::string& why);

}  // namespace namdb::sqltest
