// Timeouts of transactions, and of blocks whose clients send nothing.
#include <catch2/catch.hpp>

#include "compute/pgwire/testing/test_client.h"

namespace namdb::pgwire {

using namespace testing;  // NOLINT: the messages are the vocabulary of this file

namespace session_timeouts_test {

struct Scene {
  Scene() { client.ask(query("CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 10)")); }
  // The messages that arrive until the server has closed the connection.
  std::vector<Received> until_closed() {
    world.executor.run_until([this] { return client.pipe().server_closed; });
    CHECK(client.pipe().server_closed);
    return client.receive();
  }

  World world;
  TestClient client = TestClient::ready(world);
};

reactor::Task<void> wait_for(World* world, std::uint64_t duration_ns, bool* later) {
  co_await world->executor.sleep_for(duration_ns);
  *later = true;
}

void pass_time(World& world, std::uint64_t duration_ns) {
  bool later = false;
  reactor::Gate gate;
  world.executor.spawn(gate, wait_for(&world, duration_ns, &later));
  world.executor.run_until([&later, &gate] { return later && gate.count() == 0; });
}

// The one error, which ends the session.
std::string end_of(const std::vector<Received>& messages) {
  const Received* error = find_error(messages);
  return error == nullptr ? "none" : error->field('S') + " " + error->field('C') + " " + error->field('M');
}

TEST_CASE("a transaction that the engine ended while it was idle is a failed one", "[timeouts]") {
  Scene scene;
  const std::string statement =
      GENERATE("SELECT v FROM t", "SELECT 1", "SHOW TimeZone", "UPDATE t SET v = 2");
  CAPTURE(statement);
  CHECK(kinds(scene.client.ask(query("BEGIN; SELECT v FROM t"))) == "CTDCZ");
  scene.world.engine.expire_transactions();
  const auto told = scene.client.ask(query(statement));
  CHECK(sqlstate(told) == "25P04");
  CHECK(told.back().payload == "E");
  CHECK(scene.world.engine.open_transactions() == 0);
  CHECK(sqlstate(scene.client.ask(query("SELECT 1"))) == "25P02");
  const auto ended = scene.client.ask(query("ROLLBACK"));
  CHECK(kinds(ended).ends_with("CZ"));
  CHECK(ended.back().payload == "I");
  CHECK(sqlstate(scene.client.ask(query("SELECT v FROM t"))) == "");
}

TEST_CASE("the end of a block that was ended already is an error at COMMIT, not at ROLLBACK", "[timeouts]") {
  Scene scene;
  scene.client.ask(query("BEGIN; UPDATE t SET v = 11"));
  scene.world.engine.expire_transactions();
  CHECK(sqlstate(scene.client.ask(query("COMMIT"))) == "25P04");
  scene.client.ask(query("BEGIN; UPDATE t SET v = 12"));
  scene.world.engine.expire_transactions();
  CHECK(kinds(scene.client.ask(query("ROLLBACK"))).ends_with("CZ"));
  CHECK(scene.client.ask(query("SELECT v FROM t"))[1].values()[0] == "10");
}

TEST_CASE("idle_in_transaction_session_timeout ends the session of an idle block", "[timeouts]") {
  Scene scene;
  scene.client.ask(query("SET idle_in_transaction_session_timeout = '1min'"));
  CHECK(scene.client.ask(query("SHOW idle_in_transaction_session_timeout"))[1].values()[0] == "1min");
  scene.client.ask(query("BEGIN; UPDATE t SET v = 11"));
  // The timeout begins anew with each statement; a failed block counts like any other.
  pass_time(scene.world, 40 * kSecond_ns);
  CHECK(kinds(scene.client.ask(query("SELECT 1"))) == "TDCZ");
  if (GENERATE(false, true)) scene.client.ask(query("SELECT nosuch"));
  const std::uint64_t since_ns = scene.world.executor.now_ns();
  CHECK(end_of(scene.until_closed()) ==
        "FATAL 25P03 terminating connection due to idle-in-transaction timeout");
  CHECK(scene.world.executor.now_ns() - since_ns == 60 * kSecond_ns);
  CHECK(scene.world.engine.open_transactions() == 0);
  TestClient other = TestClient::ready(scene.world);
  CHECK(other.ask(query("SELECT v FROM t"))[1].values()[0] == "10");
}

TEST_CASE("an idle block gives back what it has even if its client does not read why", "[timeouts]") {
  Scene scene;
  scene.client.ask(query("SET idle_in_transaction_session_timeout = 500"));
  scene.client.ask(query("BEGIN; UPDATE t SET v = 11"));
  scene.client.pipe().client_reads = false;
  scene.world.executor.run_until([&] { return scene.world.engine.open_transactions() == 0; });
  CHECK(scene.world.engine.open_transactions() == 0);
  CHECK_FALSE(scene.client.pipe().server_closed);
  scene.world.executor.run_until([&] { return scene.client.pipe().server_closed; });
  CHECK(scene.client.pipe().server_closed);
}

TEST_CASE("transaction_timeout ends the session of an idle transaction and of one that runs", "[timeouts]") {
  constexpr std::string_view kTold = "FATAL 25P04 terminating connection due to transaction timeout";
  Scene scene;
  scene.client.ask(query("BEGIN; SET LOCAL transaction_timeout = '2s'; COMMIT"));
  CHECK(scene.client.ask(query("SHOW transaction_timeout"))[1].values()[0] == "0");
  scene.client.ask(query("SET transaction_timeout = '2s'"));
  SECTION("idle, from the block's beginning on") {
    scene.client.ask(query("SET idle_in_transaction_session_timeout = '10s'"));
    const std::uint64_t since_ns = scene.world.executor.now_ns();
    scene.client.ask(query("BEGIN"));
    scene.client.ask(query("SELECT v FROM t"));
    CHECK(end_of(scene.until_closed()) == kTold);
    CHECK(scene.world.executor.now_ns() - since_ns == 2 * kSecond_ns);
  }
  SECTION("within a statement, a block's or one on its own") {
    const std::string before = GENERATE("", "BEGIN");
    scene.client.ask(query(before));
    scene.world.engine.hold_fetches(true);
    scene.client.send(query("SELECT v FROM t WHERE id = 1"));
    const auto messages = scene.until_closed();
    scene.world.engine.hold_fetches(false);
    CHECK(end_of(messages) == kTold);
    CHECK(kinds(messages).ends_with("E"));  // nothing follows
  }
  CHECK(scene.world.engine.open_transactions() == 0);
}

TEST_CASE("sessions without an open transaction are not ended by its timeouts", "[timeouts]") {
  World world;
  TestClient client(world);
  client.connect();
  client.ask(startup({{"user", "u"},
                      {"database", "namdb"},
                      {"options", "-c transaction_timeout=1s -c idle_in_transaction_session_timeout=1s"}}));
  CHECK(client.ask(query("SHOW transaction_timeout"))[1].values()[0] == "1s");
  client.ask(query("BEGIN; COMMIT") + parse("long", "SELECT 1") + sync());
  pass_time(world, 5 * kSecond_ns);
  CHECK(kinds(client.ask(bind("", "long") + execute("") + sync())) == "2DCZ");
  world.executor.run_until([] { return false; });  // no timer is left
  CHECK(kinds(client.ask(query("SELECT 1"))) == "TDCZ");
  client.ask(query("SET transaction_timeout = 0; SET idle_in_transaction_session_timeout TO 0; BEGIN"));
  world.executor.run_until([] { return false; });
  CHECK(kinds(client.ask(query("SELECT 1"))) == "TDCZ");
  CHECK(sqlstate(client.ask(query("SET transaction_timeout = '1 fortnight'"))) == "22023");
  CHECK(sqlstate(client.ask(query("RESET transaction_timeout"))) == "25P02");
}

}  // namespace session_timeouts_test
}  // namespace namdb::pgwire
