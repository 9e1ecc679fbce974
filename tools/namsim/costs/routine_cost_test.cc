// The cost of procedures in PL/pgSQL, in dependent round trips: exact, and asserted.
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "tools/namsim/cluster/cluster.h"
#include "tools/namsim/workloads/sql_client.h"

namespace namdb::sim {
namespace routine_cost_test {

struct Bench {
  explicit Bench(const std::string& protocol = "si")
      : world(1), cluster(world, options(protocol)), compute(cluster.add_compute()) {
    client = std::make_unique<SqlClient>(cluster.worker(compute), procedures);
  }
  static ClusterOptions options(const std::string& protocol) {
    ClusterOptions options;
    options.region_bytes = 64U << 20;
    options.memory.extent_bytes = 256U << 10;
    options.memory.journal_bytes = 1U << 20;
    options.memory.protocol = protocol;
    options.worker.snapshot_mode = txn::SnapshotSource::Mode::reads;
    return options;
  }
  SqlAnswer ask(const std::string& text) {
    return world.run(cluster.node(compute), client->run(std::string(text)));
  }
  void run(const std::string& text) {
    const SqlAnswer answer = ask(text);
    INFO(text);
    INFO(answer.status.to_string());
    REQUIRE(answer.status.ok());
  }
  std::int64_t sum(const std::string& name, const std::string& metric) {
    return ask("SELECT coalesce(max(value), 0) FROM namdb_statistics WHERE name = '" + name +
               "' AND metric = '" + metric + "'")
        .integer(0, 0);
  }
  // Of one call more of the procedure, once it is compiled and the rows' places are known.
  std::int64_t round_trips(const std::string& name, const std::string& call) {
    run(call);
    run(call);
    const std::int64_t before = sum(name, "round_trips");
    run(call);
    return sum(name, "round_trips") - before;
  }

  fabric::sim::SimWorld world;
  Cluster cluster;
  std::size_t compute;
  procedure::ProcedureRegistry procedures;
  std::unique_ptr<SqlClient> client;
};

void make_bank(Bench& bench) {
  bench.run(R"(
    CREATE TABLE accounts (custid bigint PRIMARY KEY, name varchar(20));
    CREATE TABLE checking (custid bigint PRIMARY KEY, bal bigint);
    INSERT INTO accounts SELECT i, 'x' FROM generate_series(1, 20) i;
    INSERT INTO checking SELECT i, 1000 FROM generate_series(1, 20) i;
    CREATE PROCEDURE pay(source bigint, target bigint, amount bigint) LANGUAGE plpgsql AS $$
    BEGIN
      IF source = target THEN RAISE EXCEPTION 'a customer cannot pay itself'; END IF;
      PERFORM FROM accounts WHERE custid = source;
      IF NOT FOUND THEN RAISE EXCEPTION 'no account of customer %', source; END IF;
      PERFORM FROM accounts WHERE custid = target;
      IF NOT FOUND THEN RAISE EXCEPTION 'no account of customer %', target; END IF;
      UPDATE checking SET bal = bal - amount WHERE custid = source AND bal >= amount;
      IF NOT FOUND THEN RAISE EXCEPTION 'insufficient funds of customer %', source; END IF;
      UPDATE checking SET bal = bal + amount WHERE custid = target;
    END $$;)");
}

// One for the snapshot, one for all four rows, and two of the commit.
TEST_CASE("a payment in PL/pgSQL takes as many round trips as that of a library, 4", "[cost]") {
  Bench bench;
  make_bank(bench);
  CHECK(bench.round_trips("pay", "CALL pay(1, 2, 3)") == 4);
  CHECK(bench.ask("SELECT bal FROM checking WHERE custid IN (1, 2) ORDER BY custid").rows ==
        std::vector<std::vector<std::string>>{{"991"}, {"1009"}});
}

TEST_CASE("rows are read ahead from a snapshot only: elsewhere each step asks for its own", "[cost]") {
  for (const char* const protocol : {"occ", "nowait", "waitdie"}) {
    Bench bench(protocol);
    make_bank(bench);
    CHECK(bench.round_trips("pay", "CALL pay(1, 2, 3)") >= 4 + 2);
  }
}

TEST_CASE("the transaction of TPC-B takes 4 round trips as a procedure in PL/pgSQL", "[cost]") {
  Bench bench;
  bench.run(R"(
    CREATE TABLE branches (bid int PRIMARY KEY, balance int);
    CREATE TABLE tellers (tid int PRIMARY KEY, balance int);
    CREATE TABLE accounts (aid int PRIMARY KEY, balance int);
    CREATE TABLE history (tid int, bid int, aid int, delta int, mtime timestamp);
    INSERT INTO branches VALUES (1, 0); INSERT INTO tellers VALUES (1, 0); INSERT INTO accounts VALUES (1, 0);
    CREATE PROCEDURE tpcb(account int, branch int, teller int, amount int, INOUT result int)
      LANGUAGE plpgsql AS $$
    BEGIN
      UPDATE accounts SET balance = balance + amount WHERE aid = account;
      SELECT balance INTO result FROM accounts WHERE aid = account;
      UPDATE tellers SET balance = balance + amount WHERE tid = teller;
      UPDATE branches SET balance = balance + amount WHERE bid = branch;
      INSERT INTO history VALUES (teller, branch, account, amount, now());
    END $$;)");
  CHECK(bench.round_trips("tpcb", "CALL tpcb(1, 1, 1, 5, 0)") == 4);
  CHECK(bench.ask("CALL tpcb(1, 1, 1, 5, 0)").integer(0, 0) == 20);
  CHECK(bench.ask("SELECT count(*) FROM history").integer(0, 0) == 4);
}

TEST_CASE("a row whose key an earlier step gives is read when it is known", "[cost]") {
  Bench bench;
  bench.run(R"(
    CREATE TABLE links (id int PRIMARY KEY, next int);
    INSERT INTO links VALUES (1, 2), (2, 3), (3, 4), (4, 0);
    CREATE PROCEDURE follow(start int, other int, INOUT result int) LANGUAGE plpgsql AS $$
    BEGIN
      SELECT next INTO result FROM links WHERE id = start;
      PERFORM FROM links WHERE id = other;
      SELECT next INTO result FROM links WHERE id = result;
      SELECT next INTO result FROM links WHERE id = result;
    END $$;)");
  // The snapshot; the first two rows; and one row after the other.
  CHECK(bench.round_trips("follow", "CALL follow(1, 4, 0)") == 1 + 1 + 2);
  CHECK(bench.ask("CALL follow(1, 4, 0)").integer(0, 0) == 4);
}

}  // namespace routine_cost_test
}  // namespace namdb::sim
