// Invariants that hold unless the program is wrong. A failed check prints the place and the condition
// and ends the process: continuing would risk committed data. Never for bad input, which gets an Error.
#pragma once

namespace namdb {

[[noreturn]] void check_failed(const char* file, int line, const char* condition);

}  // namespace namdb

#define NAMDB_CHECK(condition)                               \
  do {                                                       \
    if (!(condition)) [[unlikely]]                           \
      ::namdb::check_failed(__FILE__, __LINE__, #condition); \
  } while (false)
