// Types that statements have made, as sessions see them when other sessions and servers change them.
#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "common/layout/row.h"
#include "common/reactor/testing/manual_executor.h"
#include "compute/sql/catalog/enumeration_text.h"
#include "tools/sqltest/testing/session_client.h"

namespace namdb::sqltest {
namespace {

struct EnumerationsTest {
  SessionDatabase database;
  std::unique_ptr<Client> client = database.open();

  void run(const std::string& sql) { CHECK(answer(sql).empty()); }
  // The error's SQLSTATE.
  std::string answer(const std::string& sql) {
    INFO(sql);
    return client->run(sql).sqlstate;
  }
  std::string rows(const std::string& sql) {
    std::string all;
    for (const auto& row : client->run(sql).rows)
      all += (all.empty() ? "" : " ") + row.front().value_or("NULL");
    return all;
  }
  // Of another server, which adds a label to the type, and a row with it to the table.
  void add_elsewhere(const std::string& type, const std::string& label, const std::string& table,
                     std::int64_t key) {
    sql::testing::FakeEngine& engine = database.engine();
    Result<sql::Enumeration> changed = sql::enumeration_of(*engine.cached_routine(sql::type_key(type)));
    REQUIRE(changed.ok());
    const auto position = sql::new_position(changed->values, std::ssize(changed->values) - 1);
    REQUIRE(position);
    changed->values.push_back({label, *position});
    engine.change_routine_unheard(sql::type_key(type), sql::text_of(*changed));
    reactor::testing::ManualExecutor executor;
    reactor::Gate gate;
    executor.spawn(gate, add_row(engine, table, key, *position));
    executor.run_until([&gate] { return gate.count() == 0; });
  }

 private:
  static reactor::Task<void> add_row(sql::testing::FakeEngine& engine, std::string table, std::int64_t key,
                                     std::int64_t position) {
    const storage::TableRef known = engine.cached_table(table);
    const auto session = engine.open_session();
    const auto transaction = engine.begin(*session);
    layout::Row row(known->schema);
    CHECK(row.writer().set_integer(0, key).ok());
    CHECK(row.writer().set_integer(1, position).ok());
    transaction->insert(known, row.bytes());
    const Status committed = co_await transaction->commit();
    INFO(committed.to_string());
    CHECK(committed.ok());
  }
};

}  // namespace

TEST_CASE("the rows that a cursor keeps show labels that another server has added", "[sqltest]") {
  EnumerationsTest test;
  test.run("CREATE TYPE kept AS ENUM ('a')");
  test.run("CREATE TABLE t (id int PRIMARY KEY, v kept)");
  test.run("INSERT INTO t VALUES (1, 'a')");
  test.add_elsewhere("kept", "b", "t", 2);
  test.run("BEGIN");
  test.run("DECLARE c CURSOR WITH HOLD FOR SELECT v FROM t ORDER BY id");
  test.run("COMMIT");
  CHECK(test.rows("FETCH ALL FROM c") == "a b");
}

TEST_CASE("DROP TYPE drops all of its types or none", "[sqltest]") {
  EnumerationsTest test;
  test.run("CREATE TYPE one AS ENUM ('a', 'b'); CREATE TYPE two AS ENUM ('c')");
  test.database.engine().fail_routine_drop(1, ErrorCode::insufficient_privilege);
  CHECK(test.answer("DROP TYPE one, two") == "42501");
  CHECK(test.rows("SELECT 'b'::one") == "b");
  CHECK(test.rows("SELECT 'c'::two") == "c");
  test.run("DROP TYPE one, two");
  CHECK(test.answer("SELECT 'b'::one") == "42704");
  CHECK(test.answer("SELECT 'c'::two") == "42704");
}

}  // namespace namdb::sqltest
