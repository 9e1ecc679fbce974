// How regression scripts are cut, compared and kept.
#include <catch2/catch.hpp>

#include "tools/sqltest/regress/psql_script.h"
#include "tools/sqltest/regress/regress_file.h"
#include "tools/sqltest/regress/regress_passes.h"

namespace namdb::sqltest {
namespace {

std::vector<std::string> statements_of(const std::string& text) {
  PsqlScript script(text);
  std::vector<std::string> statements;
  while (const auto piece = script.next())
    statements.push_back(piece->sql + (piece->command.empty() ? "" : "\\" + piece->command));
  return statements;
}

Outcome rows(std::vector<std::vector<std::optional<std::string>>> values) {
  Outcome outcome;
  outcome.names = {"a"};
  outcome.rows = std::move(values);
  outcome.tag = "SELECT";
  return outcome;
}

}  // namespace

TEST_CASE("a script is cut where psql cuts it", "[regress]") {
  using Texts = std::vector<std::string>;
  CHECK(statements_of("SELECT 1; -- one; two\n/* a; /* b; */ */ SELECT ';', \"a;b\", E'\\';', $$;$$, "
                      "$x$;$$;$x$;SELECT 3") ==
        Texts{"SELECT 1", "SELECT ';', \"a;b\", E'\\';', $$;$$, $x$;$$;$x$", "SELECT 3"});
  CHECK(statements_of("CREATE RULE r AS ON INSERT TO t DO (SELECT 1; SELECT 2); SELECT 3;").size() == 2);
  CHECK(statements_of("CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1; SELECT CASE WHEN true THEN 1 "
                      "END; END; SELECT 3;")
            .size() == 2);
  CHECK(statements_of("SELECT 1\\; SELECT 2; SELECT 3 AS x \\gset p_\n\\d t\nSELECT\n4;") ==
        Texts{"SELECT 1; SELECT 2", "SELECT 3 AS x \\gset", "\\d", "SELECT\n4"});
  CHECK(statements_of("BEGIN; END; SELECT 1").size() == 3);
}

TEST_CASE("data of COPY are no statements, and lines are counted over them", "[regress]") {
  PsqlScript script("COPY t FROM STDIN;\n1\t;\n2\n\\.\n\nSELECT 1;");
  CHECK(script.next()->line == 1);
  CHECK(script.take_copy_data() == "1\t;\n2\n");
  const auto piece = script.next();
  REQUIRE(piece.has_value());
  CHECK(piece->sql == "SELECT 1");
  CHECK(piece->line == 6);
  CHECK_FALSE(script.next().has_value());
}

TEST_CASE("variables are replaced outside of quotes", "[regress]") {
  const PsqlVariables variables = {{"a", "x'y"}, {"n", "5"}};
  CHECK(expand_variables("SELECT :n, :'a', :\"n\", ':n', 1::n, :{?a}, :{?b}, :b", variables) ==
        "SELECT 5, 'x''y', \"5\", ':n', 1::n, TRUE, FALSE, :b");
  CHECK(split_arguments("f :n '/data/it''s' :a\"b c\"", variables) ==
        std::vector<std::string>{"f", "5", "/data/it's", "x'yb c"});
}

TEST_CASE("rows count as a set where nothing orders them", "[regress]") {
  const RegressAnswer one{{rows({{"1"}, {std::nullopt}})}, false};
  const RegressAnswer other{{rows({{std::nullopt}, {"1"}})}, false};
  CHECK(answers_differ("SELECT a FROM t", one, other).empty());
  CHECK(answers_differ("SELECT a FROM t ORDER BY a", one, other) == "the rows' order");
  CHECK(answers_differ("SELECT a FROM t", one, {{rows({{"1"}, {""}})}, false}) == "the rows");
  Outcome error;
  error.sqlstate = "22012";
  error.message = "division by zero";
  CHECK(answers_differ("SELECT a FROM t", {{error}, false}, other) == "an error");
  CHECK(answers_differ("SELECT a FROM t", one, {{error}, false}) == "no error");
}

TEST_CASE("the list of passes is read as it is written", "[regress]") {
  const std::string text = "boolean 98 1-38,40,97-98\nint2 76 5\n";
  const auto list = parse_passes("# of PostgreSQL 15\n" + text);
  REQUIRE(list.ok());
  CHECK(passes_text(*list) == text);
  CHECK(list->at("boolean").same.size() == 41);
  for (const char* const wrong :
       {"boolean", "boolean x 1", "boolean 98 1-", "boolean 98 5-3", "boolean 98 1,", "boolean 98 1;2"})
    CHECK_FALSE(parse_passes(wrong).ok());
}

}  // namespace namdb::sqltest
