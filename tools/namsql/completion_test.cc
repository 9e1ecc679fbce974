#include "tools/namsql/completion.h"

#include <algorithm>
#include <catch2/catch.hpp>

namespace namdb::namsql::completion_test {
namespace {

using Words = std::vector<std::string>;

Names some_names() {
  Names names;
  names.columns["customers"] = {"id", "name", "balance"};
  names.columns["orders"] = {"id", "customer", "placed"};
  names.columns["Odd lines"] = {"Line"};
  names.indexes = {"orders_by_customer"};
  names.procedures = {"pay", "payout"};
  names.settings = {"namdb.durability", "statement_timeout", "search_path"};
  return names;
}

// `|` is the cursor.
Words words(std::string text) {
  const std::size_t cursor = text.find('|');
  text.erase(cursor, 1);
  const std::size_t line_end = cursor == 0 ? std::string::npos : text.rfind('\n', cursor - 1);
  return complete(text, cursor, line_end == std::string::npos ? 0 : line_end + 1, some_names()).candidates;
}

bool has(const Words& list, const std::string& word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

}  // namespace

TEST_CASE("a statement begins with its keyword, in the letters that are typed", "[completion]") {
  CHECK(words("INS|") == Words{"INSERT"});
  CHECK(words("ins|") == Words{"insert"});
  CHECK(words("SELECT 1; INS|") == Words{"INSERT"});
  CHECK(words("SELECT pla| FROM customers; SELECT 1 FROM orders").empty());
  CHECK(words("insert |") == Words{"INTO"});
  CHECK(words("CREATE T|") == Words{"TABLE"});
  CHECK(words("CREATE F|") == Words{"FUNCTION"});
  CHECK(words("DROP FU|") == Words{"FUNCTION"});
}

TEST_CASE("tables stand behind FROM and its like", "[completion]") {
  CHECK(words("SELECT * FROM cu|") == Words{"customers"});
  CHECK(words("SELECT * FROM o|") == Words{"\"Odd lines\"", "orders"});
  CHECK(words("SELECT * FROM \"O|") == Words{"\"Odd lines\""});
  CHECK(words("INSERT INTO ord|") == Words{"orders"});
  CHECK(words("UPDATE ord|") == Words{"orders"});
  CHECK(words("DROP TABLE ord|") == Words{"orders"});
  CHECK(words("CREATE INDEX x ON ord|") == Words{"orders"});
  CHECK(words("REINDEX INDEX or|") == Words{"orders_by_customer"});
}

TEST_CASE("columns are those of the tables that the statement names, before the cursor or behind it",
          "[completion]") {
  CHECK(words("SELECT pla| FROM orders") == Words{"placed"});
  CHECK(words("SELECT *\nFROM orders\nWHERE pla|") == Words{"placed"});
  CHECK(words("SELECT bal| FROM orders").empty());
  CHECK(words("UPDATE customers SET bal|") == Words{"balance"});
  CHECK(words("SELECT o.| FROM orders o") == Words{"customer", "id", "placed"});
  CHECK(words("SELECT o.p| FROM customers c JOIN orders AS o") == Words{"placed"});
  CHECK(words("SELECT orders.c|") == Words{"customer"});
  CHECK(words("SELECT \"Odd lines\".|") == Words{"\"Line\""});
}

TEST_CASE("settings, procedures and levels", "[completion]") {
  CHECK(words("SET sta|") == Words{"statement_timeout"});
  CHECK(words("SHOW namdb.d|") == Words{"namdb.durability"});
  CHECK(words("SET LOCAL nam|") == Words{"namdb.durability"});
  CHECK(words("CALL pay|") == Words{"pay", "payout"});
  CHECK(has(words("BEGIN ISOLATION LEVEL |"), "REPEATABLE READ"));
}

TEST_CASE("nothing is completed in strings and comments", "[completion]") {
  CHECK(words("SELECT 'sel|").empty());
  CHECK(words("SELECT 1 -- sel|").empty());
  CHECK(words("/* sel|").empty());
  CHECK(words("SELECT $$ sel|").empty());
}

TEST_CASE("backslash commands and their words", "[completion]") {
  CHECK(words("\\cop|") == Words{"\\copy"});
  CHECK(words("\\d cus|") == Words{"customers"});
  CHECK(words("\\di o|") == Words{"orders_by_customer"});
  CHECK(words("\\timing o|") == Words{"off", "on"});
  CHECK(words("\\h create t|") == Words{"create table"});
  CHECK(words("\\copy ord|") == Words{"orders"});
  CHECK(complete("\\i /tm", 6, 0, {}).is_file);
  const Completion file = complete("\\copy t FROM /tm", 16, 0, {});
  CHECK(file.is_file);
  CHECK(file.begin == 13);
}

TEST_CASE("the common beginning ends between characters", "[completion]") {
  CHECK(common_beginning({"orders", "order_lines"}) == "order");
  CHECK(common_beginning({"aä", "aö"}) == "a");
  CHECK(common_beginning({"aä"}) == "aä");
  CHECK(common_beginning({}).empty());
}

}  // namespace namdb::namsql::completion_test
