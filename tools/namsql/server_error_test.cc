#include "tools/namsql/server_error.h"

#include <catch2/catch.hpp>

namespace namdb::namsql::server_error_test {

TEST_CASE("an error has its code, the place in the statement, detail and hint", "[error]") {
  const ServerError error{"ERROR", "42703", "column \"cod\" does not exist", "", "Perhaps \"code\".", 8};
  CHECK(error_text(error, "SELECT cod FROM t;") ==
        "ERROR:  42703: column \"cod\" does not exist\n"
        "LINE 1: SELECT cod FROM t;\n"
        "               ^\n"
        "HINT:  Perhaps \"code\".\n");
  CHECK(error_text({"NOTICE", "00000", "nothing to do", "", "", 0}, "") == "NOTICE:  nothing to do\n");
  CHECK(error_text({"ERROR", "23505", "duplicate", "Key (id)=(1) already exists.", "", 0}, "INSERT") ==
        "ERROR:  23505: duplicate\nDETAIL:  Key (id)=(1) already exists.\n");
}

TEST_CASE("the position counts characters, and lines", "[error]") {
  CHECK(position_text("SELECT '日本',\n\tx", 14) ==
        "LINE 2:  x\n"
        "        ^\n");
  CHECK(position_text("SELECT '日本', x", 14) ==
        "LINE 1: SELECT '日本', x\n"
        "                       ^\n");
}

TEST_CASE("the end of the statement is a position, and places behind it are not", "[error]") {
  CHECK(position_text("SELECT", 7) == "LINE 1: SELECT\n              ^\n");
  CHECK(position_text("SELECT", 8).empty());
  CHECK(position_text("SELECT", 0).empty());
}

TEST_CASE("of a long line there is the part around the position", "[error]") {
  const std::string statement = "SELECT " + std::string(200, 'a') + ", wrong, " + std::string(200, 'b');
  const std::string text = position_text(statement, statement.find("wrong") + 1);
  const std::size_t end = text.find('\n');
  CHECK(end < 95);
  CHECK(text.starts_with("LINE 1: ..."));
  CHECK(text.substr(0, end).ends_with("..."));
  CHECK(text.find("wrong") == text.find('^') - end - 1);
}

TEST_CASE("near its beginning a long line is shown from there", "[error]") {
  const std::string statement = "SELECT wrong, " + std::string(200, 'b');
  const std::string text = position_text(statement, 8);
  CHECK(text.starts_with("LINE 1: SELECT wrong, "));
  CHECK(text.find('\n') < 95);
}

}  // namespace namdb::namsql::server_error_test
