#include "tools/sqltest/isolation_spec.h"

#include <catch2/catch.hpp>

namespace namdb::sqltest {
namespace {

using Orders = std::vector<std::vector<std::size_t>>;

const std::string kSessions =
    "# Two sessions.\n"
    "session one\n"
    "  setup: BEGIN\n"
    "  r1: SELECT v\n"
    "        FROM t\n"
    "  c1: COMMIT\n"
    "session two on 2\n"
    "  w2: UPDATE t SET v = 1\n";

std::string why_refused(const std::string& text) {
  const auto spec = parse_isolation_spec(text);
  return spec.ok() ? "" : spec.status().message();
}

std::vector<std::string> names(const IsolationSpec& spec) {
  std::vector<std::string> result;
  for (const Permutation& permutation : spec.permutations) result.push_back(spec.name_of(permutation));
  return result;
}

}  // namespace

TEST_CASE("a spec gives its parts", "[sqltest]") {
  const auto spec = parse_isolation_spec(
      "# What it shows.\n"
      "setup\n  CREATE TABLE t\n    (v int);\n  INSERT INTO t VALUES (1);\n"
      "everywhere\n  SELECT 1 FROM t;\n"
      "teardown\n  DROP TABLE t;\n"
      "check\n  SELECT *\n  FROM t\n\n"
      "session one\n  setup: BEGIN\n  teardown: ROLLBACK\n  r1: SELECT v\n    FROM t\n  c1: COMMIT\n"
      "# a comment\n"
      "session two on 2\n  w2:\n    UPDATE t SET v = 1\n\n"
      "permutation r1 w2 c1\n  r1: 1\n  w2: UPDATE 1\n\n"
      "permutation w2& r1 c1 w2\n");
  REQUIRE(spec.ok());
  CHECK(spec->setup == std::vector<std::string>{"CREATE TABLE t\n(v int);", "INSERT INTO t VALUES (1);"});
  CHECK(spec->everywhere == std::vector<std::string>{"SELECT 1 FROM t;"});
  CHECK(spec->teardown == std::vector<std::string>{"DROP TABLE t;"});
  CHECK(spec->check == "SELECT *\nFROM t");
  REQUIRE(spec->sessions.size() == 2);
  CHECK(spec->sessions[0].setup == "BEGIN");
  CHECK(spec->sessions[0].teardown == "ROLLBACK");
  CHECK_FALSE(spec->sessions[0].server.has_value());
  CHECK(spec->sessions[1].server == 1);
  REQUIRE(spec->steps.size() == 3);
  CHECK(spec->steps[0].sql == "SELECT v\nFROM t");
  CHECK(spec->steps[2].sql == "UPDATE t SET v = 1");
  CHECK(spec->steps[2].session == 1);
  CHECK_FALSE(spec->generated);
  CHECK(names(*spec) == std::vector<std::string>{"r1 w2 c1", "w2& r1 c1 w2"});
  const Permutation& first = spec->permutations[0];
  CHECK(first.line == 25);
  CHECK(first.expected == std::vector<std::string>{"r1: 1", "w2: UPDATE 1"});
  CHECK(first.expected_end == 28);
  const Permutation& second = spec->permutations[1];
  CHECK(second.steps[0].mode == StepMode::send);
  CHECK(second.steps[1].mode == StepMode::run);
  CHECK(second.steps[3].mode == StepMode::collect);
  CHECK(second.expected_end == second.line + 1);
}

TEST_CASE("a spec with a mistake is refused with its line", "[sqltest]") {
  CHECK(why_refused("").find("sessions") != std::string::npos);
  CHECK(why_refused("session one\n  a: SELECT 1\n").find("line 1: a spec opens with") == 0);
  CHECK(why_refused("# x\nnonsense\n").find("line 2: unknown directive") == 0);
  CHECK(why_refused("# x\n  SELECT 1\n").find("line 2: an indented line") == 0);
  CHECK(why_refused("# x\nsetup\n  SELECT 1\nsession one\n").find("line 3: a statement that does not end") ==
        0);
  CHECK(why_refused("# x\nsession\n").find("line 2: a session has a name") == 0);
  CHECK(why_refused("# x\nsession one on zero\n").find("line 2: a session is") == 0);
  CHECK(why_refused("# x\nsession one on 0\n").find("line 2: a session is") == 0);
  CHECK(why_refused("# x\nsession one\n  SELECT 1\n").find("line 3: a step begins") == 0);
  CHECK(why_refused("# x\nsession one\n  a:\n  b: SELECT 1\n").find("line 3: a step without") == 0);
  CHECK(why_refused("# x\nsession one\n  a:\n").find("line 3: the step a has no") == 0);
  CHECK(why_refused("# x\nsession one\nsession two\n  a: SELECT 1\n").find("the session one has no steps") !=
        std::string::npos);
  CHECK(why_refused(kSessions + "  w2: SELECT 1\n").find("line 9: two steps are called w2") == 0);
  CHECK(why_refused(kSessions + "session one\n").find("line 9: two sessions are called one") == 0);
  CHECK(why_refused(kSessions + "setup\n").find("line 9: setup comes before") == 0);
  CHECK(why_refused(kSessions + "permutation\n").find("line 9: a permutation without") == 0);
  CHECK(why_refused(kSessions + "permutation r1 r9\n").find("line 9: there is no step r9") == 0);
  CHECK(why_refused(kSessions + "permutation r1& w2\n").find("line 9: r1 is sent, and its answer never") ==
        0);
  CHECK(why_refused(kSessions + "permutation r1& c1 r1\n").find("line 9: c1: its session still waits") == 0);
  CHECK(why_refused(kSessions + "permutation r1& r1& r1\n").find("line 9: r1 is sent twice") == 0);
  CHECK(why_refused(kSessions + "permutation r1\nsession three\n").find("line 10: permutations come last") ==
        0);
}

TEST_CASE("without permutations every order is run that keeps each session's steps in theirs", "[sqltest]") {
  const auto spec = parse_isolation_spec(kSessions);
  REQUIRE(spec.ok());
  CHECK(spec->generated);
  CHECK(names(*spec) == std::vector<std::string>{"r1 c1 w2", "r1 w2 c1", "w2 r1 c1"});
}

TEST_CASE("interleavings are complete, distinct and bounded", "[sqltest]") {
  CHECK(*interleavings({1, 1}, 10) == Orders{{0, 1}, {1, 0}});
  CHECK(*interleavings({2}, 10) == Orders{{0, 0}});
  auto orders = *interleavings({2, 3, 2}, 210);
  CHECK(orders.size() == 210);
  CHECK(std::ranges::is_sorted(orders));
  CHECK(std::ranges::adjacent_find(orders) == orders.end());
  CHECK(interleavings({2, 3, 2}, 209).status().code() == ErrorCode::limit_exceeded);
  std::string many = "# x\n";
  for (const char session : {'a', 'b', 'c'}) {
    many += std::string("session ") + session + "\n";
    for (const char step : {'1', '2', '3', '4'}) many += std::string("  ") + session + step + ": SELECT 1\n";
  }
  CHECK(why_refused(many).find("more than 1000 permutations") != std::string::npos);
}

TEST_CASE("a file of expected answers belongs to the generated permutations", "[sqltest]") {
  auto spec = parse_isolation_spec(kSessions);
  REQUIRE(spec.ok());
  REQUIRE(
      read_expected("permutation r1 w2 c1\n  r1: 1\n  w2: UPDATE 1\n\npermutation r1 c1 w2\n  r1: 2\n", *spec)
          .ok());
  CHECK(spec->permutations[0].expected == std::vector<std::string>{"r1: 2"});
  CHECK(spec->permutations[1].expected == std::vector<std::string>{"r1: 1", "w2: UPDATE 1"});
  CHECK(spec->permutations[2].expected.empty());
  CHECK(read_expected("\npermutation r1\n", *spec).message().find("line 2") == 0);
  CHECK(read_expected("  r1: 1\n", *spec).message().find("line 1") == 0);
}

}  // namespace namdb::sqltest
