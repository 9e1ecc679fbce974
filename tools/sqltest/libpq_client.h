// Asks a server through libpq: corpus files, and the steps of isolation specs.
#pragma once

#include <memory>
#include <string>

#include "tools/sqltest/corpus.h"
#include "tools/sqltest/isolation_runner.h"

struct pg_conn;
struct pg_result;

namespace namdb::sqltest {

// `connection` as libpq takes it: "host=... port=... dbname=...". Null when it cannot connect; `why` says
// why.
std::unique_ptr<Client> connect_libpq(const std::string& connection, std::string& why);

// The same for a client whose answers are awaited apart from the question.
std::unique_ptr<StepClient> connect_step_client(const std::string& connection, std::string& why);

// A result as an outcome. Takes the result.
Outcome outcome_of_result(pg_conn* connection, pg_result* result);

}  // namespace namdb::sqltest
