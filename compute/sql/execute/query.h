// A running SELECT, as the statement around it sees it: the client's, or one that has it as a subquery.
#pragma once

#include <cstdint>

#include "common/base/error.h"
#include "common/reactor/task.h"

namespace namdb::sql {

struct Run;

// Rows that a statement takes at once of a query within it.
inline constexpr std::uint64_t kPortionRows = 256;

class Query {
 public:
  virtual ~Query() = default;
  // Gives at most `max_rows` rows to the run's sink; 0: all. After an error the query is not used again. All
  // calls are with the same transaction, and the query ends before it does.
  virtual reactor::Task<Status> fetch(Run& run, std::uint64_t max_rows) = 0;
  // Whether no row is left. That is known for certain only after a fetch() that gave fewer rows than it was
  // allowed to.
  virtual bool done() const = 0;
};

}  // namespace namdb::sql
