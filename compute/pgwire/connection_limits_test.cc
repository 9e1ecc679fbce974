// Limits of the memory and the time that one client can take.
#include <catch2/catch.hpp>

#include "compute/pgwire/testing/test_client.h"

namespace namdb::pgwire {

using namespace testing;  // NOLINT: the messages are the vocabulary of this file

namespace {

std::string cancel_key(TestClient& client) {
  std::string key;
  for (const Received& received : client.ask(startup({{"user", "u"}, {"database", "namdb"}}))) {
    if (received.type == 'K') key = received.payload;
  }
  REQUIRE(key.size() == 8);
  return key;
}

void cancel(World& world, const std::string& key) {
  TestClient canceler(world);
  canceler.connect();
  canceler.send(big_endian(16, 4) + big_endian(80'877'102, 4) + key);
  CHECK(canceler.pipe().server_closed);
}

}  // namespace

TEST_CASE("the next messages of a client that does not read stay in its socket", "[limits]") {
  World world;
  TestClient client = TestClient::ready(world);
  client.pipe().client_reads = false;
  client.pipe().read_limit = 4096;
  const std::string some = query("SELECT '" + std::string(1000, 'x') + "'");
  constexpr std::size_t kQueries = 4000;
  std::string all;
  for (std::size_t i = 0; i < kQueries; ++i) all += some;
  client.send(all);
  // Unsent answers are bounded, and most of the messages are not even read.
  CHECK(client.pipe().to_client.size() < 512 * 1024);
  CHECK(client.pipe().to_server.size() > all.size() / 2);
  client.pipe().client_reads = true;
  client.pipe().taken.notify_all();
  world.executor.run_ready();
  CHECK(client.receive().size() == kQueries * 4);
}

TEST_CASE("a client that never reads its last error is cut off", "[limits]") {
  World world({.last_write_timeout_ns = kSecond_ns});
  TestClient client = TestClient::ready(world);
  client.pipe().client_reads = false;
  client.send(message('!', ""));
  CHECK_FALSE(client.pipe().server_closed);
  CHECK(world.process.connections() == 1);
  const std::uint64_t begin_ns = world.executor.now_ns();
  world.executor.run_until([&] { return client.pipe().server_closed; });
  CHECK(client.pipe().server_closed);
  CHECK(world.executor.now_ns() - begin_ns == kSecond_ns);
  world.executor.run_ready();
  CHECK(world.process.connections() == 0);
}

TEST_CASE("a cancel request is for the message that runs when it comes", "[limits]") {
  World world;
  TestClient client(world);
  client.connect();
  const std::string key = cancel_key(client);
  cancel(world, key);
  CHECK(kinds(client.ask(query("SELECT pg_sleep(0)"))) == "TDCZ");
  cancel(world, key);
  client.ask(query("CREATE TABLE t (id int PRIMARY KEY)"));
  cancel(world, key);
  CHECK(kinds(client.ask(parse("", "SELECT id FROM t") + bind("", "") + execute("") + sync())) == "12CZ");
  // Two statements in one buffer: a cancel request for the first one does not reach the second.
  client.send(query("SELECT pg_sleep(1000)") + query("SELECT pg_sleep(0)"));
  cancel(world, key);
  std::vector<Received> messages;
  world.executor.run_until([&] {
    for (Received& received : client.receive()) messages.push_back(std::move(received));
    return kinds(messages).ends_with("DCZ");
  });
  CHECK(kinds(messages) == "TEZTDCZ");
  CHECK(sqlstate(messages) == "57014");
}

TEST_CASE("a cancel request and a timeout end a statement that waits for others", "[limits]") {
  World world;
  TestClient client(world);
  client.connect();
  const std::string key = cancel_key(client);
  client.ask(query("CREATE TABLE t (id int PRIMARY KEY, v int)") + query("INSERT INTO t VALUES (1, 10)"));
  const auto until_ready = [&] {
    std::vector<Received> messages;
    world.executor.run_until([&] {
      for (Received& received : client.receive()) messages.push_back(std::move(received));
      return kinds(messages).ends_with("Z");
    });
    return messages;
  };
  for (const char* statement : {"SELECT v FROM t WHERE id = 1", "SELECT v FROM t", "UPDATE t SET v = 0"}) {
    world.engine.hold_fetches(true);
    client.send(query(statement));
    CHECK(client.receive().empty());
    cancel(world, key);
    CHECK(sqlstate(until_ready()) == "57014");
    CHECK(world.engine.open_transactions() == 0);
    client.send(query("SET statement_timeout = '20ms'") + query(statement));
    auto messages = until_ready();
    if (sqlstate(messages).empty()) messages = until_ready();
    CHECK(sqlstate(messages) == "57014");
    world.engine.hold_fetches(false);
    client.ask(query("RESET statement_timeout"));
  }
  CHECK(client.ask(query("SELECT v FROM t"))[1].values()[0] == "10");
}

TEST_CASE("no statement waits for others longer than lock_timeout, which is ten seconds", "[limits]") {
  World world;
  TestClient client = TestClient::ready(world);
  client.ask(query("CREATE TABLE t (id int PRIMARY KEY, v int)") + query("INSERT INTO t VALUES (1, 10)"));
  struct Setup {
    const char* command;
    std::uint64_t longest_ns;
  };
  for (const Setup setup : {Setup{"RESET lock_timeout", 10 * kSecond_ns},
                            Setup{"SET lock_timeout = '20ms'", 20 * kMillisecond_ns}}) {
    client.ask(query(setup.command));
    world.engine.hold_fetches(true);
    const std::uint64_t began_ns = world.executor.now_ns();
    client.send(query("SELECT v FROM t WHERE id = 1"));
    std::vector<Received> messages;
    const std::uint64_t late_ns = began_ns + setup.longest_ns + kSecond_ns;
    world.executor.run_until([&] {
      for (Received& received : client.receive()) messages.push_back(std::move(received));
      return kinds(messages).ends_with("Z") || world.executor.now_ns() >= late_ns;
    });
    world.engine.hold_fetches(false);
    CHECK(world.executor.now_ns() < late_ns);
    REQUIRE(sqlstate(messages) == "55P03");
    CHECK(find_error(messages)->field('M') == "canceling statement due to lock timeout");
    CHECK(find_error(messages)->field('R') == "lock_not_available");
    CHECK(world.executor.now_ns() - began_ns >= setup.longest_ns);
  }
}

TEST_CASE("the cancel of a statement that is retried is answered as one", "[limits]") {
  World world;
  TestClient client(world);
  client.connect();
  const std::string key = cancel_key(client);
  client.ask(query("CREATE TABLE t (id int PRIMARY KEY, v int)") + query("INSERT INTO t VALUES (1, 10)"));
  world.engine.mutable_retry_options().max_attempts = 1'000'000;
  world.engine.fail_commits(1'000'000, ErrorCode::serialization_failure);
  client.pipe().to_server += query("UPDATE t SET v = 0");
  client.pipe().arrived.notify_all();
  world.executor.run_until([&] { return world.engine.backoffs() > 3; });
  TestClient canceler(world);
  canceler.connect();
  canceler.pipe().to_server += big_endian(16, 4) + big_endian(80'877'102, 4) + key;
  canceler.pipe().arrived.notify_all();
  world.executor.run_until([&] { return !client.pipe().to_client.empty(); });
  CHECK(sqlstate(client.receive()) == "57014");
  world.engine.fail_commits(0, ErrorCode::serialization_failure);
}

TEST_CASE("a statement of a client that is gone ends, and those queued behind it are dropped", "[limits]") {
  World world;
  TestClient other = TestClient::ready(world);
  other.ask(query("CREATE TABLE t (id int PRIMARY KEY, v int)") + query("INSERT INTO t VALUES (1, 10)"));
  const std::string updates = query("UPDATE t SET v = v + 1") + query("UPDATE t SET v = v + 1 WHERE id = 1");
  for (const std::string& runs :
       {query("SELECT pg_sleep(1000)"), query("SELECT pg_sleep(1000); UPDATE t SET v = 0"),
        query("BEGIN") + query("UPDATE t SET v = 1") + query("SELECT pg_sleep(1000)") + query("COMMIT"),
        parse("", "SELECT pg_sleep(1000)") + bind("", "") + execute("") + sync()}) {
    TestClient client = TestClient::ready(world);
    client.send(runs + updates);
    const std::uint64_t begin_ns = world.executor.now_ns();
    client.vanish();
    world.executor.run_until([&] { return world.process.connections() == 1; });
    CHECK(world.executor.now_ns() - begin_ns < kSecond_ns);
    CHECK(world.engine.open_transactions() == 0);
  }
  // A statement that waits for others.
  TestClient client = TestClient::ready(world);
  world.engine.hold_fetches(true);
  client.send(updates);
  client.vanish();
  world.executor.run_until([&] { return world.process.connections() == 1; });
  world.engine.hold_fetches(false);
  CHECK(other.ask(query("SELECT v FROM t"))[1].values()[0] == "10");
}

TEST_CASE("prepared statements and portals of a session are bounded", "[limits]") {
  World world;
  TestClient client = TestClient::ready(world);
  const std::string large = "SELECT '" + std::string(1000 * 1000, 'x') + "'";
  std::string state;
  for (int i = 0; i < 64 && state.empty(); ++i)
    state = sqlstate(client.ask(parse("large" + std::to_string(i), large) + sync()));
  CHECK(state == "53200");
  CHECK(kinds(client.ask(query("DEALLOCATE ALL"))) == "CZ");
  CHECK(kinds(client.ask(parse("large", large) + close_target('S', "large") + sync())) == "13Z");
  std::string bytes;
  for (std::size_t i = 0; i <= sql::kMaxPrepared; ++i) bytes += parse("s" + std::to_string(i), "SELECT 1");
  auto messages = client.ask(bytes + sync());
  CHECK(sqlstate(messages) == "53200");
  CHECK(messages.size() == sql::kMaxPrepared + 2);
  CHECK(kinds(client.ask(bind("", "s1") + execute("") + sync())) == "2DCZ");
  client.ask(query("DEALLOCATE ALL"));
  // Portals: of one transaction, since Sync forgets them.
  client.ask(parse("text", "SELECT $1::text") + sync());
  const auto portals = [megabyte = std::string(1 << 20, 'y')](int count) {
    std::string binds;
    for (int i = 0; i < count; ++i) binds += bind("p" + std::to_string(i), "text", {megabyte});
    return binds;
  };
  CHECK(sqlstate(client.ask(portals(70) + sync())) == "53200");
  for (int round = 0; round < 2; ++round)
    CHECK(kinds(client.ask(portals(60) + sync())) == std::string(60, '2') + "Z");
  client.ask(parse("one", "SELECT 1") + sync());
  std::string many;
  for (std::size_t i = 0; i <= sql::kMaxPrepared; ++i) many += bind("p" + std::to_string(i), "one", {});
  messages = client.ask(many + sync());
  CHECK(sqlstate(messages) == "53200");
  CHECK(messages.size() == sql::kMaxPrepared + 2);
}

}  // namespace namdb::pgwire
