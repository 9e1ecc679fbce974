#include "tools/namsql/operation_counts.h"

#include <catch2/catch.hpp>

namespace namdb::namsql::operation_counts_test {
namespace {

OperationCounts look(const std::string& reads, const std::string& commits) {
  return operation_counts({{"SELECT", "reads", reads},
                           {"SELECT", "commits", commits},
                           {"pay", "transactions", "3"},
                           {"memory", "client_bytes", "4711"},
                           {"reactor", "longest_turn_us", "1"}});
}

}  // namespace

TEST_CASE("only transactions are counted, and only what has changed", "[counts]") {
  const OperationCounts counted = counted_between(look("10", "5"), look("14", "5"));
  REQUIRE(counted.size() == 1);
  CHECK(counted.at("SELECT") == std::map<std::string, std::uint64_t>{{"reads", 4}});
  CHECK(counted_between(look("1", "1"), look("1", "1")).empty());
}

TEST_CASE("names that are new count from zero", "[counts]") {
  const OperationCounts counted = counted_between({}, look("2", "1"));
  CHECK(counted.at("SELECT").at("reads") == 2);
  CHECK(counted.at("pay").at("transactions") == 3);
}

TEST_CASE("a server that was started again has counted from zero", "[counts]") {
  const OperationCounts counted = counted_between(look("10", "5"), look("4", "6"));
  CHECK(counted.at("SELECT").at("reads") == 4);
  CHECK(counted.at("SELECT").at("commits") == 6);
  CHECK(counted_between(look("10", "5"), {}).empty());
}

TEST_CASE("the table has a row for each kind, and a line for aborts", "[counts]") {
  const OperationCounts counted = operation_counts({{"UPDATE", "transactions", "1"},
                                                    {"UPDATE", "retries", "2"},
                                                    {"UPDATE", "bytes", "99"},
                                                    {"UPDATE", "aborts_write_conflict", "2"}});
  const ResultTable table = operations_table(counted);
  REQUIRE(table.rows.size() == 1);
  CHECK(table.rows[0] == std::vector<Cell>{"UPDATE", "1", "2", "0", "0", "0", "0", "0", "0", "99"});
  CHECK(table.footers == std::vector<std::string>{"UPDATE: 2 attempts ended by write_conflict"});
}

TEST_CASE("procedures are told from kinds of statements", "[counts]") {
  OperationCounts counts = look("1", "1");
  counts["block"]["commits"] = 1;
  counts["TRUNCATE TABLE"]["commits"] = 1;
  CHECK(procedure_names(counts) == std::vector<std::string>{"pay"});
}

TEST_CASE("rows of another form are passed over", "[counts]") {
  CHECK(operation_counts({{"a"}, {"a", "b", std::nullopt}, {"a", "b", "many"}}).empty());
}

}  // namespace namdb::namsql::operation_counts_test
