// SQL tests in text files: statements and what they answer. A file is one database that starts empty.
//
//   # a comment
//   @two                              the connection that runs what follows; the first one is @one
//   SELECT a, b FROM t WHERE a = 1    a statement, over any number of lines
//   ----                              its rows, one a line, columns separated by |; "" is a row of one empty
//                                     string
//   1|NULL
//                                     an empty line ends them
//   INSERT INTO t VALUES (1)
//   ---- error 23505 duplicate key    SQLSTATE, and a part of the message
//   DELETE FROM t
//   ---- ok DELETE 3                  the command tag
//   SELECT 1 AS x
//   ---- names                        like rows, the first line has the columns' names
//   x
//   1
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"

namespace namdb::sqltest {

// A server's answer to one simple query.
struct Outcome {
  std::vector<std::string> names;
  std::vector<std::vector<std::optional<std::string>>> rows;
  std::string tag;
  std::string sqlstate;  // empty: no error
  std::string message;
};

class Client {
 public:
  virtual ~Client() = default;
  virtual Outcome run(const std::string& sql) = 0;
};
using OpenClient = std::function<std::unique_ptr<Client>()>;

enum class Expectation { rows, names_and_rows, error, tag };

struct Case {
  std::size_t line = 0;  // of its first line, from 1
  std::string connection;
  std::string sql;
  Expectation expectation = Expectation::rows;
  std::string expected;  // tag; or SQLSTATE
  std::string message;   // a part of the error's message
  std::vector<std::string> lines;
};

// Error configuration, with the line.
Result<std::vector<Case>> parse_corpus(std::string_view text);

// One text for each case that was answered otherwise; empty when all were answered as expected.
std::vector<std::string> run_corpus(const std::vector<Case>& cases, const OpenClient& open);

}  // namespace namdb::sqltest
