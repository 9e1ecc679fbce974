// The memory that all clients together make the server keep is bounded; a request for more ends in an error.
#include <catch2/catch.hpp>

#include "compute/pgwire/testing/test_client.h"

namespace namdb::pgwire {

using namespace testing;  // NOLINT: the messages are the vocabulary of this file

namespace {

constexpr std::uint64_t kMiB = 1 << 20;

std::string small_statement(int i) {
  return "SELECT v, w FROM t WHERE id = $1 AND v > " + std::to_string(i);
}

void create_table(World& world) {
  TestClient client = TestClient::ready(world);
  REQUIRE(sqlstate(client.ask(query("CREATE TABLE t (id int PRIMARY KEY, v int, w varchar(20))"))).empty());
  client.vanish();
}

std::uint64_t used(World& world) {
  return world.process.client_memory().used_bytes();
}

}  // namespace

TEST_CASE("ten thousand small prepared statements take at most 30 MB", "[memory]") {
  World world;
  create_table(world);
  TestClient client = TestClient::ready(world);
  CHECK(used(world) == 0);
  for (int i = 0; i < 10'000; ++i)
    REQUIRE(kinds(client.ask(parse("s" + std::to_string(i), small_statement(i)) + sync())) == "1Z");
  CHECK(used(world) < 30'000'000);
  CHECK(used(world) > 5'000'000);
  client.ask(close_target('S', "s77") + sync());
  const std::uint64_t without_one = used(world);
  client.ask(parse("s77", small_statement(77)) + sync());
  CHECK(used(world) > without_one);
  client.ask(query("DEALLOCATE ALL"));
  CHECK(used(world) == 0);
}

TEST_CASE("sessions that prepare the same text share its plan, until the catalog changes", "[memory]") {
  World world;
  create_table(world);
  std::vector<TestClient> clients;
  const std::string list = "SELECT v FROM t WHERE id IN (1" + [] {
    std::string more;
    for (int i = 2; i < 2000; ++i) more += ", " + std::to_string(i);
    return more;
  }() + ")";
  std::vector<std::uint64_t> bytes;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(TestClient::ready(world));
    const std::uint64_t before = used(world);
    REQUIRE(kinds(clients.back().ask(parse("list", list) + sync())) == "1Z");
    bytes.push_back(used(world) - before);
  }
  CHECK(bytes[0] > 10 * bytes[1]);
  CHECK(bytes[1] == bytes[3]);
  const std::string run = bind("", "list") + execute("") + sync();
  CHECK(kinds(clients[0].ask(run)) == "2CZ");
  CHECK(sqlstate(clients[1].ask(query("DROP TABLE t"))).empty());
  CHECK(sqlstate(clients[0].ask(parse("other", list) + sync())) == "42P01");
  CHECK(sqlstate(clients[2].ask(query("CREATE TABLE t (v varchar(5), id int PRIMARY KEY)"))).empty());
  CHECK(sqlstate(clients[2].ask(query("INSERT INTO t VALUES ('x', 7)"))).empty());
  const auto messages = clients[2].ask(parse("other", list) + bind("", "other") + execute("") + sync());
  REQUIRE(kinds(messages) == "12DCZ");
  CHECK(messages[2].values()[0] == "x");
  CHECK(sqlstate(clients[3].ask(run)) == "0A000");  // its columns have other types now
  for (TestClient& client : clients) client.vanish();
  world.executor.run_until([&] { return world.process.connections() == 0; });
  CHECK(used(world) == 0);
}

TEST_CASE("a shared plan does not keep the time of the session that prepared it first", "[memory]") {
  World world;
  TestClient first = TestClient::ready(world);
  TestClient second = TestClient::ready(world);
  const std::string sql = "SELECT timestamp 'now'";
  const auto ask = [&](TestClient& client) {
    return client.ask(parse("s", sql) + bind("", "s") + execute("") + sync())[2].values()[0];
  };
  world.wall_us = 1'000'000;
  const auto early = ask(first);
  world.wall_us = 61'000'000;
  CHECK(ask(second) != early);
}

TEST_CASE("a prepared statement beyond the memory of all clients is refused, and others go on", "[memory]") {
  World world({.client_memory_bytes = kMiB});
  create_table(world);
  TestClient greedy = TestClient::ready(world);
  TestClient other = TestClient::ready(world);
  std::string state;
  int count = 0;
  for (; count < 10'000 && state.empty(); ++count)
    state = sqlstate(greedy.ask(parse("s" + std::to_string(count), small_statement(count)) + sync()));
  CHECK(state == "53200");
  CHECK(count > 200);
  CHECK(used(world) <= kMiB);
  CHECK(sqlstate(greedy.ask(bind("", "s5", {{"1"}}) + execute("") + sync())).empty());
  CHECK(sqlstate(other.ask(parse("long", "SELECT '" + std::string(4000, 'x') + "'") + sync())) == "53200");
  greedy.vanish();
  CHECK(used(world) == 0);
  CHECK(kinds(other.ask(parse("mine", small_statement(1)) + sync())) == "1Z");
  const auto rows = other.ask(query("SELECT metric, value FROM namdb_statistics WHERE name = 'memory'"));
  REQUIRE(rows.size() == 6);
  CHECK(rows[2].values()[1] == std::to_string(kMiB));
  CHECK(rows[3].values()[1] == "2");
}

TEST_CASE("a message beyond the memory of all clients ends its connection only", "[memory]") {
  World world({.client_memory_bytes = 4 * kMiB});
  std::vector<TestClient> clients;
  const std::string part = message('Q', std::string(3 * kMiB, 'x')).substr(0, 2 * kMiB);
  for (int i = 0; i < 3; ++i) clients.push_back(TestClient::ready(world));
  clients[0].send(part);
  CHECK(used(world) >= kMiB);
  clients[1].send(part);
  const auto refused = clients[1].receive();
  CHECK(kinds(refused) == "E");
  CHECK(sqlstate(refused) == "53200");
  REQUIRE(find_error(refused) != nullptr);
  CHECK(find_error(refused)->field('S') == "FATAL");
  world.executor.run_until([&] { return clients[1].pipe().server_closed; });
  CHECK(clients[1].pipe().server_closed);
  CHECK(kinds(clients[2].ask(query("SELECT 1"))) == "TDCZ");
  clients[0].send(std::string(kMiB, 'x'));
  clients[0].vanish();
  world.executor.run_until([&] { return world.process.connections() == 1; });
  CHECK(used(world) == 0);
}

TEST_CASE("long parameters, gathered keys and sorted rows count while they are kept", "[memory]") {
  World world({.client_memory_bytes = 3 * kMiB});
  TestClient client = TestClient::ready(world);
  client.ask(query("CREATE TABLE t (id int PRIMARY KEY, k varchar(1000), v varchar(4000))"));
  client.ask(parse("text", "SELECT length($1::text)") + sync());
  const std::uint64_t idle = used(world);
  const std::string half(kMiB / 2, 'y');
  std::string binds;
  for (int i = 0; i < 20; ++i) binds += bind("p" + std::to_string(i), "text", {half});
  for (std::size_t at = 0; at < binds.size(); at += 4096) client.send(binds.substr(at, 4096));
  CHECK(sqlstate(client.ask(sync())) == "53200");
  CHECK(used(world) == idle);
  CHECK(kinds(client.ask(bind("", "text", {half}) + execute("") + sync())) == "2DCZ");
  CHECK(used(world) == idle);
  const std::string row(4000, 'v');
  client.ask(parse("insert", "INSERT INTO t VALUES ($1, '', $2)") + sync());
  const std::uint64_t with_insert = used(world);
  for (int id = 0; id < 1000; ++id)
    REQUIRE(sqlstate(client.ask(bind("", "insert", {{std::to_string(id)}, {row}}) + execute("") + sync()))
                .empty());
  CHECK(sqlstate(client.ask(query("SELECT id, v FROM t ORDER BY v"))) == "53200");
  CHECK(used(world) == with_insert);
  CHECK(sqlstate(client.ask(query("SELECT id FROM t ORDER BY v LIMIT 1"))) == "53200");
  CHECK(sqlstate(client.ask(query("SELECT v FROM t WHERE id < 100 ORDER BY id DESC"))).empty());
  CHECK(used(world) == with_insert);
}

TEST_CASE("the keys that an UPDATE gathers count", "[memory]") {
  World world({.client_memory_bytes = kMiB});
  TestClient client = TestClient::ready(world);
  client.ask(query("CREATE TABLE t (k varchar(1000) PRIMARY KEY, v int)"));
  for (int id = 0; id < 2000; ++id) {
    const std::string key = std::to_string(10'000 + id) + std::string(900, 'k');
    REQUIRE(sqlstate(client.ask(query("INSERT INTO t VALUES ('" + key + "', 1)"))).empty());
  }
  CHECK(sqlstate(client.ask(query("UPDATE t SET v = 2"))) == "53200");
  CHECK(used(world) == 0);
  CHECK(sqlstate(client.ask(query("DELETE FROM t WHERE k < '10100'"))).empty());
  CHECK(used(world) == 0);
}

}  // namespace namdb::pgwire
