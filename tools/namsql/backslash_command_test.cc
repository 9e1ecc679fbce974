#include "tools/namsql/backslash_command.h"

#include <catch2/catch.hpp>

namespace namdb::namsql::backslash_command_test {
namespace {

using Words = std::vector<std::string>;

CopyRequest copy_of(std::string_view rest) {
  std::string mistake;
  const auto request = parse_copy(rest, mistake);
  INFO(mistake);
  REQUIRE(request);
  return *request;
}

std::string mistake_of(std::string_view rest) {
  std::string mistake;
  CHECK_FALSE(parse_copy(rest, mistake));
  return mistake;
}

}  // namespace

TEST_CASE("a command has a name and words, which quotes keep together", "[command]") {
  CHECK(parse_command("\\d").name == "\\d");
  CHECK(parse_command("\\d t;").arguments == Words{"t"});
  CHECK(parse_command("\\i 'my file.sql' x").arguments == Words{"my file.sql", "x"});
  CHECK(parse_command("\\i 'it''s'").arguments == Words{"it's"});
  CHECK(parse_command("\\d \"Odd lines\"").arguments == Words{"\"Odd lines\""});
  CHECK(parse_command("\\h create  table ;").rest == "create  table ;");
  CHECK(parse_command("\\q;").name == "\\q");
  CHECK(parse_command("\\?").name == "\\?");
}

TEST_CASE("\\copy becomes a statement and a file", "[copy]") {
  const CopyRequest from = copy_of("t (id, v) FROM '/tmp/a b.csv' WITH (FORMAT csv);");
  CHECK(from.direction == CopyRequest::Direction::from_file);
  CHECK(from.statement == "COPY t (id, v) FROM STDIN WITH (FORMAT csv)");
  CHECK(from.file == "/tmp/a b.csv");
  const CopyRequest to = copy_of("(SELECT a FROM b WHERE c = ')') to out.csv CSV HEADER");
  CHECK(to.statement == "COPY (SELECT a FROM b WHERE c = ')') TO STDOUT CSV HEADER");
  CHECK(to.file == "out.csv");
  CHECK(copy_of("\"from\" TO stdout").statement == "COPY \"from\" TO STDOUT");
  CHECK_FALSE(copy_of("t FROM stdin").file);
  CHECK(copy_of("t FROM 'stdin'").file == "stdin");
  CHECK(copy_of("t FROM pstdin").file == "/dev/stdin");
}

TEST_CASE("\\copy says what it lacks", "[copy]") {
  CHECK(mistake_of("t").find("FROM or TO") != std::string::npos);
  CHECK(mistake_of("t FROM").find("a file") != std::string::npos);
  CHECK(mistake_of("(SELECT 1 TO x").find("FROM or TO") != std::string::npos);
  CHECK(mistake_of("t TO PROGRAM 'cat'").find("programs") != std::string::npos);
}

TEST_CASE("patterns become regular expressions", "[command]") {
  CHECK(pattern_expression("Cust*") == "^(cust.*)$");
  CHECK(pattern_expression("\"Odd*\"?") == "^(Odd\\*.)$");
  CHECK(pattern_expression("a.b$") == "^(a\\.b\\$)$");
}

TEST_CASE("each command of the list is in the help", "[command]") {
  const std::string help = command_help();
  for (const CommandHelp& command : command_list())
    CHECK(help.find(std::string(command.name)) != std::string::npos);
}

}  // namespace namdb::namsql::backslash_command_test
