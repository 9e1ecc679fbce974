// namdb_txid() and namdb_txid_status(), as clients see them.
#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "compute/pgwire/testing/test_client.h"

namespace namdb::pgwire {

using namespace testing;  // NOLINT: the messages are the vocabulary of this file

namespace {

// The one value of the one row; or the SQLSTATE.
std::string ask(World& world, TestClient& client, const std::string& sql) {
  client.send(query(sql));
  std::vector<Received> messages;
  world.executor.run_until([&] {
    for (Received& received : client.receive()) messages.push_back(std::move(received));
    return !messages.empty() && messages.back().type == 'Z';
  });
  if (find_error(messages) != nullptr) return sqlstate(messages);
  for (const Received& received : messages) {
    if (received.type == 'D') return received.values()[0].value_or("null");
  }
  return "";
}

struct Clients {
  Clients() : writer(TestClient::ready(world)), other(TestClient::ready(world)) {
    ask(writer, "CREATE TABLE t (id int PRIMARY KEY)");
  }
  std::string ask(TestClient& client, const std::string& sql) { return pgwire::ask(world, client, sql); }
  std::string status_of(TestClient& client, const std::string& id) {
    return ask(client, "SELECT namdb_txid_status(" + id + ")");
  }
  // The id of a block that has written something.
  std::string begin() {
    ask(writer, "BEGIN; INSERT INTO t VALUES (1)");
    return ask(writer, "SELECT namdb_txid()");
  }
  World world;
  TestClient writer;
  TestClient other;
};

}  // namespace

TEST_CASE("another session learns what became of a block", "[outcome]") {
  Clients clients;
  const std::string id = clients.begin();
  CHECK(clients.ask(clients.writer, "SELECT namdb_txid() AS id") == id);  // it has one only
  CHECK(clients.status_of(clients.other, id) == "in progress");
  CHECK(clients.status_of(clients.writer, id) == "in progress");
  SECTION("that committed") {
    clients.ask(clients.writer, "COMMIT");
    CHECK(clients.status_of(clients.other, id) == "committed");
  }
  SECTION("whose client is told that it failed") {
    clients.world.engine.fail_commits(1, ErrorCode::serialization_failure);
    CHECK(clients.ask(clients.writer, "COMMIT") == "40001");
    CHECK(clients.status_of(clients.other, id) == "aborted");
  }
  SECTION("whose client is told that nothing is known") {
    clients.world.engine.fail_commits(1, ErrorCode::unknown_outcome);
    const auto messages = clients.writer.ask(query("COMMIT"));
    CHECK(sqlstate(messages) == "40003");
    CHECK(find_error(messages)->field('H') == "SELECT namdb_txid_status(" + id + ") tells it later");
    CHECK(clients.status_of(clients.other, id) == "in progress");
    clients.world.engine.end_slot();
    CHECK(clients.status_of(clients.other, id) == "aborted");
  }
  SECTION("that failed before its end") {
    CHECK(clients.ask(clients.writer, "SELECT nosuch") == "42703");
    clients.ask(clients.writer, "COMMIT");
    CHECK(clients.status_of(clients.other, id) == "aborted");
  }
  SECTION("that was rolled back") {
    clients.ask(clients.writer, "ROLLBACK");
    CHECK(clients.status_of(clients.other, id) == "aborted");
  }
  SECTION("whose client is gone") {
    clients.writer.vanish();
    clients.world.executor.run_until([&] { return clients.world.server->connections() == 1; });
    clients.world.executor.run_ready();
    CHECK(clients.status_of(clients.other, id) == "aborted");
  }
  CHECK(clients.ask(clients.other, "SELECT namdb_txid()") != id);
}

TEST_CASE("a statement on its own, and a CALL in a block, have ids", "[outcome]") {
  Clients clients;
  const std::string alone = clients.ask(clients.writer, "SELECT namdb_txid()");
  CHECK(clients.status_of(clients.other, alone) == "committed");
  // After a conflict it is given another one.
  clients.world.engine.fail_commits(1, ErrorCode::serialization_failure);
  CHECK(clients.status_of(clients.other, clients.ask(clients.writer, "SELECT namdb_txid()")) == "committed");
  clients.ask(clients.writer,
              "CREATE TABLE accounts (id bigint PRIMARY KEY, balance numeric(12,2) NOT NULL)");
  clients.ask(clients.writer, "INSERT INTO accounts VALUES (1, 10), (2, 10)");
  clients.ask(clients.writer, "BEGIN");
  const std::string id = clients.ask(clients.writer, "SELECT namdb_txid()");
  clients.ask(clients.writer, "CALL transfer(1, 2, 1)");
  clients.ask(clients.writer, "COMMIT");
  CHECK(clients.status_of(clients.other, id) == "committed");
}

TEST_CASE("what has no outcome, and where no id is given", "[outcome]") {
  Clients clients;
  CHECK(clients.status_of(clients.other, "17") == "null");
  CHECK(clients.status_of(clients.other, "NULL") == "null");
  CHECK(clients.status_of(clients.other, "'x'") == "22P02");
  CHECK(clients.status_of(clients.other, "true") == "42883");
  CHECK(clients.ask(clients.other, "SELECT 1 + namdb_txid()") == "0A000");
  CHECK(clients.ask(clients.other, "EXPLAIN SELECT namdb_txid()") == "0A000");
  CHECK(clients.ask(clients.other, "BEGIN READ ONLY; SELECT namdb_txid()") == "25006");
}

}  // namespace namdb::pgwire
