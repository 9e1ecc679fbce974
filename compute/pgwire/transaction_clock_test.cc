// A transaction has one time: its now() is the 'now' in the texts of what is planned for it, by a clock that
// moves with each look at it.
#include <catch2/catch.hpp>

#include "compute/pgwire/testing/test_client.h"

namespace namdb::pgwire {

using namespace testing;  // NOLINT: the messages are the vocabulary of this file

namespace transaction_clock_test {

constexpr std::int64_t kDay_us = 86'400'000'000;

// Each look at the clock finds another day.
struct Scene {
  Scene() {
    client.ask(query("CREATE TABLE t (id int PRIMARY KEY)") + query("INSERT INTO t VALUES (1)"));
    world.wall_step_us = kDay_us;
  }
  // The first values of all rows, separated by blanks; or the first error's SQLSTATE.
  std::string answers(const std::string& bytes) {
    const std::vector<Received> messages = client.ask(bytes);
    if (find_error(messages) != nullptr) return sqlstate(messages);
    std::string all;
    for (const Received& received : messages) {
      if (received.type == 'D') all += (all.empty() ? "" : " ") + received.values()[0].value_or("NULL");
    }
    return all;
  }

  World world;
  TestClient client = TestClient::ready(world);
};

// Without a table and with one: they run in different ways.
const std::vector<std::string> kSources{"", " FROM t"};

std::string looks(const std::string& from) {
  return "SELECT now() = 'now'::timestamptz AND now()::timetz = 'now'::timetz AND current_date = "
         "'today'::date "
         "AND current_date + 1 = date 'tomorrow' AND statement_timestamp() >= 'now'" +
         from;
}

TEST_CASE("a simple query's now() is the one that its text names", "[clock]") {
  const std::string look = looks(GENERATE(from_range(kSources)));
  Scene scene;
  CHECK(scene.answers(query(look)) == "t");
  CHECK(scene.answers(query(look + "; " + look)) == "t t");
  CHECK(scene.answers(query("INSERT INTO t VALUES (2); SELECT count(*) FROM t; " + look + " LIMIT 1")) ==
        "2 t");
}

TEST_CASE("a block's now() is the one that its statements name", "[clock]") {
  const std::string look = looks(GENERATE(from_range(kSources)));
  Scene scene;
  CHECK(scene.answers(query("BEGIN") + query(look) + query(look) + query("COMMIT")) == "t t");
  CHECK(scene.answers(query("BEGIN; " + look + "; COMMIT; " + look)) == "t t");
  CHECK(scene.answers(parse("", "BEGIN") + bind("", "") + execute("") + parse("", look) + bind("", "") +
                      execute("") + sync() + query("COMMIT")) == "t");
}

TEST_CASE("up to the next Sync now() is the one that statements and their parameters name", "[clock]") {
  const std::string from = GENERATE(from_range(kSources));
  Scene scene;
  CHECK(scene.answers(parse("", looks(from)) + bind("", "") + execute("") + sync()) == "t");
  const std::string look = "SELECT now() = $1::timestamptz" + from;
  CHECK(scene.answers(parse("s", look) + bind("", "s", {"now"}) + execute("") + bind("", "s", {"now"}) +
                      execute("") + sync()) == "t t");
  CHECK(scene.answers(bind("", "s", {"now"}) + execute("") + sync()) == "t");
}

TEST_CASE("each transaction has a time of its own, whatever came before it", "[clock]") {
  const std::string from = GENERATE(from_range(kSources));
  const std::string before = GENERATE(
      query("SELECT 1"), query(""), query("SELECT"), query("SELEC"), query("SELECT nosuch"),
      query("SELECT 1 / 0"), query("SELECT id FROM t"), query("BEGIN; SELECT 1; COMMIT"),
      query("BEGIN") + query("SELECT nosuch") + query("ROLLBACK"),
      parse("", "SELECT 1") + bind("", "") + execute("") + sync(), parse("", "SELECT nosuch") + sync(),
      parse("", "SELECT 1") + bind("nosuch", "nosuch") + sync(), bind("", "now") + sync());
  Scene scene;
  scene.client.ask(parse("now", "SELECT now()" + from) + sync());
  const std::string run = bind("", "now") + execute("") + sync();
  const std::string simple = query("SELECT now()" + from);
  for (const std::string& next : {run, simple}) {
    scene.client.ask(before);
    scene.world.wall_us = 1000 * kDay_us;
    scene.world.wall_step_us = 0;
    CHECK(scene.answers(next) == "2002-09-27 00:00:00+00");
    scene.world.wall_us = 0;
    scene.world.wall_step_us = kDay_us;
  }
}

TEST_CASE("a transaction's first statement has its time, later ones begin later", "[clock]") {
  const std::string look = "SELECT statement_timestamp() > now()" + GENERATE(from_range(kSources));
  Scene scene;
  scene.client.ask(parse("s", look) + sync());
  const std::string run = bind("", "s") + execute("");
  CHECK(scene.answers(run + run + sync()) == "f t");
  CHECK(scene.answers(run + sync()) == "f");
  CHECK(scene.answers(query("BEGIN") + query(look) + query("COMMIT")) == "t");
}

TEST_CASE("what was prepared earlier keeps the time that its text named then", "[clock]") {
  Scene scene;
  scene.client.ask(parse("s", "SELECT now() > 'now'::timestamptz") + sync());
  CHECK(scene.answers(bind("", "s") + execute("") + sync()) == "t");
}

}  // namespace transaction_clock_test
}  // namespace namdb::pgwire
