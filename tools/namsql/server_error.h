// Errors and notices of the server, as a person reads them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace namdb::namsql {

// The fields of an error or a notice of PostgreSQL's protocol; absent ones are empty.
struct ServerError {
  std::string severity;
  std::string sqlstate;
  std::string message;
  std::string detail;
  std::string hint;
  std::size_t position = 0;  // in characters from 1 in the statement; 0: none
};

// Lines, each with its line end:
//   ERROR:  42703: column "cod" does not exist
//   LINE 1: SELECT cod FROM t
//                  ^
// Of a long line there is a part around the mark. `statement` is the one that was sent.
std::string error_text(const ServerError& error, std::string_view statement);

// The lines of a statement that point at a position, as above; empty where there is no such position.
std::string position_text(std::string_view statement, std::size_t position);

}  // namespace namdb::namsql
