// The objects of a session that the system catalog shows: prepared statements and cursors. Belongs to the
// session's worker.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compute/sql/value/types.h"

namespace namdb::sql {

// Times are µs since 2000-01-01, by the clock of now().
struct PreparedObject {
  std::string name;
  std::string statement;
  std::int64_t prepared_us = 0;
  std::vector<Type> parameters;
  bool from_sql = false;  // by PREPARE
  std::uint64_t runs = 0;
};

struct CursorObject {
  std::string name;
  std::string statement;
  bool holds = false;
  bool binary = false;
  bool scrolls = false;
  std::int64_t declared_us = 0;
};

class SessionObjects {
 public:
  virtual ~SessionObjects() = default;
  virtual std::vector<PreparedObject> prepared_statements() const = 0;
  virtual std::vector<CursorObject> cursors() const = 0;
};

}  // namespace namdb::sql
