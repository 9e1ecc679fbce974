// Generated statements: the same for the same seed; how they shrink; the differences between answers.
#include <algorithm>
#include <catch2/catch.hpp>

#include "tools/sqltest/generate/judgement.h"
#include "tools/sqltest/generate/rules.h"
#include "tools/sqltest/generate/writes.h"

using namespace namdb::sqltest;
using namdb::Random;

namespace {

std::string statements_of(std::uint64_t seed, int units) {
  Random random(seed);
  Units made(random);
  std::string text;
  for (int i = 0; i < units; ++i) {
    for (const Tree& statement : made.next().statements) text += text_of(statement) + ";\n";
  }
  return text;
}

Answer rows_of(std::vector<std::vector<std::optional<std::string>>> rows) {
  Answer answer;
  answer.names = {"a"};
  answer.types = {23};
  answer.modifiers = {-1};
  answer.rows = std::move(rows);
  return answer;
}

Answer error_of(std::string sqlstate, std::string message) {
  Answer answer;
  answer.sqlstate = std::move(sqlstate);
  answer.message = std::move(message);
  return answer;
}

}  // namespace

TEST_CASE("a seed decides the statements", "[generate]") {
  REQUIRE(statements_of(7, 300) == statements_of(7, 300));
  REQUIRE(statements_of(7, 300) != statements_of(8, 300));
}

TEST_CASE("generated statements are of all sorts", "[generate]") {
  const std::string text = statements_of(1, 4000);
  for (const char* part :
       {"SELECT DISTINCT", "GROUP BY",         "HAVING",   "UNION",       "INTERSECT", "EXCEPT",
        "WITH RECURSIVE",  "LEFT JOIN",        "EXISTS (", "= ANY",       "LIMIT",     "OFFSET",
        "INSERT INTO",     "ON CONFLICT",      "UPDATE",   "DELETE FROM", "RETURNING", "SAVEPOINT",
        "VALUES",          "::numeric(10, 2)", "nowhere"}) {
    INFO(part);
    REQUIRE(text.find(part) != std::string::npos);
  }
}

TEST_CASE("every type has rules and literals, and every hole in a rule is known", "[generate]") {
  Random random(3);
  Expressions expressions(random, [](const std::string& type, const Scope&) { return leaf("NULL", type); });
  for (const std::string& type : all_types()) {
    INFO(type);
    REQUIRE(expression_rules().contains(type));
    for (int i = 0; i < 300; ++i)
      REQUIRE_FALSE(text_of(expressions.expression(type, {}, {3, true, true, false})).empty());
  }
}

TEST_CASE("a tree shrinks to what is wanted of it", "[generate]") {
  Tree inner = sequence("{} / {}", {leaf("x", "int4", "1"), leaf("0", "int4", "1")}, "int4");
  inner.needs_parentheses = true;
  inner.simplest = "1";
  Tree sum = sequence("{} + {}", {std::move(inner), leaf("y", "int4", "1")}, "int4");
  sum.needs_parentheses = true;
  Tree statement =
      sequence("SELECT {}{}", {list_of("", ", ", "", {leaf("a", "text", "'a'"), std::move(sum), leaf("b")}),
                               optional(leaf(" WHERE c"))});
  REQUIRE(text_of(statement) == "SELECT a, ((x / 0) + y), b WHERE c");
  std::size_t asked = 0;
  const Tree small = shrink(
      std::move(statement),
      [&](const Tree& tree) {
        ++asked;
        return text_of(tree).find("/ 0") != std::string::npos;
      },
      100);
  REQUIRE(text_of(small) == "SELECT (1 / 0)");
  REQUIRE(asked < 100);
}

TEST_CASE("shrinking ends when it has asked often enough", "[generate]") {
  std::vector<Tree> items;
  for (int i = 0; i < 50; ++i) items.push_back(leaf(std::to_string(i)));
  std::size_t asked = 0;
  shrink(
      list_of("", ",", "", std::move(items)),
      [&](const Tree&) {
        ++asked;
        return true;
      },
      10);
  REQUIRE(asked == 10);
}

TEST_CASE("answers are compared as sets of rows, or in their order", "[generate]") {
  const Answer one = rows_of({{"1"}, {std::nullopt}, {"2"}});
  const Answer other = rows_of({{"2"}, {"1"}, {std::nullopt}});
  REQUIRE(judge({"SELECT", false}, one, one).verdict == Verdict::same);
  REQUIRE(judge({"SELECT", false}, one, other).verdict == Verdict::same);
  REQUIRE(judge({"SELECT", true}, one, other).reason == "the order of rows");
  REQUIRE(judge({"SELECT", false}, one, rows_of({{"1"}, {"2"}, {"2"}})).reason == "rows");
  Answer named = one;
  named.names = {"b"};
  REQUIRE(judge({"SELECT", false}, named, one).reason == "names of columns");
  Answer typed = one;
  typed.types = {20};
  REQUIRE(judge({"SELECT", false}, typed, one).reason == "types of columns");
}

TEST_CASE("errors are compared by code and message, and refusals do not count as errors", "[generate]") {
  const Answer rows = rows_of({});
  const Answer division = error_of("22012", "division by zero");
  REQUIRE(judge({}, division, division).verdict == Verdict::same);
  REQUIRE(judge({}, division, rows).verdict == Verdict::different);
  REQUIRE(judge({}, rows, division).verdict == Verdict::different);
  REQUIRE(judge({}, division, error_of("22012", "other words")).verdict == Verdict::different);
  REQUIRE(judge({}, error_of("0A000", "FULL JOIN is not supported"), rows).verdict == Verdict::refused);
  REQUIRE(judge({}, error_of("42883", "function reverse(text) does not exist"), rows).verdict ==
          Verdict::refused);
  REQUIRE(judge({}, error_of("42883", "function lower(text) does not exist"), rows).verdict ==
          Verdict::different);
}

TEST_CASE("only an order of the whole statement counts", "[generate]") {
  std::size_t ordered = 0;
  Random random(5);
  Queries queries(random);
  for (int i = 0; i < 500; ++i) {
    const Tree tree = queries.statement();
    if (!has_order(tree)) continue;
    ++ordered;
    const std::string text = text_of(tree);
    // No parenthesis that was open before it is closed behind it.
    const std::string behind = text.substr(text.rfind("ORDER BY"));
    REQUIRE(std::ranges::count(behind, '(') == std::ranges::count(behind, ')'));
  }
  REQUIRE(ordered > 50);
}
