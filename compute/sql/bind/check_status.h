// Binders, and compilers of routines, pass errors on by these two macros, since nearly each of their lines
// may fail. All other code of compute/ writes it out: `if (!status.ok()) return status;`, in the statement of
// the call or behind it.
#pragma once

#include "common/base/error.h"

#define NAMDB_SQL_CONCAT_INNER(a, b) a##b
#define NAMDB_SQL_CONCAT(a, b) NAMDB_SQL_CONCAT_INNER(a, b)

#define NAMDB_SQL_CHECK(expression)                                                           \
  do {                                                                                        \
    if (::namdb::Status namdb_status = (expression); !namdb_status.ok()) return namdb_status; \
  } while (false)

// NAMDB_SQL_ASSIGN(auto name, expression that gives a Result);
#define NAMDB_SQL_ASSIGN(target, expression) \
  NAMDB_SQL_ASSIGN_INNER(NAMDB_SQL_CONCAT(namdb_result_, __LINE__), target, expression)
#define NAMDB_SQL_ASSIGN_INNER(result, target, expression) \
  auto result = (expression);                              \
  if (!result.ok()) return result.status();                \
  target = std::move(result).value()
