#include "tools/namsql/statement_help.h"

#include <algorithm>
#include <catch2/catch.hpp>

namespace namdb::namsql::statement_help_test {

TEST_CASE("help is found by the whole name, or by its beginning", "[help]") {
  CHECK(statement_help("insert ;").starts_with("INSERT: "));
  const std::string create = statement_help("create");
  CHECK(create.find("CREATE INDEX: ") != std::string::npos);
  CHECK(create.find("CREATE TABLE: ") != std::string::npos);
  // ROLLBACK is a name itself.
  CHECK(statement_help("rollback").find("ROLLBACK TO") == std::string::npos);
  CHECK(statement_help("nonsense").empty());
}

TEST_CASE("the list has every statement, in order", "[help]") {
  const std::string list = statement_help("");
  for (const StatementHelp& statement : statement_list()) {
    CHECK(list.find(std::string(statement.name)) != std::string::npos);
    CHECK(statement.example.ends_with(';'));
  }
  CHECK(std::is_sorted(statement_list().begin(), statement_list().end(),
                       [](const StatementHelp& a, const StatementHelp& b) { return a.name < b.name; }));
}

}  // namespace namdb::namsql::statement_help_test
