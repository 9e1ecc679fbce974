// An orderly stop of the server misleads no client: none is told that a commit failed which is there, and
// nothing is done of which the client was not told.
#include <catch2/catch.hpp>

#include "common/base/random.h"
#include "compute/pgwire/testing/test_client.h"

namespace namdb::pgwire {

using namespace testing;  // NOLINT: the messages are the vocabulary of this file

namespace {

std::string insert(int id) {
  return bind("", "i", {std::to_string(id)}) + execute("");
}

// A client that has prepared statement `i`, which inserts a row.
TestClient writer(World& world) {
  TestClient client = TestClient::ready(world);
  client.ask(query("CREATE TABLE t (id int PRIMARY KEY)") + parse("i", "INSERT INTO t VALUES ($1)") + sync());
  return client;
}

// From the data as the next server finds it.
int rows(World& world) {
  world.start();
  TestClient client = TestClient::ready(world);
  return std::stoi(*client.ask(query("SELECT count(*) FROM t"))[1].values()[0]);
}

}  // namespace

TEST_CASE("a stop answers what was sent up to its sync whole, and nothing of what follows is done",
          "[stop]") {
  World world;
  TestClient client = writer(world);
  client.send(parse("", "SELECT pg_sleep(1)") + bind("", "") + execute("") + insert(1) + insert(2) + sync() +
              insert(3) + sync());
  world.stop();
  const auto messages = client.receive();
  CHECK(kinds(messages) == "12DC2C2CZE");
  CHECK(sqlstate(messages) == "57P01");
  CHECK(rows(world) == 2);
}

TEST_CASE("a sync that comes when the server has begun to stop still commits", "[stop]") {
  World world;
  TestClient alone = writer(world);
  TestClient pipeline = TestClient::ready(world);
  pipeline.ask(parse("i", "INSERT INTO t VALUES ($1)") + sync());
  alone.send(insert(1));
  pipeline.send(insert(2) + insert(3) + flush());
  CHECK(kinds(pipeline.receive()) == "2C2C");
  world.begin_stop();
  alone.send(sync());
  pipeline.send(sync());
  CHECK(kinds(alone.receive()) == "2CZE");
  CHECK(kinds(pipeline.receive()) == "ZE");
  world.stop();
  CHECK(rows(world) == 3);
}

TEST_CASE("messages without a sync when the server stops are not done, and their client is told soon",
          "[stop]") {
  World world({.shutdown_grace_ns = 60 * kSecond_ns, .sequence_timeout_ns = kSecond_ns});
  TestClient unsynced = writer(world);
  TestClient unfinished = TestClient::ready(world);
  TestClient in_block = TestClient::ready(world);
  unsynced.ask(insert(1) + flush());
  unfinished.send(query("INSERT INTO t VALUES (2)").substr(0, 20));
  in_block.ask(query("BEGIN") + query("INSERT INTO t VALUES (3)"));
  const std::uint64_t begin_ns = world.executor.now_ns();
  world.stop();
  CHECK(world.executor.now_ns() - begin_ns == kSecond_ns);
  for (TestClient* client : {&unsynced, &unfinished, &in_block}) {
    const auto messages = client->receive();
    CHECK(kinds(messages) == "E");
    CHECK(sqlstate(messages) == "57P01");
  }
  CHECK(world.engine.open_transactions() == 0);
  CHECK(rows(world) == 0);
}

TEST_CASE("a statement that outlasts the grace of a stop is not done, and its client is told", "[stop]") {
  World world({.shutdown_grace_ns = 2 * kSecond_ns});
  TestClient client = writer(world);
  client.send(insert(1) + parse("", "SELECT pg_sleep(1000)") + bind("", "") + execute("") + sync());
  world.stop();
  const auto messages = client.receive();
  CHECK(kinds(messages) == "2C12EE");
  CHECK(sqlstate(messages) == "57P01");
  CHECK(world.engine.open_transactions() == 0);
  CHECK(rows(world) == 0);
}

TEST_CASE("whenever the server stops, the commits that clients were told of are those that are there",
          "[stop]") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    World world;
    TestClient client = writer(world);
    client.pipe().read_limit = 1 + random.below(200);
    std::string bytes;
    for (int id = 0; id < 10; ++id) {
      if (random.chance(0.3)) {
        bytes += query("INSERT INTO t VALUES (" + std::to_string(id) + ")");
      } else {
        bytes += insert(id) + (random.chance(0.2) ? flush() : "") + sync();
      }
    }
    const std::size_t before = random.below(bytes.size());
    client.send(bytes.substr(0, before));
    // Some of it is there when the server stops, and not read yet.
    const std::size_t arrived = std::min(bytes.size(), before + random.below(100));
    client.pipe().to_server += bytes.substr(before, arrived - before);
    client.pipe().arrived.notify_all();
    world.begin_stop();
    if (random.chance(0.5)) client.send(bytes.substr(arrived));
    world.stop();
    const auto messages = client.receive();
    INFO("seed " << seed << ": " << kinds(messages));
    CHECK(messages.back().type == 'E');
    CHECK(sqlstate(messages) == "57P01");
    CHECK(rows(world) == std::ranges::count(kinds(messages), 'Z'));
  }
}

TEST_CASE("a server that is drained ends sessions with their transactions, and lets none begin another",
          "[stop]") {
  World world;
  TestClient idle = writer(world);
  TestClient in_block = TestClient::ready(world);
  TestClient failed = TestClient::ready(world);
  TestClient in_pipeline = TestClient::ready(world);
  in_block.ask(query("BEGIN") + query("INSERT INTO t VALUES (1)"));
  failed.ask(query("BEGIN") + query("SELECT 1 / 0"));
  in_pipeline.ask(parse("", "INSERT INTO t VALUES (2)") + bind("", "") + execute("") + flush());
  world.server->drain();
  world.executor.run_ready();
  CHECK(sqlstate(idle.receive()) == "57P01");
  // Transactions that have begun go on, as long as they like.
  CHECK(kinds(in_block.ask(query("INSERT INTO t VALUES (3)"))) == "CZ");
  const auto committed = in_block.ask(query("COMMIT") + query("INSERT INTO t VALUES (4)"));
  CHECK(kinds(committed) == "CZE");
  CHECK(sqlstate(committed) == "57P01");
  CHECK(kinds(failed.ask(query("ROLLBACK"))) == "CZE");
  CHECK(kinds(in_pipeline.ask(sync())) == "ZE");
  world.executor.run_until([&world] { return world.server->connections() == 0; });
  world.stop();
  CHECK(rows(world) == 3);
}

}  // namespace namdb::pgwire
