// Sessions see the activity of others, cancel their statements, and end them.
#include <catch2/catch.hpp>

#include "compute/pgwire/testing/test_client.h"

namespace namdb::pgwire {

using namespace testing;  // NOLINT: the messages are the vocabulary of this file

namespace {

struct Guest {
  Guest(World& world, std::string_view user) : client(world) {
    client.connect();
    for (const Received& received :
         client.ask(startup({{"user", user}, {"database", "namdb"}, {"application_name", "app"}}))) {
      if (received.type != 'K') continue;
      pid = 0;
      for (std::size_t i = 0; i < 4; ++i) pid = pid << 8 | static_cast<unsigned char>(received.payload[i]);
    }
  }
  // The rows' values, "|" between them and ";" after each row; or the SQLSTATE.
  std::string ask(const std::string& sql) {
    const auto messages = client.ask(query(sql));
    if (find_error(messages) != nullptr) return sqlstate(messages);
    std::string all;
    for (const Received& received : messages) {
      if (received.type != 'D') continue;
      std::string row;
      for (const auto& value : received.values()) row += (row.empty() ? "" : "|") + value.value_or("null");
      all += row + ";";
    }
    return all;
  }
  std::string state_of(const Guest& other) {
    return ask("SELECT state, query FROM pg_stat_activity WHERE pid = " + std::to_string(other.pid));
  }

  TestClient client;
  int pid = 0;
};

}  // namespace

TEST_CASE("pg_stat_activity shows the sessions and what they do", "[activity]") {
  World world;
  world.wall_us = 5 * 1'000'000;
  Guest first(world, "ann");
  world.wall_us = 6 * 1'000'000;
  Guest second(world, "ann");
  CHECK(first.pid != second.pid);
  const std::string both =
      "ann|app|" + std::to_string(first.pid) + ";ann|app|" + std::to_string(second.pid) + ";";
  CHECK(first.ask("SELECT usename, application_name, pid FROM pg_catalog.pg_stat_activity ORDER BY pid") ==
        both);
  CHECK(first.ask("SELECT pg_backend_pid()") == std::to_string(first.pid) + ";");
  CHECK(first.state_of(second) == "idle|;");
  second.ask("CREATE TABLE t (id int PRIMARY KEY)");
  CHECK(first.state_of(second) == "idle|CREATE TABLE t (id int PRIMARY KEY);");
  world.wall_us = 7 * 1'000'000;
  second.ask("BEGIN");
  world.wall_us = 8 * 1'000'000;
  second.client.ask(parse("", "INSERT INTO t VALUES (1)") + bind("", "") + execute("") + sync());
  CHECK(first.state_of(second) == "idle in transaction|INSERT INTO t VALUES (1);");
  CHECK(first.ask("SELECT backend_start, xact_start, query_start, state_change, datname, wait_event, "
                  "backend_type FROM pg_stat_activity WHERE state = 'idle in transaction'") ==
        "2000-01-01 00:00:06+00|2000-01-01 00:00:07+00|2000-01-01 00:00:08+00|2000-01-01 00:00:08+00|namdb|"
        "null|client backend;");
  second.ask("SELECT nosuch");
  CHECK(first.state_of(second) == "idle in transaction (aborted)|SELECT nosuch;");
  second.ask("ROLLBACK; SET application_name = 'other'");
  CHECK(first.ask("SELECT application_name, xact_start FROM pg_stat_activity WHERE state = 'idle'") ==
        "other|null;");
  second.client.send(query("SELECT pg_sleep(1)"));
  CHECK(first.state_of(second) == "active|SELECT pg_sleep(1);");
  second.client.vanish();
  world.executor.run_until([&] { return world.server->connections() == 1; });
  CHECK(first.ask("SELECT count(*) FROM pg_stat_activity") == "1;");
  CHECK(first.ask("DELETE FROM pg_stat_activity") == "42501");
}

TEST_CASE("a session is ended by pg_terminate_backend, whatever it does", "[activity]") {
  World world;
  Guest boss(world, "ann");
  Guest victim(world, "ann");
  boss.ask("CREATE TABLE t (id int PRIMARY KEY)");
  const std::string end = "SELECT pg_terminate_backend(" + std::to_string(victim.pid) + ")";
  SECTION("idle in a block") {
    victim.ask("BEGIN; INSERT INTO t VALUES (1)");
  }
  SECTION("half way through a statement") {
    victim.client.send(query("SELECT pg_sleep(1000)"));
  }
  SECTION("in a pipeline") {
    victim.client.ask(parse("", "INSERT INTO t VALUES (1)") + bind("", "") + execute("") + flush());
  }
  CHECK(boss.ask(end) == "t;");
  world.executor.run_until([&] { return victim.client.pipe().server_closed; });
  const auto last = victim.client.receive();
  REQUIRE(find_error(last) != nullptr);
  CHECK(kinds(last).ends_with("E"));
  CHECK(find_error(last)->field('S') == "FATAL");
  CHECK(find_error(last)->field('C') == "57P01");
  CHECK(find_error(last)->field('M') == "terminating connection due to administrator command");
  world.executor.run_until([&] { return world.server->connections() == 1; });
  CHECK(world.engine.open_transactions() == 0);
  CHECK(boss.ask("SELECT count(*) FROM t") == "0;");
  CHECK(boss.ask(end) == "f;");
}

TEST_CASE("a statement is canceled by pg_cancel_backend, and its session goes on", "[activity]") {
  World world;
  Guest boss(world, "ann");
  Guest victim(world, "ann");
  CHECK(boss.ask("SELECT pg_cancel_backend(" + std::to_string(victim.pid) + ")") == "t;");
  CHECK(victim.ask("SELECT 1") == "1;");
  victim.client.send(query("SELECT pg_sleep(1000)"));
  CHECK(boss.ask("SELECT pg_cancel_backend(" + std::to_string(victim.pid) + ")") == "t;");
  std::vector<Received> messages;
  world.executor.run_until([&] {
    for (Received& received : victim.client.receive()) messages.push_back(std::move(received));
    return kinds(messages).ends_with("Z");
  });
  CHECK(sqlstate(messages) == "57014");
  CHECK(victim.ask("SELECT 1") == "1;");
}

TEST_CASE("sessions of others are seen and ended by superusers only", "[activity]") {
  World world;
  Guest ann(world, "ann");
  Guest bob(world, "bob");
  Guest boss(world, "postgres");
  bob.ask("SELECT 1");
  const auto pid = [](const Guest& guest) { return "(" + std::to_string(guest.pid) + ")"; };
  CHECK(ann.ask("SELECT usename, state, query, backend_start FROM pg_stat_activity WHERE pid = " +
                std::to_string(bob.pid)) == "bob|null|<insufficient privilege>|null;");
  CHECK(boss.state_of(bob) == "idle|SELECT 1;");
  CHECK(ann.ask("SELECT pg_terminate_backend" + pid(bob)) == "42501");
  CHECK(ann.ask("SELECT pg_cancel_backend" + pid(boss)) == "42501");
  CHECK(boss.ask("SELECT pg_terminate_backend" + pid(bob)) == "t;");
  world.executor.run_until([&] { return bob.client.pipe().server_closed; });
  CHECK(bob.client.pipe().server_closed);
  CHECK(ann.ask("SELECT pg_terminate_backend" + pid(ann)) == "57P01");
}

}  // namespace namdb::pgwire
