// EXPLAIN with the cost of each step, as text and as JSON.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "compute/pgwire/testing/test_client.h"

namespace namdb::pgwire {

using namespace testing;  // NOLINT: the messages are the vocabulary of this file

namespace {

using Json = nlohmann::json;

struct ExplainScene {
  ExplainScene() {
    for (const char* const sql : {"CREATE TABLE t (id int PRIMARY KEY, v int)", "CREATE INDEX by_v ON t (v)",
                                  "INSERT INTO t SELECT x, x * 10 FROM generate_series(1, 6) AS x"}) {
      CHECK(sqlstate(client.ask(query(sql))).empty());
    }
  }
  std::vector<std::string> lines(const std::string& sql) {
    std::vector<std::string> all;
    for (const Received& received : client.ask(query(sql))) {
      if (received.type == 'D') all.push_back(received.values()[0].value_or(""));
    }
    return all;
  }
  Json json(const std::string& sql) {
    const std::vector<std::string> all = lines(sql);
    REQUIRE(all.size() == 1);
    const Json parsed = Json::parse(all[0], nullptr, false);
    REQUIRE((parsed.is_array() && parsed.size() == 1));
    return parsed[0];
  }

  World world;
  TestClient client = TestClient::ready(world);
};

}  // namespace

TEST_CASE("EXPLAIN as JSON has the nodes of the plan, in the shape of PostgreSQL's", "[explain]") {
  ExplainScene scene;
  const Json plan =
      scene.json("EXPLAIN (FORMAT JSON) SELECT id FROM t AS x WHERE v > 20 ORDER BY id LIMIT 2")["Plan"];
  CHECK(plan["Node Type"] == "Limit");
  CHECK_FALSE(plan.contains("Actual Rows"));
  const Json& sort = plan["Plans"][0];
  CHECK(sort["Node Type"] == "Sort");
  CHECK(sort["Parent Relationship"] == "Outer");
  const Json& scan = sort["Plans"][0];
  CHECK(scan["Node Type"] == "Index Scan");
  CHECK(scan["Index Name"] == "by_v");
  CHECK(scan["Relation Name"] == "t");
  CHECK(scan["Alias"] == "x");
  CHECK(scan["Scan Direction"] == "Forward");
  CHECK(scan["Index Cond"] == "(v > 20)");
  CHECK_FALSE(scan.contains("Plans"));

  const Json join =
      scene.json("EXPLAIN (FORMAT JSON) SELECT 1 FROM t a JOIN t b ON b.id = a.v WHERE a.id = 1")["Plan"];
  CHECK(join["Node Type"] == "Join");
  REQUIRE(join["Plans"].size() == 2);
  CHECK(join["Plans"][0]["Node Type"] == "Key Read");
  CHECK(join["Plans"][1]["Join Type"] == "Inner");
  CHECK(join["Plans"][1]["Join Method"] == "Join by Key");

  const auto messages = scene.client.ask(query("EXPLAIN (FORMAT XML) SELECT 1"));
  CHECK(sqlstate(messages) == "0A000");
}

TEST_CASE("EXPLAIN ANALYZE counts each step's rows, operations and round trips", "[explain]") {
  ExplainScene scene;
  const Json query_run =
      scene.json("EXPLAIN (ANALYZE, FORMAT JSON) SELECT id FROM t WHERE v + 0 > 20 ORDER BY v + 0");
  CHECK(query_run["Plan"]["Actual Rows"] == 4);
  const Json& scan = query_run["Plan"]["Plans"][0];
  CHECK(scan["Node Type"] == "Table Scan");
  CHECK(scan["Rows Fetched"] == 6);
  CHECK(scan["Round Trips"] == query_run["Total Cost"]["Round Trips"]);
  CHECK(scan["One-Sided Operations"] == query_run["Total Cost"]["One-Sided Operations"]);
  CHECK(scan["Round Trips"].get<int>() > 1);
  CHECK_FALSE(query_run["Plan"].contains("Round Trips"));  // a sort in memory

  const Json update = scene.json("EXPLAIN (ANALYZE, FORMAT JSON) UPDATE t SET v = 5 WHERE id IN (1, 2, 3)");
  CHECK(update["Plan"]["Node Type"] == "ModifyTable");
  CHECK(update["Plan"]["Operation"] == "Update");
  CHECK(update["Plan"]["Rows Fetched"] == 3);
  CHECK_FALSE(update["Plan"]["Plans"][0].contains("Rows Fetched"));  // the keys are known
  CHECK(update["Total Cost"]["Writes"] == 3);                        // of the commit
  CHECK(update["Total Cost"]["Includes Commit"] == true);
  CHECK(scene.lines("SELECT v FROM t WHERE id = 2") == std::vector<std::string>{"5"});

  const Json deletion = scene.json("EXPLAIN (ANALYZE, FORMAT JSON) DELETE FROM t WHERE v = 60");
  CHECK(deletion["Plan"]["Rows Fetched"] == 1);
  CHECK(deletion["Plan"]["Round Trips"] == 1);
  CHECK(deletion["Plan"]["Plans"][0]["Node Type"] == "Index Scan");
  CHECK(deletion["Plan"]["Plans"][0]["Rows Fetched"] == 1);

  const Json insert = scene.json("EXPLAIN (ANALYZE, FORMAT JSON) INSERT INTO t SELECT id + 10, v FROM t");
  CHECK(insert["Plan"]["Operation"] == "Insert");
  CHECK(insert["Plan"]["Rows Fetched"] == 5);
  CHECK(insert["Plan"]["Plans"][0]["Rows Fetched"] == 5);

  const std::vector<std::string> lines =
      scene.lines("EXPLAIN ANALYZE SELECT id FROM t WHERE id IN (1, 2, 99)");
  REQUIRE(lines.size() == 7);
  CHECK(lines[0] == "Key Read on t using t_pkey (id), 3 keys");
  CHECK(lines[1].starts_with("  Cost: rows 2, operations 3, calls 0, round trips 1, bytes "));
  CHECK(lines[2] == "Rows: 2");
}

}  // namespace namdb::pgwire
