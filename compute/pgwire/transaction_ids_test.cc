// namdb_txid() and namdb_txid_status(), as clients see them.
#include <catch2/catch.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compute/pgwire/testing/test_client.h"

namespace namdb::pgwire {

using namespace testing;  // NOLINT: the messages are the vocabulary of this file

namespace {

// The first value of the first row; or the SQLSTATE.
std::string answer(World& world, TestClient& client) {
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
  std::string ask(TestClient& client, const std::string& sql) {
    client.send(query(sql));
    return answer(client);
  }
  std::string answer(TestClient& client) { return pgwire::answer(world, client); }
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

TEST_CASE("statements without an outcome have no transaction id", "[outcome]") {
  Clients clients;
  CHECK(clients.status_of(clients.other, "17") == "null");
  CHECK(clients.status_of(clients.other, "NULL") == "null");
  CHECK(clients.status_of(clients.other, "'x'") == "22P02");
  CHECK(clients.status_of(clients.other, "true") == "42883");
  for (const char* other : {"-17", "0"}) CHECK(clients.status_of(clients.other, other) == "null");
  CHECK(clients.ask(clients.other, "BEGIN READ ONLY; SELECT namdb_txid()") == "25006");
  clients.ask(clients.other, "ROLLBACK");
  CHECK(clients.ask(clients.other, "CREATE TABLE d (id int PRIMARY KEY, x bigint DEFAULT namdb_txid())") ==
        "0A000");
  for (const char* unknown : {"txid_current()", "pg_current_xact_id_if_assigned()", "txid_status(1)"})
    CHECK(clients.ask(clients.other, std::string("SELECT ") + unknown) == "42883");
}

TEST_CASE("ids and outcomes stand in expressions", "[outcome]") {
  Clients clients;
  const auto ask = [&](const std::string& sql) { return clients.ask(clients.writer, sql); };
  ask("CREATE TABLE paid (id int PRIMARY KEY, by_transaction bigint)");
  ask("BEGIN");
  ask("INSERT INTO paid VALUES (1, namdb_txid()), (2, NULL)");
  const std::string id = ask("SELECT namdb_txid() AS id, 1 + 1");
  CHECK(ask("SELECT by_transaction FROM paid WHERE id = 1") == id);
  CHECK(ask("SELECT by_transaction = namdb_txid() FROM paid WHERE id = 1") == "t");
  ask("UPDATE paid SET by_transaction = namdb_txid() WHERE id = 2");
  CHECK(ask("SELECT count(*) FROM paid WHERE by_transaction = namdb_txid()") == "2");
  CHECK(ask("SELECT namdb_txid() - " + id + ", namdb_txid()") == "0");
  CHECK(ask("SELECT coalesce(namdb_txid_status(" + id + "), 'unknown') = 'in progress'") == "t");
  ask("COMMIT");
  CHECK(ask("SELECT 'it is ' || namdb_txid_status(" + id + ")") == "it is committed");
  CHECK(ask("SELECT min(namdb_txid_status(by_transaction)) FROM paid") == "committed");
  CHECK(ask("SELECT id FROM paid WHERE namdb_txid_status(by_transaction) = 'committed' ORDER BY "
            "namdb_txid_status(by_transaction), id DESC LIMIT 1") == "2");
  CHECK(ask("SELECT namdb_txid_status(by_transaction - 1) IS NULL FROM paid WHERE id = 1") == "t");
  ask("DELETE FROM paid WHERE namdb_txid_status(by_transaction) = 'committed'");
  CHECK(ask("SELECT count(*) FROM paid") == "0");
}

TEST_CASE("a query without tables has a transaction wherever it asks for an id", "[outcome]") {
  Clients clients;
  for (const std::string sql : {
           "VALUES (namdb_txid() > 0)",
           "SELECT a FROM (VALUES (namdb_txid() > 0)) v (a)",
           "SELECT g = 1 FROM generate_series(1, least(1, namdb_txid())) g",
           "SELECT g = 1 FROM generate_series(1, 1) f, generate_series(f, least(1, namdb_txid())) g",
           "SELECT unnest(ARRAY[namdb_txid() > 0])",
           "SELECT bool_and(true ORDER BY namdb_txid())",
           "WITH RECURSIVE r (n) AS (SELECT namdb_txid() > 0 UNION SELECT n FROM r) SELECT n FROM r",
       }) {
    CAPTURE(sql);
    CHECK(clients.ask(clients.writer, sql) == "t");
  }
}

TEST_CASE("only a call that is evaluated gives an id", "[outcome]") {
  Clients clients;
  const auto ask = [&](const std::string& sql) { return clients.ask(clients.writer, sql); };
  CHECK(ask("EXPLAIN SELECT namdb_txid()") != "");
  ask("BEGIN READ ONLY");
  CHECK(ask("SELECT CASE WHEN false THEN namdb_txid() ELSE 5 END") == "5");
  CHECK(ask("SELECT count(namdb_txid()) FROM t") == "0");
  ask("COMMIT");
  CHECK(ask("SELECT count(*) FROM namdb_transactions") == "42P01");
  // On its own, with a query or without, it is the statement's transaction.
  CHECK(clients.status_of(clients.other, ask("SELECT namdb_txid() + 0")) == "committed");
  CHECK(ask("EXPLAIN ANALYZE SELECT namdb_txid()") != "");
  CHECK(ask("SELECT count(*) FROM namdb_transactions WHERE part = 1 AND committed") == "2");
}

TEST_CASE("an outcome is asked for by a parameter", "[outcome]") {
  Clients clients;
  const std::string id = clients.ask(clients.writer, "SELECT namdb_txid()");
  const auto ask = [&](const std::string& sql, const std::optional<std::string>& parameter) {
    clients.other.send(parse("", sql) + bind("", "", {parameter}) + execute("") + sync());
    return clients.answer(clients.other);
  };
  CHECK(ask("SELECT namdb_txid_status($1) = 'committed'", id) == "t");
  CHECK(ask("SELECT namdb_txid_status($1::bigint), 1", id) == "committed");
  CHECK(ask("SELECT namdb_txid_status($1)", std::nullopt) == "null");
  CHECK(ask("SELECT namdb_txid_status($1)", "17") == "null");
  CHECK(ask("SELECT namdb_txid_status($1)", "seventeen") == "22P02");
  CHECK(ask("SELECT namdb_txid_status($1::text)", id) == "42883");
}

TEST_CASE("the table of transactions can only be read", "[outcome]") {
  Clients clients;
  const auto ask = [&](const std::string& sql) { return clients.ask(clients.writer, sql); };
  for (int made = 0; made < 2; ++made) {
    INFO((made == 0 ? "before" : "after") << " it is made");
    CHECK(ask("CREATE TABLE namdb_transactions (id bigint PRIMARY KEY)") == "42501");
    CHECK(ask("CREATE TABLE IF NOT EXISTS public.namdb_transactions (id bigint PRIMARY KEY)") == "42501");
    if (made == 0) ask("SELECT namdb_txid()");
  }
  for (const char* sql :
       {"INSERT INTO namdb_transactions VALUES (1, 0, 20, now(), false)",
        "INSERT INTO public.namdb_transactions (id, part) VALUES (1, 0)",
        "UPDATE namdb_transactions SET committed = true", "DELETE FROM namdb_transactions WHERE part = 1",
        "EXPLAIN ANALYZE DELETE FROM namdb_transactions", "CREATE INDEX ON namdb_transactions (slot)",
        "CREATE UNIQUE INDEX i ON namdb_transactions USING hash (slot)", "DROP TABLE namdb_transactions",
        "DROP TABLE IF EXISTS t, namdb_transactions CASCADE", "DROP INDEX namdb_transactions_by_age"}) {
    INFO(sql);
    CHECK(ask(sql) == "42501");
  }
  const auto messages = clients.writer.ask(query("DELETE FROM namdb_transactions"));
  CHECK(find_error(messages)->field('H') ==
        "the server writes it by itself; namdb_txid() adds the transaction's row");
  CHECK(ask("COPY namdb_transactions FROM STDIN") == "42501");
  CHECK(ask("TRUNCATE namdb_transactions") == "42501");
  CHECK(ask("ALTER TABLE namdb_transactions ADD COLUMN x int") == "42501");
  CHECK(ask("SELECT count(*) FROM namdb_transactions") == "2");
  CHECK(ask("SELECT count(*) FROM t") == "0");
}

}  // namespace namdb::pgwire
