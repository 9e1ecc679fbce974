// SQL's prepared statements and cursors are those of the protocol: each side reads what the other has made.
#include <catch2/catch.hpp>

#include "compute/pgwire/testing/test_client.h"

namespace namdb::pgwire {

using namespace testing;  // NOLINT: the messages are the vocabulary of this file

namespace {

TestClient with_rows(World& world) {
  TestClient client = TestClient::ready(world);
  REQUIRE(sqlstate(client.ask(query("CREATE TABLE t (id int PRIMARY KEY, v int)"))).empty());
  REQUIRE(
      sqlstate(client.ask(query("INSERT INTO t SELECT x, x * 10 FROM generate_series(1, 6) AS x"))).empty());
  return client;
}

// The first values of all rows, separated by blanks.
std::string rows(const std::vector<Received>& messages) {
  std::string all;
  for (const Received& received : messages) {
    if (received.type == 'D') all += (all.empty() ? "" : " ") + received.values()[0].value_or("NULL");
  }
  return all;
}

std::string tag(const std::vector<Received>& messages) {
  for (const Received& received : messages) {
    if (received.type == 'C') return received.payload.substr(0, received.payload.size() - 1);
  }
  return {};
}

// The names of the columns of a RowDescription.
std::string columns(const std::vector<Received>& messages) {
  for (const Received& received : messages) {
    if (received.type != 'T') continue;
    std::string all;
    for (std::size_t at = 2; at < received.payload.size();) {
      const std::size_t end = received.payload.find('\0', at);
      all += (all.empty() ? "" : " ") + received.payload.substr(at, end - at);
      at = end + 19;
    }
    return all;
  }
  return {};
}

std::string run(std::string_view sql) {
  return parse("", sql) + bind("", "") + execute("") + sync();
}

}  // namespace

TEST_CASE("EXECUTE is described as the statement that it names, by PREPARE or by Parse", "[cursor]") {
  World world;
  TestClient client = with_rows(world);
  CHECK(kinds(client.ask(parse("mine", "SELECT id, v FROM t WHERE id > $1 ORDER BY id") + sync())) == "1Z");
  auto messages = client.ask(parse("", "EXECUTE mine(4)") + describe('S', "") + bind("", "") +
                             describe('P', "") + execute("") + sync());
  CHECK(kinds(messages) == "1tT2TDDCZ");
  CHECK(columns(messages) == "id v");
  CHECK(rows(messages) == "5 6");
  CHECK(tag(messages) == "SELECT 2");
  CHECK(sqlstate(client.ask(query("PREPARE mine AS SELECT 1"))) == "42P05");
  CHECK(sqlstate(client.ask(run("PREPARE other (int) AS UPDATE t SET v = $1 WHERE id = 1"))).empty());
  CHECK(kinds(client.ask(describe('S', "other") + sync())) == "tnZ");
  CHECK(tag(client.ask(bind("", "other", {"5"}) + execute("") + sync())) == "UPDATE 1");
  CHECK(tag(client.ask(run("EXECUTE other(6)"))) == "UPDATE 1");
  CHECK(sqlstate(client.ask(parse("other", "SELECT 1") + sync())) == "42P05");
  CHECK(sqlstate(client.ask(query("DEALLOCATE mine"))).empty());
  CHECK(sqlstate(client.ask(bind("", "mine", {"1"}) + sync())) == "26000");
  client.ask(close_target('S', "other") + sync());
  messages = client.ask(query("EXECUTE other(1)"));
  CHECK(sqlstate(messages) == "26000");
}

TEST_CASE("a prepared EXECUTE follows the name that it executes", "[cursor]") {
  World world;
  TestClient client = with_rows(world);
  CHECK(kinds(client.ask(parse("e", "EXECUTE s(1)") + sync())) == "1Z");
  CHECK(sqlstate(client.ask(bind("", "e") + execute("") + sync())) == "26000");
  client.ask(query("PREPARE s (int) AS SELECT $1 AS number"));
  auto messages = client.ask(bind("", "e") + describe('P', "") + execute("") + sync());
  CHECK(columns(messages) == "number");
  CHECK(rows(messages) == "1");
  client.ask(query("DEALLOCATE s; PREPARE s (text) AS SELECT $1 || '!' AS text"));
  messages = client.ask(bind("", "e") + describe('P', "") + execute("") + sync());
  CHECK(columns(messages) == "text");
  CHECK(rows(messages) == "1!");
  // With another number of parameters.
  client.ask(query("DEALLOCATE s; PREPARE s AS SELECT 1"));
  messages = client.ask(bind("", "e") + execute("") + sync());
  CHECK(sqlstate(messages) == "42601");
  CHECK(find_error(messages)->field('D') == "Expected 0 parameters but got 1.");
  CHECK(sqlstate(client.ask(parse("s2", "EXECUTE e") + bind("", "s2") + execute("") + sync())) == "0A000");
}

TEST_CASE("a statement that EXECUTE runs alone is tried again like any other", "[cursor]") {
  World world;
  TestClient client = with_rows(world);
  client.ask(query("PREPARE w (int) AS UPDATE t SET v = v + $1 WHERE id = 1"));
  for (const std::string& sent : {query("EXECUTE w(1)"), run("EXECUTE w(1)")}) {
    world.engine.fail_commits(2, ErrorCode::serialization_failure);
    client.send(sent);
    std::vector<Received> messages;
    world.executor.run_until([&] {
      for (Received& received : client.receive()) messages.push_back(std::move(received));
      return !messages.empty() && messages.back().type == 'Z';
    });
    CHECK(tag(messages) == "UPDATE 1");
  }
  CHECK(rows(client.ask(query("SELECT v FROM t WHERE id = 1"))) == "12");
}

TEST_CASE("FETCH reads a portal that Bind made, and Execute reads a declared cursor", "[cursor]") {
  World world;
  TestClient client = with_rows(world);
  client.ask(query("BEGIN"));
  client.ask(parse("s", "SELECT id FROM t WHERE id < $1 ORDER BY id") + bind("p", "s", {"6"}) + sync());
  CHECK(rows(client.ask(query("FETCH 2 FROM p"))) == "1 2");
  auto messages = client.ask(execute("p", 1) + sync());
  CHECK(kinds(messages) == "DsZ");
  CHECK(rows(messages) == "3");
  messages =
      client.ask(parse("", "FETCH ALL FROM p") + describe('S', "") + bind("", "") + execute("") + sync());
  CHECK(kinds(messages) == "1tT2DDCZ");
  CHECK(rows(messages) == "4 5");
  CHECK(tag(messages) == "FETCH 2");
  CHECK(tag(client.ask(execute("p") + sync())) == "SELECT 0");
  client.ask(query("DECLARE c SCROLL CURSOR FOR SELECT id FROM t ORDER BY id"));
  CHECK(kinds(client.ask(describe('P', "c") + sync())) == "TZ");
  messages = client.ask(execute("c", 4) + sync());
  CHECK(kinds(messages) == "DDDDsZ");
  CHECK(rows(client.ask(query("FETCH BACKWARD 2 FROM c"))) == "3 2");
  messages = client.ask(execute("c") + sync());
  CHECK(rows(messages) == "3 4 5 6");
  CHECK(tag(messages) == "SELECT 4");
  CHECK(rows(client.ask(query("FETCH PRIOR FROM c"))) == "6");
  CHECK(kinds(client.ask(close_target('P', "c") + sync())) == "3Z");
  CHECK(sqlstate(client.ask(query("FETCH c"))) == "34000");
  client.ask(query("ROLLBACK"));
}

TEST_CASE("a portal of a writing statement gives its rows to FETCH, and writes once", "[cursor]") {
  World world;
  TestClient client = with_rows(world);
  client.ask(query("BEGIN"));
  client.ask(parse("s", "UPDATE t SET v = v + 1 RETURNING id") + bind("p", "s") + sync());
  CHECK(rows(client.ask(query("FETCH 2 FROM p"))) == "1 2");
  CHECK(rows(client.ask(execute("p", 3) + sync())) == "3 4 5");
  CHECK(rows(client.ask(query("FETCH ALL FROM p"))) == "6");
  client.ask(query("COMMIT"));
  CHECK(rows(client.ask(query("SELECT sum(v) FROM t"))) == "216");
  client.ask(query("BEGIN"));
  client.ask(parse("", "SHOW ALL") + bind("q", "") + sync());
  CHECK(sqlstate(client.ask(query("FETCH q"))) == "0A000");
  client.ask(query("ROLLBACK; BEGIN"));
  CHECK(sqlstate(client.ask(parse("", "FETCH self") + bind("self", "") + execute("self") + sync())) ==
        "55000");
  client.ask(query("ROLLBACK"));
}

TEST_CASE("a prepared FETCH has the columns of the cursor of that name", "[cursor]") {
  World world;
  TestClient client = with_rows(world);
  CHECK(kinds(client.ask(parse("f", "FETCH 1 FROM c") + sync())) == "1Z");
  client.ask(query("BEGIN; DECLARE c CURSOR FOR SELECT id AS first FROM t ORDER BY id"));
  auto messages = client.ask(bind("", "f") + describe('P', "") + execute("") + sync());
  CHECK(columns(messages) == "first");
  CHECK(rows(messages) == "1");
  client.ask(query("CLOSE c; DECLARE c CURSOR FOR SELECT 'x' AS second"));
  messages = client.ask(bind("", "f") + describe('P', "") + execute("") + sync());
  CHECK(columns(messages) == "second");
  CHECK(rows(messages) == "x");
  CHECK(kinds(client.ask(parse("", "MOVE 1 IN c") + describe('S', "") + bind("", "") + execute("") +
                         sync())) == "1tn2CZ");
  // Another session's cursor of that name has columns of its own.
  TestClient other = TestClient::ready(world);
  other.ask(query("BEGIN; DECLARE c CURSOR FOR SELECT 7 AS third"));
  messages =
      other.ask(parse("f", "FETCH 1 FROM c") + describe('S', "f") + bind("", "f") + execute("") + sync());
  CHECK(columns(messages) == "third");
  CHECK(rows(messages) == "7");
  other.vanish();
}

TEST_CASE("a portal of a block that has failed hears of that", "[cursor]") {
  World world;
  TestClient client = TestClient::ready(world);
  client.ask(query("BEGIN"));
  const auto messages = client.ask(parse("", "SELECT 1 / (2 - i) FROM generate_series(1, 3) i") +
                                   bind("", "") + execute("", 1) + execute("", 1) + sync());
  CHECK(kinds(messages) == "12DsEZ");
  CHECK(sqlstate(messages) == "22012");
  CHECK(sqlstate(client.ask(execute("", 1) + sync())) == "25P02");
  CHECK(sqlstate(client.ask(describe('P', "") + sync())) == "25P02");
  client.ask(query("ROLLBACK"));
  CHECK(sqlstate(client.ask(execute("", 1) + sync())) == "34000");
}

TEST_CASE("DECLARE takes the values of parameters, and keeps them", "[cursor]") {
  World world;
  TestClient client = with_rows(world);
  client.ask(query("BEGIN"));
  CHECK(kinds(client.ask(
            parse("", "DECLARE c CURSOR FOR SELECT id FROM t WHERE id > $1 AND $2 <> '' ORDER BY id") +
            describe('S', "") + bind("", "", {"3", std::string(100, 'x')}) + execute("") + sync())) ==
        "1tn2CZ");
  client.ask(parse("", "SELECT $1") + bind("", "", {std::string(200, 'y')}) + execute("") + sync());
  CHECK(rows(client.ask(query("FETCH ALL FROM c"))) == "4 5 6");
  client.ask(query("ROLLBACK"));
  CHECK(sqlstate(client.ask(query("DECLARE c CURSOR WITH HOLD FOR SELECT $1"))) == "42P02");
  // Between two Syncs there is no block.
  CHECK(sqlstate(client.ask(parse("", "DECLARE c CURSOR FOR SELECT 1") + bind("", "") + execute("") +
                            parse("", "FETCH c") + bind("", "") + execute("") + sync())) == "25P01");
}

TEST_CASE("a BINARY cursor gives binary rows to a simple query", "[cursor]") {
  World world;
  TestClient client = with_rows(world);
  client.ask(query("BEGIN"));
  client.ask(query("DECLARE c BINARY CURSOR FOR SELECT id FROM t ORDER BY id"));
  const auto messages = client.ask(query("FETCH c; SELECT 1"));
  REQUIRE(kinds(messages) == "TDCTDCZ");
  CHECK(messages[0].payload.back() == '\1');
  CHECK(messages[1].values()[0] == std::string("\0\0\0\1", 4));
  CHECK(messages[3].payload.back() == '\0');
  CHECK(messages[4].values()[0] == "1");
  CHECK(rows(client.ask(run("FETCH c"))) == "2");
  CHECK(rows(client.ask(execute("c", 1) + sync())) == "3");
  client.ask(query("ROLLBACK"));
}

TEST_CASE("a suspended portal does not see what its block writes afterwards", "[cursor]") {
  World world;
  TestClient client = with_rows(world);
  client.ask(query("BEGIN"));
  CHECK(rows(client.ask(parse("s", "SELECT v FROM t ORDER BY id") + bind("p", "s") + execute("p", 2) +
                        bind("late", "s") + sync())) == "10 20");
  CHECK(tag(client.ask(run("UPDATE t SET v = 0"))) == "UPDATE 6");
  CHECK(tag(client.ask(run("DELETE FROM t WHERE id = 4"))) == "DELETE 1");
  CHECK(kinds(client.ask(execute("p", 3) + sync())) == "DDDsZ");
  CHECK(rows(client.ask(execute("p") + sync())) == "60");
  CHECK(rows(client.ask(execute("late") + sync())) == "10 20 30 40 50 60");
  CHECK(rows(client.ask(bind("new", "s") + execute("new") + sync())) == "0 0 0 0 0");
  client.ask(query("ROLLBACK"));
  // In an implicit transaction, too.
  CHECK(rows(client.ask(bind("p", "s") + parse("", "DELETE FROM t") + bind("", "") + execute("") +
                        execute("p", 4) + sync())) == "10 20 30 40");
}

TEST_CASE("a table is not replaced while a portal of the block reads it, until that is closed", "[cursor]") {
  World world;
  TestClient client = with_rows(world);
  client.ask(query("BEGIN"));
  client.ask(parse("s", "SELECT id FROM t ORDER BY id") + bind("p", "s") + execute("p", 2) + sync());
  CHECK(sqlstate(client.ask(query("TRUNCATE t"))) == "55006");
  client.ask(query("ROLLBACK; BEGIN"));
  client.ask(bind("p", "s") + execute("p") + sync());  // it has given all rows
  CHECK(sqlstate(client.ask(query("DROP TABLE t"))) == "55006");
  client.ask(query("ROLLBACK; BEGIN"));
  // A statement that is bound without a name, or sent as a simple query, takes the unnamed portal's place.
  client.ask(bind("p", "s") + close_target('P', "p") + bind("", "s") + execute("", 1) + sync());
  CHECK(sqlstate(client.ask(run("TRUNCATE t"))).empty());
  client.ask(query("ROLLBACK; BEGIN"));
  client.ask(bind("", "s") + execute("", 1) + sync());
  CHECK(sqlstate(client.ask(query("TRUNCATE t"))).empty());
}

TEST_CASE("a query without columns gives rows without values", "[cursor]") {
  World world;
  TestClient client = with_rows(world);
  CHECK(kinds(client.ask(query("SELECT FROM t WHERE id < 3"))) == "TDDCZ");
  CHECK(kinds(client.ask(parse("", "SELECT FROM t") + describe('S', "") + bind("", "") + describe('P', "") +
                         execute("", 1) + execute("") + sync())) == "1tT2TDsDDDDDCZ");
  CHECK(tag(client.ask(query("SELECT"))) == "SELECT 1");
}

TEST_CASE("a cursor shows the rows as they were when it was declared", "[cursor]") {
  World world;
  TestClient client = with_rows(world);
  TestClient other = TestClient::ready(world);
  client.ask(query("BEGIN; DECLARE c CURSOR FOR SELECT count(*) FROM t"));
  CHECK(tag(other.ask(query("INSERT INTO t VALUES (100, 0)"))) == "INSERT 0 1");
  CHECK(rows(client.ask(query("FETCH c"))) == "6");
  client.ask(query("COMMIT"));
  other.vanish();
}

TEST_CASE("WITH HOLD outlives its transaction, which may be tried again", "[cursor]") {
  World world;
  TestClient client = with_rows(world);
  world.engine.fail_fetches(1, ErrorCode::snapshot_unstable);
  client.send(run("DECLARE h SCROLL CURSOR WITH HOLD FOR SELECT id FROM t ORDER BY id"));
  world.executor.run_until([&] { return !client.pipe().to_client.empty(); });
  CHECK(tag(client.receive()) == "DECLARE CURSOR");
  CHECK(world.engine.open_transactions() == 0);
  CHECK(rows(client.ask(query("FETCH 2 FROM h"))) == "1 2");
  CHECK(kinds(client.ask(execute("h", 1) + sync())) == "DsZ");
  CHECK(rows(client.ask(query("FETCH BACKWARD ALL FROM h"))) == "2 1");
  CHECK(tag(client.ask(run("DELETE FROM t"))) == "DELETE 6");
  CHECK(rows(client.ask(execute("h") + sync())) == "1 2 3 4 5 6");
  CHECK(world.engine.open_transactions() == 0);
  CHECK(sqlstate(client.ask(query("CLOSE h"))).empty());
  CHECK(sqlstate(client.ask(query("FETCH h"))) == "34000");
  // A commit that fails leaves none.
  client.ask(query("BEGIN; DECLARE h CURSOR WITH HOLD FOR SELECT id FROM t; INSERT INTO t VALUES (1, 1)"));
  world.engine.fail_commits(1, ErrorCode::serialization_failure);
  CHECK(sqlstate(client.ask(query("COMMIT"))) == "40001");
  CHECK(sqlstate(client.ask(query("FETCH h"))) == "34000");
}

TEST_CASE("the rows that cursors keep count as memory of clients", "[cursor]") {
  constexpr std::uint64_t kLimit_bytes = 1 << 20;
  World world({.client_memory_bytes = kLimit_bytes});
  TestClient client = TestClient::ready(world);
  const auto used = [&] { return world.process.client_memory().used_bytes(); };
  const std::string wide = "SELECT g, '" + std::string(1000, 'x') + "' FROM generate_series(1, 5000) AS g";
  client.ask(query("CREATE TABLE t (id int PRIMARY KEY)"));
  CHECK(used() == 0);
  client.ask(query("BEGIN; DECLARE c CURSOR FOR " + wide));
  for (int i = 0; i < 5; ++i) CHECK(kinds(client.ask(query("FETCH 1000 FROM c"))).substr(0, 3) == "TDD");
  CHECK(used() < 20'000);
  client.ask(query("CLOSE c"));
  CHECK(used() == 0);
  client.ask(query("DECLARE c SCROLL CURSOR FOR " + wide));
  CHECK(sqlstate(client.ask(query("FETCH 500 FROM c"))).empty());
  CHECK(used() > 500'000);
  CHECK(sqlstate(client.ask(query("FETCH 1000 FROM c"))) == "53200");
  client.ask(query("ROLLBACK"));
  CHECK(used() == 0);
  CHECK(sqlstate(client.ask(query("DECLARE c CURSOR WITH HOLD FOR " + wide))) == "53200");
  CHECK(sqlstate(client.ask(query("FETCH c"))) == "34000");
  client.ask(query("BEGIN; DECLARE c CURSOR WITH HOLD FOR " + wide));
  CHECK(sqlstate(client.ask(query("COMMIT"))) == "53200");
  CHECK(used() == 0);
  // Prepared by SQL.
  client.ask(query("PREPARE p AS SELECT '" + std::string(10'000, 'x') + "'"));
  CHECK(used() > 20'000);
  client.ask(query("DECLARE h CURSOR WITH HOLD FOR SELECT '" + std::string(10'000, 'x') + "'"));
  CHECK(used() > 50'000);
  client.ask(query("DISCARD ALL"));
  CHECK(used() == 0);
  client.vanish();
}

TEST_CASE("the number of a session's portals counts those that are open", "[cursor]") {
  World world;
  TestClient client = TestClient::ready(world);
  client.ask(query("BEGIN; SAVEPOINT s"));
  for (int i = 0; i < 12'000; ++i) {
    const std::string name = "c" + std::to_string(i);
    client.ask(query("DECLARE " + name + " CURSOR FOR SELECT 1; ROLLBACK TO s"));
  }
  CHECK(sqlstate(client.ask(query("DECLARE last CURSOR FOR SELECT 1"))).empty());
  client.ask(query("ROLLBACK"));
}

}  // namespace namdb::pgwire
