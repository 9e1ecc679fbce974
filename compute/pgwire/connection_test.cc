// Whole connections over streams in memory: messages and their answers.
#include <catch2/catch.hpp>

#include "common/base/random.h"
#include "compute/pgwire/testing/test_client.h"

namespace namdb::pgwire {

using namespace testing;  // NOLINT: the messages are the vocabulary of this file

TEST_CASE("start-up answers with parameters, a key, and ready", "[connection]") {
  World world;
  TestClient client(world);
  client.connect();
  client.send(big_endian(8, 4) + big_endian(80'877'103, 4));
  CHECK(client.pipe().to_client == "N");
  client.pipe().to_client.clear();
  const auto messages =
      client.ask(startup({{"user", "me"}, {"database", "namdb"}, {"application_name", "test"}}));
  const std::string order = kinds(messages);
  CHECK(order.front() == 'R');
  CHECK(order.substr(order.size() - 2) == "KZ");
  CHECK(messages.back().payload == "I");
  bool version = false;
  for (const Received& received : messages) {
    version = version || received.payload.starts_with(zero_terminated("server_version") + "15.");
  }
  CHECK(version);
}

TEST_CASE("start-up refuses what it cannot serve", "[connection]") {
  World world;
  const auto refused = [&](const std::string& bytes, bool local = true) {
    TestClient client(world);
    if (!local) client.pipe().peer = "192.0.2.7:4000";
    client.connect();
    const auto messages = client.ask(bytes);
    CHECK(client.pipe().server_closed);
    CHECK(messages.size() == 1);
    return sqlstate(messages);
  };
  CHECK(refused(startup({{"user", "u"}, {"database", "postgres"}})) == "3D000");
  CHECK(refused(startup({{"database", "namdb"}})) == "28000");
  CHECK(refused(startup({{"user", "u"}, {"database", "namdb"}}), false) == "28000");
  CHECK(refused(startup({{"user", "u"}, {"database", "namdb"}, {"nosuch", "1"}})) == "42704");
  CHECK(refused(startup({{"user", "u"}, {"database", "namdb"}, {"client_encoding", "LATIN1"}})) == "0A000");
  CHECK(refused(startup({{"user", "u"}}, 2U << 16)) == "0A000");
  CHECK(refused("GET / HTTP/1.1\r\nHost: x\r\n\r\n") == "08P01");
  CHECK(refused(big_endian(0x7fffffff, 4)) == "08P01");
  CHECK(world.process.connections() == 0);
}

TEST_CASE("a newer minor version is negotiated down", "[connection]") {
  World world;
  TestClient client(world);
  client.connect();
  const auto messages =
      client.ask(startup({{"user", "u"}, {"database", "namdb"}, {"_pq_.x", "1"}}, (3U << 16) + 2));
  CHECK(messages.front().type == 'v');
  CHECK(messages.front().payload == big_endian(3U << 16, 4) + big_endian(1, 4) + zero_terminated("_pq_.x"));
}

TEST_CASE("more clients than allowed are told so, and a place becomes free again", "[connection]") {
  World world({.max_connections = 1});
  TestClient first = TestClient::ready(world);
  TestClient second(world);
  second.connect();
  CHECK(sqlstate(second.ask(startup({{"user", "u"}, {"database", "namdb"}}))) == "53300");
  first.send(terminate());
  CHECK(first.pipe().server_closed);
  TestClient third = TestClient::ready(world);
  CHECK(kinds(third.ask(query(""))) == "IZ");
}

TEST_CASE("the last connections are for superusers", "[connection]") {
  World world({.max_connections = 3, .reserved_connections = 1, .superusers = {"namctl"}});
  const auto connect = [&](std::string_view user) {
    TestClient client(world);
    client.connect();
    const auto messages = client.ask(startup({{"user", user}, {"database", "namdb"}}));
    return std::pair(client, messages);
  };
  const auto [first, first_messages] = connect("a");
  const auto [second, second_messages] = connect("b");
  CHECK(kinds(first_messages).back() == 'Z');
  CHECK(kinds(second_messages).back() == 'Z');
  const auto refused = connect("c").second;
  CHECK(sqlstate(refused) == "53300");
  CHECK(find_error(refused)->field('M') ==
        "remaining connection slots are reserved for superuser connections");
  auto [kept, kept_messages] = connect("namctl");
  CHECK(kinds(kept_messages).back() == 'Z');
  CHECK(kept.ask(query("SHOW is_superuser"))[1].values()[0] == "on");
  CHECK(sqlstate(connect("namctl").second) == "53300");
  CHECK(world.process.connections() == 3);
}

TEST_CASE("a client that connects and says nothing is cut off", "[connection]") {
  World world({.startup_timeout_ns = kSecond_ns});
  TestClient client(world);
  client.connect();
  client.send(big_endian(8, 4).substr(0, 3));
  CHECK_FALSE(client.pipe().server_closed);
  world.executor.run_until([&] { return client.pipe().server_closed; });
  CHECK(client.pipe().server_closed);
}

TEST_CASE("simple queries: rows, several statements, errors with a place", "[connection]") {
  World world;
  TestClient client = TestClient::ready(world);
  auto messages = client.ask(query("SELECT 1 AS a, NULL, 'x'"));
  CHECK(kinds(messages) == "TDCZ");
  CHECK(messages[1].values() == std::vector<std::optional<std::string>>{"1", std::nullopt, "x"});
  CHECK(messages[2].payload == zero_terminated("SELECT 1"));
  CHECK(kinds(client.ask(query("SELECT 1; SELECT 2; SELECT nosuch; SELECT 3"))) == "TDCTDCEZ");
  messages = client.ask(query("SELECT 1, )"));
  CHECK(sqlstate(messages) == "42601");
  CHECK(find_error(messages)->field('P') == "11");
  CHECK(kinds(client.ask(query(" ;; "))) == "IZ");
  CHECK(kinds(client.ask(query("SET application_name = 'x'"))) == "SCZ");
  CHECK(sqlstate(client.ask(query("\xff"))) == "22021");
}

TEST_CASE("a client is told what its settings have gone back to at the end of a block", "[connection]") {
  World world;
  TestClient client = TestClient::ready(world);
  client.ask(query("SET application_name = 'mine'"));
  const auto told = [&client](const std::string& end) {
    std::vector<std::string> statuses;
    for (const Received& received : client.ask(query(end))) {
      if (received.type == 'S') statuses.push_back(received.payload);
    }
    return statuses;
  };
  const std::vector<std::string> back{zero_terminated("application_name") + zero_terminated("mine")};
  for (const char* end : {"COMMIT", "ROLLBACK"}) {
    client.ask(query("BEGIN; SET LOCAL application_name = 'local'"));
    CHECK(told(end) == back);
    CHECK(told("SHOW application_name").empty());
  }
  client.ask(query("BEGIN; SET application_name = 'undone'"));
  CHECK(told("ROLLBACK") == back);
  client.ask(query("BEGIN; SET LOCAL application_name = 'local'; SELECT nosuch"));
  CHECK(told("COMMIT") == back);
  // Settings are unchanged, or keep their new values.
  for (const char* block : {"BEGIN", "BEGIN; SET application_name = 'mine'"}) {
    client.ask(query(block));
    CHECK(told("COMMIT").empty());
  }
}

TEST_CASE("ready-for-query tells idle, in a block, and failed", "[connection]") {
  World world;
  TestClient client = TestClient::ready(world);
  CHECK(client.ask(query("BEGIN")).back().payload == "T");
  CHECK(client.ask(query("SELECT nosuch")).back().payload == "E");
  CHECK(sqlstate(client.ask(query("SELECT 1"))) == "25P02");
  const auto messages = client.ask(query("COMMIT"));
  CHECK(messages[messages.size() - 2].payload == zero_terminated("ROLLBACK"));
  CHECK(messages.back().payload == "I");
  CHECK(kinds(client.ask(query("COMMIT"))) == "NCZ");
}

TEST_CASE("the extended protocol: parse, bind, describe, execute, close", "[connection]") {
  World world;
  TestClient client = TestClient::ready(world);
  client.ask(query("CREATE TABLE t (id int PRIMARY KEY, v text)"));
  CHECK(kinds(client.ask(parse("ins", "INSERT INTO t VALUES ($1, $2)") + bind("", "ins", {"1", "one"}) +
                         describe('P', "") + execute("") + sync())) == "12nCZ");
  auto messages = client.ask(parse("get", "SELECT v FROM t WHERE id = $1") + describe('S', "get") + sync());
  CHECK(kinds(messages) == "1tTZ");
  CHECK(messages[1].payload == big_endian(1, 2) + big_endian(23, 4));
  messages = client.ask(bind("", "get", {"1"}) + execute("") + bind("", "get", {{}}) + execute("") + sync());
  CHECK(kinds(messages) == "2DC2CZ");
  CHECK(messages[1].values()[0] == "one");
  CHECK(kinds(client.ask(close_target('S', "get") + sync())) == "3Z");
  CHECK(sqlstate(client.ask(bind("", "get", {"1"}) + sync())) == "26000");
  CHECK(sqlstate(client.ask(execute("nosuch") + sync())) == "34000");
  CHECK(sqlstate(client.ask(parse("ins", "SELECT 1") + sync())) == "42P05");
  CHECK(sqlstate(client.ask(bind("", "ins", {"1"}) + sync())) == "08P01");
  CHECK(sqlstate(client.ask(bind("", "ins", {"x", "y"}) + sync())) == "22P02");
  CHECK(sqlstate(client.ask(parse("", "SELECT 1; SELECT 2") + sync())) == "42601");
}

TEST_CASE("the unnamed statement ends with the next one and with a simple query", "[connection]") {
  World world;
  TestClient client = TestClient::ready(world);
  client.ask(parse("", "SELECT 1") + sync());
  CHECK(kinds(client.ask(bind("", "") + execute("") + sync())) == "2DCZ");
  CHECK(sqlstate(client.ask(parse("", "SELEC") + sync())) == "42601");
  CHECK(sqlstate(client.ask(bind("", "") + sync())) == "26000");
  client.ask(parse("", "SELECT 1") + sync() + query(""));
  CHECK(sqlstate(client.ask(bind("", "") + sync())) == "26000");
}

TEST_CASE("in a failed block only its end is prepared, described and run", "[connection]") {
  World world;
  TestClient client = TestClient::ready(world);
  client.ask(parse("rows", "SELECT 1") + parse("none", "SET jit = off") + sync() +
             query("BEGIN; SELECT nosuch"));
  CHECK(sqlstate(client.ask(parse("", "SELECT 1") + sync())) == "25P02");
  CHECK(sqlstate(client.ask(bind("", "rows") + sync())) == "25P02");
  CHECK(sqlstate(client.ask(describe('S', "rows") + sync())) == "25P02");
  CHECK(kinds(client.ask(describe('S', "none") + parse("", "") + query("") + sync())) == "tn1IZZ");
  CHECK(client.ask(parse("", "ROLLBACK") + bind("", "") + execute("") + sync()).back().payload == "I");
  CHECK(kinds(client.ask(bind("", "rows") + execute("") + sync())) == "2DCZ");
}

TEST_CASE("after an error messages are skipped until sync", "[connection]") {
  World world;
  TestClient client = TestClient::ready(world);
  CHECK(kinds(client.ask(parse("", "SELECT nosuch") + bind("", "") + execute("") + query("SELECT 1") +
                         sync() + query("SELECT 2"))) == "EZTDCZ");
}

TEST_CASE("a pipeline is answered in order and in one write", "[connection]") {
  World world;
  TestClient client = TestClient::ready(world);
  client.ask(parse("n", "CALL echo($1, 'x', 1.5, true, NULL, 2)") + sync());
  std::string bytes;
  for (int i = 0; i < 16; ++i) bytes += bind("", "n", {std::to_string(i)}) + describe('P', "") + execute("");
  const std::size_t writes = client.pipe().writes;
  const auto messages = client.ask(bytes + sync());
  CHECK(client.pipe().writes == writes + 1);
  REQUIRE(messages.size() == 16 * 4 + 1);
  for (std::size_t i = 0; i < 16; ++i) CHECK(messages[i * 4 + 2].values()[0] == std::to_string(i));
}

TEST_CASE("statements between two syncs are one transaction", "[connection]") {
  World world;
  TestClient client = TestClient::ready(world);
  client.ask(query("CREATE TABLE t (id int PRIMARY KEY)") + parse("i", "INSERT INTO t VALUES ($1)") + sync());
  CHECK(kinds(client.ask(bind("", "i", {"1"}) + execute("") + bind("", "i", {"1"}) + execute("") +
                         bind("", "i", {"2"}) + execute("") + sync())) == "2C2EZ");
  CHECK(client.ask(query("SELECT count(*) FROM t"))[1].values()[0] == "0");
  CHECK(kinds(client.ask(bind("", "i", {"1"}) + execute("") + bind("", "i", {"2"}) + execute("") + sync())) ==
        "2C2CZ");
  CHECK(client.ask(query("SELECT count(*) FROM t"))[1].values()[0] == "2");
  CHECK(world.engine.open_transactions() == 0);
}

TEST_CASE("an empty query ends the transaction of the messages before it", "[connection]") {
  World world;
  TestClient client = TestClient::ready(world);
  client.ask(query("CREATE TABLE t (id int PRIMARY KEY)") + parse("i", "INSERT INTO t VALUES ($1)") + sync());
  CHECK(kinds(client.ask(bind("", "i", {"1"}) + execute("") + query(""))) == "2CIZ");
  CHECK(world.engine.open_transactions() == 0);
  CHECK(TestClient::ready(world).ask(query("SELECT count(*) FROM t"))[1].values()[0] == "1");
}

TEST_CASE("a block that only reads does not forbid the writes of the next pipeline", "[connection]") {
  World world;
  TestClient client = TestClient::ready(world);
  client.ask(query("CREATE TABLE t (id int PRIMARY KEY)") + parse("i", "INSERT INTO t VALUES ($1)") + sync());
  const auto pipeline = [&client](int first) {
    std::string bytes;
    for (int id = first; id < first + 2; ++id) bytes += bind("", "i", {std::to_string(id)}) + execute("");
    return client.ask(bytes + sync());
  };
  for (const std::string end : {"COMMIT", "ROLLBACK"}) {
    client.ask(query("BEGIN READ ONLY") + query("SELECT 1") + query(end));
    CHECK(kinds(pipeline(end == "COMMIT" ? 1 : 3)) == "2C2CZ");
  }
  client.ask(query("SET default_transaction_read_only = on"));
  CHECK(sqlstate(pipeline(5)) == "25006");
  client.ask(query("DISCARD ALL") + parse("i", "INSERT INTO t VALUES ($1)") + sync());
  CHECK(kinds(pipeline(5)) == "2C2CZ");
  CHECK(client.ask(query("SELECT count(*) FROM t"))[1].values()[0] == "6");
}

TEST_CASE("an execute that the sync does not follow at once waits for the next message", "[connection]") {
  World world;
  TestClient client = TestClient::ready(world);
  client.ask(query("CREATE TABLE t (id int PRIMARY KEY)"));
  CHECK(kinds(client.ask(parse("", "INSERT INTO t VALUES (1)") + bind("", "") + execute(""))) == "12");
  CHECK(world.engine.begun_transactions() == 0);
  CHECK(kinds(client.ask(sync())) == "CZ");
  CHECK(kinds(client.ask(parse("", "INSERT INTO t VALUES (2)") + bind("", "") + execute("") + flush())) ==
        "12C");
  CHECK(world.engine.open_transactions() == 1);
  CHECK(kinds(client.ask(sync())) == "Z");
  CHECK(world.engine.open_transactions() == 0);
}

TEST_CASE("portals stop at a row limit and go on", "[connection]") {
  World world;
  TestClient client = TestClient::ready(world);
  client.ask(query("CREATE TABLE t (id int PRIMARY KEY)") +
             query("INSERT INTO t VALUES (1),(2),(3),(4),(5)"));
  CHECK(kinds(client.ask(parse("s", "SELECT id FROM t") + bind("p", "s") + execute("p", 2) + execute("p", 2) +
                         execute("p", 2) + execute("p", 2) + sync())) == "12DDsDDsDCCZ");
  CHECK(sqlstate(client.ask(execute("p", 2) + sync())) == "34000");
  client.ask(query("BEGIN"));
  CHECK(kinds(client.ask(bind("p", "s") + execute("p", 3) + sync())) == "2DDDsZ");
  CHECK(kinds(client.ask(execute("p", 3) + sync())) == "DDCZ");
  CHECK(kinds(client.ask(bind("q", "s") + execute("q", 1) + sync() + query("COMMIT"))) == "2DsZCZ");
  CHECK(sqlstate(client.ask(execute("q", 1) + sync())) == "34000");
  CHECK(kinds(client.ask(parse("", "SHOW ALL") + bind("", "") + execute("", 2) + execute("", 1) + sync())) ==
        "12DDsDsZ");
}

TEST_CASE("a client that vanishes leaves no transaction behind", "[connection]") {
  World world;
  TestClient client = TestClient::ready(world);
  client.ask(query("CREATE TABLE t (id int PRIMARY KEY)") + query("BEGIN") +
             query("INSERT INTO t VALUES (1)"));
  CHECK(world.engine.open_transactions() == 1);
  client.vanish();
  CHECK(world.engine.open_transactions() == 0);
  CHECK(world.server->connections() == 0);
  CHECK(world.process.connections() == 0);
  TestClient other = TestClient::ready(world);
  CHECK(other.ask(query("SELECT count(*) FROM t"))[1].values()[0] == "0");
}

TEST_CASE("a cancel request ends the statement that runs, and only with the right key", "[connection]") {
  World world;
  TestClient client(world);
  client.connect();
  std::string key;
  for (const Received& received : client.ask(startup({{"user", "u"}, {"database", "namdb"}}))) {
    if (received.type == 'K') key = received.payload;
  }
  REQUIRE(key.size() == 8);
  const auto cancel = [&](const std::string& with) {
    TestClient canceler(world);
    canceler.connect();
    canceler.send(big_endian(16, 4) + big_endian(80'877'102, 4) + with);
    CHECK(canceler.pipe().server_closed);
  };
  client.send(query("SELECT pg_sleep(1000)"));
  cancel(key.substr(0, 4) + "\1\2\3\4");
  CHECK(client.receive().empty());
  cancel(key);
  std::vector<Received> messages;
  world.executor.run_until([&] {
    for (Received& received : client.receive()) messages.push_back(std::move(received));
    return !messages.empty() && messages.back().type == 'Z';
  });
  CHECK(sqlstate(messages) == "57014");
  // A cancel request that arrives while nothing runs does not affect the next statement.
  cancel(key);
  CHECK(kinds(client.ask(query("SELECT pg_sleep(0)"))) == "TDCZ");
}

TEST_CASE("conflicts of single statements and calls are retried by the server", "[connection]") {
  World world;
  TestClient client = TestClient::ready(world);
  client.ask(query("CREATE TABLE accounts (id bigint PRIMARY KEY, balance numeric(12,2) NOT NULL)") +
             query("INSERT INTO accounts VALUES (1, 10), (2, 20)"));
  const auto run = [&](const std::string& bytes) {
    std::vector<Received> messages;
    client.send(bytes);
    world.executor.run_until([&] {
      for (Received& received : client.receive()) messages.push_back(std::move(received));
      return !messages.empty() && messages.back().type == 'Z';
    });
    return messages;
  };
  world.engine.fail_commits(3, ErrorCode::serialization_failure);
  auto messages = run(query("CALL transfer(1, 2, 1)"));
  CHECK(kinds(messages) == "TDCZ");
  CHECK(messages[1].values()[0] == "9.00");
  CHECK(world.engine.backoffs() == 3);
  world.engine.fail_fetches(2, ErrorCode::snapshot_unstable);
  CHECK(kinds(run(query("SELECT balance FROM accounts WHERE id = 1"))) == "TDCZ");
  CHECK(world.engine.backoffs() == 5);
  // It holds no locks while it pauses.
  CHECK(world.engine.most_open_at_backoff() == 0);
  world.engine.mutable_retry_options().max_attempts = 2;
  world.engine.fail_commits(2, ErrorCode::serialization_failure);
  CHECK(sqlstate(run(query("UPDATE accounts SET balance = 0 WHERE id = 1"))) == "40001");
  world.engine.fail_commits(1, ErrorCode::unknown_outcome);
  CHECK(sqlstate(run(query("UPDATE accounts SET balance = 0 WHERE id = 1"))) == "40003");
  // Nothing is retried in a block.
  world.engine.fail_commits(1, ErrorCode::serialization_failure);
  messages = run(query("BEGIN; UPDATE accounts SET balance = 0 WHERE id = 1") + query("COMMIT"));
  CHECK(sqlstate(messages) == "40001");
  CHECK(messages.back().payload == "I");
}

TEST_CASE("a statement outlives changes of the catalog, unless its result would change", "[connection]") {
  World world;
  TestClient client = TestClient::ready(world);
  client.ask(query("CREATE TABLE t (id int PRIMARY KEY, v int)") + query("INSERT INTO t VALUES (1, 10)"));
  client.ask(parse("s", "SELECT v FROM t WHERE id = $1") + sync());
  client.ask(query("DROP TABLE t") + query("CREATE TABLE t (v int, id int PRIMARY KEY)") +
             query("INSERT INTO t VALUES (20, 1)"));
  const auto messages = client.ask(bind("", "s", {"1"}) + execute("") + sync());
  REQUIRE(kinds(messages) == "2DCZ");
  CHECK(messages[1].values()[0] == "20");
  client.ask(query("DROP TABLE t") + query("CREATE TABLE t (id int PRIMARY KEY, v text)"));
  CHECK(sqlstate(client.ask(bind("", "s", {"1"}) + execute("") + sync())) == "0A000");
  client.ask(query("DROP TABLE t"));
  CHECK(sqlstate(client.ask(bind("", "s", {"1"}) + execute("") + sync())) == "42P01");
}

TEST_CASE("now() is the transaction's start by the clock on the wall, which may be set", "[connection]") {
  World world;
  TestClient client = TestClient::ready(world);
  const auto told = [&](const std::string& function) {
    return client.ask(query("SELECT " + function + "()"))[1].values()[0].value();
  };
  constexpr std::int64_t kHour_us = 3'600'000'000;
  world.wall_us = 10 * kHour_us;
  CHECK(told("now") == "2000-01-01 10:00:00+00");
  world.wall_us += kHour_us;
  CHECK(told("now") == "2000-01-01 11:00:00+00");
  world.wall_us -= 3 * kHour_us;
  CHECK(told("now") == "2000-01-01 08:00:00+00");
  client.ask(query("BEGIN"));
  world.wall_us += kHour_us;
  CHECK(told("now") == "2000-01-01 08:00:00+00");
  CHECK(told("statement_timestamp") == "2000-01-01 09:00:00+00");
  CHECK(told("clock_timestamp") == "2000-01-01 09:00:00+00");
  client.ask(query("COMMIT"));
  CHECK(told("transaction_timestamp") == "2000-01-01 09:00:00+00");
}

TEST_CASE("an orderly stop tells idle clients good-bye and lets statements end", "[connection]") {
  auto world = std::make_unique<World>();
  TestClient idle = TestClient::ready(*world);
  TestClient busy = TestClient::ready(*world);
  busy.send(query("SELECT pg_sleep(1)"));
  world->stop();
  CHECK(sqlstate(idle.receive()) == "57P01");
  const auto messages = busy.receive();
  CHECK(kinds(messages) == "TDCZE");
  CHECK(sqlstate(messages) == "57P01");
  CHECK(world->engine.open_transactions() == 0);
}

TEST_CASE("messages in pieces of any size give the same answers", "[connection]") {
  const std::string bytes = query("CREATE TABLE t (id int PRIMARY KEY)") +
                            query("INSERT INTO t VALUES (1), (2)") +
                            parse("s", "SELECT id FROM t WHERE id = $1") + bind("", "s", {"2"}) +
                            execute("") + sync() + query("SELECT '" + std::string(40'000, 'x') + "'");
  for (const std::size_t piece : {1U, 3U, 7U, 1000U}) {
    World world;
    TestClient client = TestClient::ready(world);
    client.pipe().read_limit = piece;
    CHECK(kinds(client.ask(bytes)) == "CZCZ12DCZTDCZ");
  }
}

TEST_CASE("garbage ends the connection with an error, or is answered", "[connection]") {
  Random random(7);
  for (int round = 0; round < 300; ++round) {
    World world({.max_message_bytes = 4096});
    TestClient client = TestClient::ready(world);
    const std::vector<std::string> seeds = {
        query("SELECT 1"), parse("", "SELECT $1"), bind("", ""),      execute(""),     sync(),
        describe('P', ""), message('F', "x"),      message('d', "x"), message('!', "")};
    std::string bytes;
    for (int i = 0; i < 5; ++i) bytes += seeds[random.below(seeds.size())];
    for (std::uint64_t change = random.below(4); change > 0; --change)
      bytes[random.below(bytes.size())] = static_cast<char>(random.next());
    client.send(bytes);
    client.vanish();
    CHECK(world.server->connections() == 0);
    CHECK(world.engine.open_transactions() == 0);
  }
  World world;
  TestClient client = TestClient::ready(world);
  CHECK(sqlstate(client.ask("Q" + big_endian(0x7fffffff, 4))) == "08P01");
  CHECK(client.pipe().server_closed);
}

}  // namespace namdb::pgwire
