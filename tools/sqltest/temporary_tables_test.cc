// Temporary tables of sessions whose execution slot ends, and then another session drops the tables.
#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "tools/sqltest/testing/session_client.h"

namespace namdb::sqltest {
namespace {

struct TemporaryTablesTest {
  SessionDatabase database;
  std::unique_ptr<Client> own = database.open();
  std::unique_ptr<Client> other = database.open();

  TemporaryTablesTest() { run("CREATE TABLE t (a int PRIMARY KEY); INSERT INTO t VALUES (1)"); }
  void run(const std::string& sql) { CHECK(answer(sql).empty()); }
  // The error's SQLSTATE.
  std::string answer(const std::string& sql) {
    INFO(sql);
    return own->run(sql).sqlstate;
  }
  std::string rows(const std::string& sql) {
    std::string all;
    for (const auto& row : own->run(sql).rows) all += (all.empty() ? "" : " ") + row.front().value_or("NULL");
    return all;
  }
  // The slot ends, and the other session sweeps up.
  void lose_tables() {
    database.engine().end_slot();
    sweep();
  }
  void sweep() { CHECK(database.open()->run("CREATE TEMP TABLE sweeps (a int)").sqlstate.empty()); }
};

}  // namespace

TEST_CASE("the temporary tables of a worker's sessions, and its locks, take one slot", "[sqltest]") {
  TemporaryTablesTest test;
  test.run("CREATE TEMP TABLE t (a int)");
  test.run("INSERT INTO t VALUES (2)");
  CHECK(test.other->run("CREATE TEMP TABLE t (a int)").sqlstate.empty());
  CHECK(test.other->run("SELECT pg_advisory_lock(1)").sqlstate.empty());
  CHECK(test.other->run("SELECT * FROM t").rows.empty());
  CHECK(test.rows("SELECT * FROM t") == "2");
  CHECK(test.database.engine().leases() == 1);
}

TEST_CASE("a statement does not change a permanent table in the place of a temporary one that is gone",
          "[sqltest]") {
  TemporaryTablesTest test;
  test.run("CREATE TEMP TABLE t (a int)");
  test.run("CREATE INDEX i ON t (a)");
  test.run("CREATE INDEX i ON public.t (a)");
  test.lose_tables();
  CHECK(test.answer("INSERT INTO t VALUES (5)") == "42P01");
  CHECK(test.answer("UPDATE t SET a = 5") == "42P01");
  CHECK(test.answer("DELETE FROM t") == "42P01");
  CHECK(test.answer("TRUNCATE t") == "42P01");
  CHECK(test.answer("SELECT * FROM t") == "42P01");
  CHECK(test.answer("CREATE INDEX ON t (a)") == "42P01");
  CHECK(test.answer("ALTER TABLE t ADD COLUMN b int") == "42P01");
  CHECK(test.answer("DROP TABLE t") == "42P01");
  CHECK(test.answer("DROP INDEX i") == "42704");
  CHECK(test.own->run("SELECT * FROM t").message == "relation \"t\" does not exist");
  CHECK(test.rows("SELECT a FROM public.t") == "1");
}

TEST_CASE("the permanent table is back once the session has dropped a temporary one that is gone",
          "[sqltest]") {
  TemporaryTablesTest test;
  test.run("CREATE TEMP TABLE t (a int)");
  test.lose_tables();
  SECTION("by DROP TABLE IF EXISTS") {
    test.run("DROP TABLE IF EXISTS t");
  }
  SECTION("by DROP TABLE IF EXISTS in a block") {
    test.run("BEGIN");
    test.run("DROP TABLE IF EXISTS t");
    CHECK(test.rows("SELECT a FROM t") == "1");
    test.run("COMMIT");
  }
  SECTION("by DISCARD TEMP") {
    test.run("DISCARD TEMP");
  }
  SECTION("by DROP TABLE of another one that took its place") {
    test.run("CREATE TEMP TABLE t (a int)");
    CHECK(test.rows("SELECT a FROM t").empty());
    test.run("DROP TABLE t");
  }
  CHECK(test.rows("SELECT a FROM t") == "1");
}

TEST_CASE("a rollback takes back the drop of a temporary table that is gone", "[sqltest]") {
  TemporaryTablesTest test;
  test.run("CREATE TEMP TABLE t (a int)");
  test.lose_tables();
  test.run("BEGIN");
  SECTION("of the block") {
    test.run("DROP TABLE IF EXISTS t");
    test.run("ROLLBACK");
    CHECK(test.answer("DELETE FROM t") == "42P01");
  }
  SECTION("to a savepoint") {
    test.run("SAVEPOINT s");
    test.run("DROP TABLE IF EXISTS t");
    test.run("ROLLBACK TO s");
    CHECK(test.answer("DELETE FROM t") == "42P01");
  }
}

TEST_CASE("a rollback to a savepoint keeps the drops before it of temporary tables that are gone",
          "[sqltest]") {
  TemporaryTablesTest test;
  test.run("CREATE TEMP TABLE t (a int)");
  test.lose_tables();
  test.run("BEGIN");
  test.run("DROP TABLE IF EXISTS t");
  test.run("SAVEPOINT s");
  const bool had_another = GENERATE(false, true);
  if (had_another) test.run("CREATE TEMP TABLE t (a int)");
  test.run("ROLLBACK TO s");
  CHECK(test.rows("SELECT a FROM t") == "1");
  SECTION("and the block's commit drops them") {
    test.run("COMMIT");
    CHECK(test.rows("SELECT a FROM t") == "1");
  }
  SECTION("and the block's rollback undoes them") {
    test.run("ROLLBACK");
    CHECK(test.answer("DELETE FROM t") == "42P01");
  }
}

TEST_CASE("a prepared statement means the temporary table again after a rollback of its drop", "[sqltest]") {
  TemporaryTablesTest test;
  test.run("CREATE TEMP TABLE t (a int)");
  SECTION("that is there") {
    test.run("INSERT INTO t VALUES (2)");
    test.run("BEGIN");
    SECTION("of the block") {
      test.run("DROP TABLE t");
      test.run("PREPARE p AS SELECT a FROM t");
      CHECK(test.rows("EXECUTE p") == "1");
      test.run("ROLLBACK");
    }
    SECTION("to a savepoint") {
      test.run("SAVEPOINT s");
      test.run("DROP TABLE t");
      test.run("PREPARE p AS SELECT a FROM t");
      CHECK(test.rows("EXECUTE p") == "1");
      test.run("ROLLBACK TO s");
    }
    CHECK(test.rows("EXECUTE p") == "2");
  }
  SECTION("that is gone") {
    test.lose_tables();
    test.run("BEGIN");
    test.run("DROP TABLE IF EXISTS t");
    test.run("PREPARE p AS SELECT a FROM t");
    CHECK(test.rows("EXECUTE p") == "1");
    test.run("ROLLBACK");
    CHECK(test.answer("EXECUTE p") == "42P01");
  }
}

TEST_CASE("a new prefix that begins in a block sweeps up when the block ends", "[sqltest]") {
  TemporaryTablesTest test;
  CHECK(test.other->run("CREATE TEMP TABLE left_behind (a int)").sqlstate.empty());
  test.database.engine().end_slot();
  const auto others = [&test] {
    return std::ranges::count_if(test.database.engine().cached_tables(), [](const storage::TableRef& table) {
      return table->name.ends_with("left_behind");
    });
  };
  test.run("BEGIN");
  test.run("CREATE TEMP TABLE own (a int)");
  CHECK(others() == 1);
  SECTION("by COMMIT") {
    test.run("COMMIT");
    CHECK(test.rows("SELECT a FROM own").empty());
  }
  SECTION("by ROLLBACK") {
    test.run("ROLLBACK");
  }
  CHECK(others() == 0);
}

TEST_CASE("a temporary table that its block takes away leaves no name behind", "[sqltest]") {
  TemporaryTablesTest test;
  test.run("BEGIN");
  SECTION("by ROLLBACK") {
    test.run("CREATE TEMP TABLE t (a int)");
    test.lose_tables();
    test.run("ROLLBACK");
  }
  SECTION("by ROLLBACK TO SAVEPOINT") {
    test.run("SAVEPOINT s");
    test.run("CREATE TEMP TABLE t (a int)");
    test.lose_tables();
    test.run("ROLLBACK TO s");
    test.run("COMMIT");
  }
  SECTION("by ON COMMIT DROP") {
    test.run("CREATE TEMP TABLE t (a int) ON COMMIT DROP");
    test.lose_tables();
    test.run("COMMIT");
  }
  CHECK(test.rows("SELECT a FROM t") == "1");
}

TEST_CASE("a rollback of a temporary table does not forget the one before it that is gone", "[sqltest]") {
  TemporaryTablesTest test;
  test.run("CREATE TEMP TABLE t (a int)");
  test.lose_tables();
  test.run("BEGIN");
  SECTION("by ROLLBACK") {
    test.run("CREATE TEMP TABLE t (a int)");
    test.run("ROLLBACK");
  }
  SECTION("by ROLLBACK after its drop") {
    test.run("CREATE TEMP TABLE t (a int)");
    test.run("DROP TABLE t");
    test.run("ROLLBACK");
  }
  SECTION("by ROLLBACK TO SAVEPOINT") {
    test.run("SAVEPOINT s");
    test.run("CREATE TEMP TABLE t (a int)");
    test.run("ROLLBACK TO s");
    test.run("COMMIT");
  }
  CHECK(test.answer("INSERT INTO t VALUES (5)") == "42P01");
  test.run("CREATE TEMP TABLE t (a int)");
  test.run("DROP TABLE t");
  CHECK(test.rows("SELECT a FROM t") == "1");
}

TEST_CASE("a temporary table that is made after the slot has ended stays", "[sqltest]") {
  TemporaryTablesTest test;
  test.run("CREATE TEMP TABLE t (a int)");
  test.database.engine().end_slot();
  test.run("CREATE TEMP TABLE later (a int)");
  test.sweep();
  test.run("INSERT INTO later VALUES (3)");
  CHECK(test.rows("SELECT a FROM later") == "3");
  CHECK(test.answer("INSERT INTO t VALUES (5)") == "42P01");
}

}  // namespace namdb::sqltest
