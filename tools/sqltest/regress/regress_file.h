// One file of PostgreSQL's regression scripts on three databases. PostgreSQL runs the whole file in one, and
// says so how it is cut and where data of COPY begin. Then namdb runs it, statement by statement, and beside
// it PostgreSQL in another database, which gets only the statements that namdb did not refuse: so both have
// the same tables, and the answers must be equal.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "tools/sqltest/regress/regress_client.h"

namespace namdb::sqltest {

enum class RegressVerdict {
  same,
  refused,  // 0A000 or a documented limit, where PostgreSQL has an answer
  absent,   // no such function, operator or type, where PostgreSQL has it
  follows,  // fails as PostgreSQL does after what was refused, but not in the whole file
  different,
  skipped,  // EXPLAIN, whose plans are each server's own
};

struct RegressJudgement {
  std::size_t number = 0;  // of the statement in its file, from 1
  std::size_t line = 0;
  std::string sql;
  RegressVerdict verdict = RegressVerdict::same;
  std::string why;  // refused: the message. different: in what
  RegressAnswer ours;
  RegressAnswer theirs;
};

struct RegressServers {
  std::string connection;        // namdb's, as libpq takes it
  std::string reference;         // PostgreSQL's, in words (not as a URI)
  std::filesystem::path folder;  // src/test/regress
  std::chrono::milliseconds patience{60'000};
};

struct RegressFileResult {
  std::vector<RegressJudgement> judgements;
  std::size_t commands = 0;  // backslash commands that were skipped
  std::string failure;       // why it ended early, or empty
};

// NAME.sql, behind what test_setup.sql has for it. Drops all tables, views, sequences and routines of namdb's
// database, before it and after it, and all roles whose names begin with regress, of both servers.
RegressFileResult run_regress_file(const RegressServers& servers, const std::string& name);

// In what they differ, or nothing. Rows count as a set where the statement does not order them.
std::string answers_differ(const std::string& sql, const RegressAnswer& ours, const RegressAnswer& theirs);

}  // namespace namdb::sqltest
