// Asks two servers the same, through libpq.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

struct pg_conn;

namespace namdb::sqltest {

// A server's whole answer to a statement.
struct Answer {
  std::vector<std::string> names;
  std::vector<std::uint32_t> types;  // oid
  std::vector<int> modifiers;
  std::vector<std::vector<std::optional<std::string>>> rows;  // binary ones as hexadecimal digits
  std::string tag;
  std::string sqlstate;  // empty: no error
  std::string message;
  bool lost = false;  // the connection is

  bool failed() const { return !sqlstate.empty(); }
};

class Connection {
 public:
  // Null: it cannot connect; `why` says why.
  static std::unique_ptr<Connection> open(const std::string& where, std::string& why);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // By the simple protocol, or by the extended one with results in binary form, or with parameters.
  void send(const std::string& sql, bool binary, const std::vector<std::string>& parameters = {});
  // The answer; of several statements that of the last one.
  Answer receive();
  Answer ask(const std::string& sql);
  // The columns that the statement would give, as the extended protocol's Describe says it; no rows.
  Answer describe(const std::string& sql);
  bool in_block() const;

 private:
  explicit Connection(pg_conn* connection) : connection_(connection) {}
  pg_conn* connection_;
};

}  // namespace namdb::sqltest
