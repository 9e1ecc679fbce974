#include "tools/namsql/statement_splitter.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace namdb::namsql::statement_splitter_test {
namespace {

using State = StatementSplitter::State;
using Pieces = std::vector<std::string>;

Pieces all_of(StatementSplitter& splitter) {
  Pieces pieces;
  while (const auto piece = splitter.next()) pieces.push_back(piece->text);
  return pieces;
}

Pieces split(const std::string& text) {
  StatementSplitter splitter;
  splitter.add(text);
  return all_of(splitter);
}

State state_behind(const std::string& text) {
  StatementSplitter splitter;
  splitter.add(text);
  (void)all_of(splitter);
  return splitter.state();
}

}  // namespace

TEST_CASE("statements end with their semicolons, and empty ones are left out", "[splitter]") {
  CHECK(split("SELECT 1; SELECT 2;\n;;  ;\nSELECT 3") == Pieces{"SELECT 1;", "SELECT 2;"});
  StatementSplitter splitter;
  splitter.add("\n\nSELECT 1;\n  SELECT\n 2");
  CHECK(splitter.next()->line == 3);
  CHECK_FALSE(splitter.next());
  CHECK(splitter.pending() == "SELECT\n 2");
  const auto rest = splitter.take_pending();
  CHECK(rest.text == "SELECT\n 2");
  CHECK(rest.line == 4);
  CHECK(splitter.pending().empty());
}

TEST_CASE("a semicolon in a string, a name or a dollar quote ends nothing", "[splitter]") {
  CHECK(split("SELECT 'a;b', 'it''s;', \"c;\"\"d\";") == Pieces{"SELECT 'a;b', 'it''s;', \"c;\"\"d\";"});
  CHECK(split("SELECT $$a;'b$$; SELECT $x$;$$;$y$;$x$;") ==
        Pieces{"SELECT $$a;'b$$;", "SELECT $x$;$$;$y$;$x$;"});
  // Only E'...' takes a backslash for itself.
  CHECK(split("SELECT E'a\\';b'; SELECT e'\\\\';") == Pieces{"SELECT E'a\\';b';", "SELECT e'\\\\';"});
  CHECK(split("SELECT 'a\\'; SELECT 2;") == Pieces{"SELECT 'a\\';", "SELECT 2;"});
  CHECK(split("SELECT name'a\\'; SELECT 2;") == Pieces{"SELECT name'a\\';", "SELECT 2;"});
}

TEST_CASE("a dollar in a name or a parameter begins no quote", "[splitter]") {
  CHECK(split("SELECT a$b$; SELECT $1;") == Pieces{"SELECT a$b$;", "SELECT $1;"});
}

TEST_CASE("comments end nothing, and block comments nest", "[splitter]") {
  CHECK(split("SELECT 1 -- a;b\n+ 2;") == Pieces{"SELECT 1 -- a;b\n+ 2;"});
  CHECK(split("SELECT /* a; /* b; */ c; */ 1;") == Pieces{"SELECT /* a; /* b; */ c; */ 1;"});
  CHECK(split("/* only ; */ -- this ;\n;").empty());
  // A quote in a comment begins no string.
  CHECK(split("-- it's\nSELECT 1;") == Pieces{"SELECT 1;"});
}

TEST_CASE("a semicolon in parentheses ends nothing", "[splitter]") {
  CHECK(split("CREATE x (a; b); SELECT 1;") == Pieces{"CREATE x (a; b);", "SELECT 1;"});
  CHECK(split("SELECT 1); SELECT 2;") == Pieces{"SELECT 1);", "SELECT 2;"});
}

TEST_CASE("a backslash command ends with its line, and leaves the statement before it", "[splitter]") {
  StatementSplitter splitter;
  splitter.add("SELECT 1 \\watch 2 ; \nFROM t;\n\\d\n");
  const auto command = splitter.next();
  REQUIRE(command);
  CHECK(command->kind == StatementSplitter::Kind::command);
  CHECK(command->text == "\\watch 2 ;");
  CHECK(splitter.pending() == "SELECT 1");
  const auto statement = splitter.next();
  REQUIRE(statement);
  CHECK(statement->text == "SELECT 1 \nFROM t;");
  CHECK(splitter.next()->line == 3);
  CHECK(split("SELECT '\\d';") == Pieces{"SELECT '\\d';"});
}

TEST_CASE("the state says what goes on in the next line", "[splitter]") {
  CHECK(state_behind("") == State::nothing);
  CHECK(state_behind("SELECT 1;\n-- comment\n") == State::nothing);
  CHECK(state_behind("SELECT\n") == State::statement);
  CHECK(state_behind("SELECT (\n") == State::parenthesis);
  CHECK(state_behind("SELECT 'a\n") == State::string);
  CHECK(state_behind("SELECT \"a\n") == State::quoted_name);
  CHECK(state_behind("SELECT $$a\n") == State::dollar_quote);
  CHECK(state_behind("/* a\n") == State::comment);
}

TEST_CASE("text may come in any pieces of whole lines", "[splitter]") {
  StatementSplitter splitter;
  Pieces pieces;
  for (const char* line : {"SELECT 'a\n", "b;' ||\n", "$q$ x;\n", "$q$; SELECT\n", "2;\n"}) {
    splitter.add(line);
    while (const auto piece = splitter.next()) pieces.push_back(piece->text);
  }
  CHECK(pieces == Pieces{"SELECT 'a\nb;' ||\n$q$ x;\n$q$;", "SELECT\n2;"});
}

TEST_CASE("lines that are rows of COPY count", "[splitter]") {
  StatementSplitter splitter;
  splitter.add("COPY t FROM STDIN;\n");
  CHECK(splitter.next());
  CHECK_FALSE(splitter.next());
  splitter.skip_lines(3);
  splitter.add("SELECT 1;\n");
  CHECK(splitter.next()->line == 5);
}

}  // namespace namdb::namsql::statement_splitter_test
