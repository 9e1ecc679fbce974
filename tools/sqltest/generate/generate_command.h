// `sqltest --generate`: asks namdb and PostgreSQL the same generated statements and compares their answers.
#pragma once

#include <cstdint>
#include <string>

namespace namdb::sqltest {

struct GenerateCommand {
  std::uint64_t count = 0;  // statements
  std::uint64_t seed = 1;
  std::string connection;  // as libpq takes it
  std::string reference;   // PostgreSQL
  std::string report;      // a file; empty: standard output
  std::uint64_t only = 0;  // a unit's number, from 1: shows its statements and both answers; 0: all
};

// The exit code: 0 every difference is explained, 1 not, 2 the report cannot be written, 3 no connection.
int run_generated(const GenerateCommand& command);

}  // namespace namdb::sqltest
