#include "tools/namsql/result_table.h"

#include <catch2/catch.hpp>

namespace namdb::namsql::result_table_test {
namespace {

ResultTable table_of_rows(std::vector<std::vector<Cell>> rows) {
  ResultTable table;
  table.columns = {{"id", ValueKind::number}, {"name", ValueKind::text}};
  table.rows = std::move(rows);
  return table;
}

}  // namespace

TEST_CASE("numbers stand at the right, names in the middle, and rows are counted", "[table]") {
  CHECK(aligned_table(table_of_rows({{"1", "one"}, {"1000", std::nullopt}, {"7", "thirteen"}})) ==
        "  id  |   name\n"
        "------+----------\n"
        "    1 | one\n"
        " 1000 |\n"
        "    7 | thirteen\n"
        "(3 rows)\n\n");
  CHECK(aligned_table(table_of_rows({{"1", "a"}})).find("(1 row)\n") != std::string::npos);
}

TEST_CASE("wide characters and marks do not move what stands behind them", "[table]") {
  ResultTable table;
  table.columns = {{"a"}, {"b"}};
  table.rows = {{"日本", "x"}, {"e\u0301", "y"}, {"abcd", "z"}};
  CHECK(aligned_table(table) ==
        "  a   | b\n"
        "------+---\n"
        " 日本 | x\n"
        " e\u0301    | y\n"
        " abcd | z\n"
        "(3 rows)\n\n");
}

TEST_CASE("a value of several lines goes on below, with a mark", "[table]") {
  CHECK(aligned_table(table_of_rows({{"1", "a\nbcd"}, {"2", "e"}})) ==
        " id | name\n"
        "----+------\n"
        "  1 | a   +\n"
        "    | bcd\n"
        "  2 | e\n"
        "(2 rows)\n\n");
}

TEST_CASE("titles stand in the middle, and footers in the place of the count", "[table]") {
  ResultTable table = table_of_rows({{"1", "one"}});
  table.title = "Rows";
  table.footers = {"Indexes:", "    \"x\""};
  CHECK(aligned_table(table) ==
        "   Rows\n"
        " id | name\n"
        "----+------\n"
        "  1 | one\n"
        "Indexes:\n"
        "    \"x\"\n\n");
}

TEST_CASE("values cannot control the terminal", "[table]") {
  CHECK(aligned_table(table_of_rows({{"1", "a\x1b[2J"}})).find('\x1b') == std::string::npos);
  CHECK(expanded_table(table_of_rows({{"1", "a\x1b[2J"}})).find('\x1b') == std::string::npos);
}

TEST_CASE("an expanded table has a line for each column of each row", "[table]") {
  CHECK(expanded_table(table_of_rows({{"1", "a value that is long"}, {"2", "x\ny"}})) ==
        "-[ RECORD 1 ]--------------\n"
        "id   | 1\n"
        "name | a value that is long\n"
        "-[ RECORD 2 ]--------------\n"
        "id   | 2\n"
        "name | x                   +\n"
        "     | y\n\n");
  CHECK(expanded_table(table_of_rows({})) == "(0 rows)\n\n");
}

TEST_CASE("a table without columns has its count", "[table]") {
  ResultTable table;
  table.rows = {{}, {}};
  CHECK(aligned_table(table).find("(2 rows)") != std::string::npos);
}

}  // namespace namdb::namsql::result_table_test
