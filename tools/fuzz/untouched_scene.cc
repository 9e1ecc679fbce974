#include "tools/fuzz/untouched_scene.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "compute/procedure/testing/procedures.h"
#include "tools/fuzz/server_run.h"

namespace namdb::fuzz {
namespace {

constexpr std::array kStatements = {
    std::string_view(
        "CREATE TABLE t (a int PRIMARY KEY, b text, c numeric, d timestamptz, e jsonb, f int[])"),
    std::string_view("INSERT INTO t VALUES (1, 'one', 1.5, '2024-02-29 12:00:00+00', '{\"k\": [1, 2, {\"l\": "
                     "null}]}', '{1,2,3}'), "
                     "(2, 'two', -2, 'infinity', '[]', NULL), (3, NULL, NULL, NULL, NULL, '{}')"),
    std::string_view(
        "CREATE TABLE types (i smallint NOT NULL, j bigint, k real, l double precision, m boolean, n date, o "
        "time, "
        "p timestamp, q interval, r uuid, s bytea, u varchar(5), v char(3), w text[], PRIMARY KEY (i, j))"),
    std::string_view(
        "INSERT INTO types VALUES (1, 2, 3.5, 'nan', true, '2000-01-01', '01:02:03', '2001-02-03 04:05:06', "
        "'1 mon 2 days', '00000000-0000-0000-0000-000000000001', '\\x00ff', 'abc', 'x', '{a,NULL,\"b c\"}')"),
    std::string_view("CREATE TABLE parent (id int PRIMARY KEY, name text UNIQUE)"),
    std::string_view("INSERT INTO parent SELECT i, 'n' || i FROM generate_series(1, 20) i"),
    std::string_view(
        "CREATE TABLE child (id bigserial PRIMARY KEY, parent int REFERENCES parent ON DELETE CASCADE, "
        "amount numeric(10, 2) DEFAULT 0 CHECK (amount >= 0))"),
    std::string_view("INSERT INTO child (parent, amount) SELECT i % 5 + 1, i FROM generate_series(1, 30) i"),
    std::string_view("CREATE INDEX child_parent ON child (parent)"),
    std::string_view("CREATE SEQUENCE numbers"),
    std::string_view("CREATE VIEW totals AS SELECT parent, sum(amount) AS total FROM child GROUP BY parent"),
    std::string_view(
        "CREATE VIEW named AS SELECT name, total FROM parent JOIN totals ON parent.id = totals.parent"),
    std::string_view("CREATE FUNCTION plus(x int, y int) RETURNS int LANGUAGE sql AS 'SELECT x + y'"),
    std::string_view("CREATE FUNCTION factorial(n int) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN IF n <= 1 "
                     "THEN RETURN 1; "
                     "END IF; RETURN n * factorial(n - 1); END $$"),
    std::string_view(
        "CREATE FUNCTION children(of_parent int) RETURNS TABLE (id bigint, amount numeric) LANGUAGE plpgsql "
        "AS "
        "$$ BEGIN RETURN QUERY SELECT child.id, child.amount FROM child WHERE parent = of_parent; END $$"),
    std::string_view(
        "CREATE PROCEDURE pay(who int, x numeric) LANGUAGE plpgsql AS $$ BEGIN UPDATE child SET amount = "
        "amount + x WHERE parent = who; IF NOT FOUND THEN RAISE EXCEPTION 'nobody'; END IF; END $$"),
    std::string_view("CREATE ROLE visitor LOGIN PASSWORD 'secret'"),
    std::string_view("CREATE ROLE readers"),
    std::string_view("GRANT readers TO visitor"),
    std::string_view("GRANT SELECT ON t, parent, child, totals TO readers"),
};

std::unique_ptr<Scene> make_scene() {
  auto scene = std::make_unique<Scene>();
  sqltest::add_test_procedures(scene->procedures);
  ServerRun run(*scene);
  ServerRun::Client owner(run, "tester");
  for (const std::string_view statement : kStatements) {
    owner.send(pgwire::testing::query(statement), true);
    for (const pgwire::testing::Received& received : owner.receive()) {
      if (received.type != 'E') continue;
      std::fprintf(stderr, "%s: %s\n", std::string(statement).c_str(), received.field('M').c_str());
      std::abort();
    }
  }
  return scene;
}

}  // namespace

Scene& untouched_scene() {
  static std::unique_ptr<Scene> scene;
  static std::uint64_t changes = 0;
  if (scene == nullptr || scene->engine.changes() != changes) {
    scene = make_scene();
    changes = scene->engine.changes();
  }
  return *scene;
}

}  // namespace namdb::fuzz
