// `sqltest --postgresql-regress`: runs PostgreSQL's own regression scripts against namdb and PostgreSQL side
// by side.
#pragma once

#include <string>
#include <vector>

#include "tools/sqltest/regress/regress_file.h"

namespace namdb::sqltest {

struct RegressCommand {
  RegressServers servers;
  std::vector<std::string>
      names;  // of scripts, without .sql; none: those of the folder's parallel_schedule, in its order
  std::string passes;    // a file with the statements that must be answered alike; empty: none
  bool accept = false;   // writes the list anew, for the scripts that were run
  std::string refusals;  // a file for what was refused; empty: none
};

// Prints a line for each file and one for all; differences go to standard error. The exit code: 0, 1 when a
// statement of the list is no longer answered alike or a server went away, 2 for a folder without scripts or
// a malformed list, 3 no connection.
int run_regress(const RegressCommand& command);

}  // namespace namdb::sqltest
