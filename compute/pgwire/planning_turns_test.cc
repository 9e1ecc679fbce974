// Long statements are parsed and planned on the planning thread, beside the worker's other clients.
#include <catch2/catch.hpp>
#include <deque>
#include <functional>

#include "compute/pgwire/testing/turns.h"

namespace namdb::pgwire {

using namespace testing;  // NOLINT: the messages are the vocabulary of this file

namespace planning_turns_test {

// The planning thread of a world's next server. It works when the test says so.
class PlanningThread {
 public:
  explicit PlanningThread(World& world)
      : world_(world),
        queue_(
            world.executor, [this](std::function<void()> work) { add(std::move(work)); },
            [](std::function<void()> message) { message(); }) {
    world.planning = &queue_;
    world.start();
  }
  ~PlanningThread() {
    release();
    world_.stop();
  }

  // The number of pieces of work that it has been given.
  int asked() const { return asked_; }
  // Does the work that it has now.
  void work() {
    for (std::deque<std::function<void()>> now = std::exchange(queued_, {}); !now.empty(); now.pop_front())
      now.front()();
    world_.executor.run_ready();
  }
  // Does its work, from now on as soon as it gets it.
  void release() {
    holds_ = false;
    work();
  }
  // From now on it works when the test says so, as at first.
  void hold() { holds_ = true; }

 private:
  void add(std::function<void()> work) {
    ++asked_;
    if (!holds_) return work();
    queued_.push_back(std::move(work));
  }

  World& world_;
  std::deque<std::function<void()>> queued_;
  bool holds_ = true;
  int asked_ = 0;
  sql::PlanningQueue queue_;
};

std::string payloads(const std::vector<Received>& messages) {
  std::string all;
  for (const Received& received : messages) all += received.type + received.payload + '\n';
  return all;
}

// "0, 1, 2, ...", at least that many bytes.
std::string numbers(std::size_t bytes) {
  std::string list = "0";
  for (int i = 1; list.size() < bytes; ++i) list += ", " + std::to_string(i);
  return list;
}

TEST_CASE(
    "long statements are parsed and planned on the planning thread, and others have their turns meanwhile",
    "[turns]") {
  const std::string list = numbers(sql::kLongStatement_bytes);
  struct Long {
    std::string bytes;
    int steps;  // parsing, planning, forgetting the tree
  };
  std::string statements;
  while (statements.size() <= sql::kLongStatement_bytes) statements += "SELECT 1; ";
  const std::string select = "SELECT v FROM t WHERE id IN (" + list + ")";
  const auto [bytes, steps] = GENERATE_COPY(
      Long{query(select), 4}, Long{parse("", select) + testing::bind("", "") + execute("") + sync(), 4},
      Long{query(select + "; SELECT 1"), 4}, Long{query("SELECT 1; " + select), 4},
      Long{query(statements), 2}, Long{query(statements + ")"), 1}, Long{query("SELECT nosuch, " + list), 4},
      Long{parse("", "SELECT nosuch, " + list) + sync(), 4}, Long{parse("", statements) + sync(), 2});
  const std::string prepare =
      query("CREATE TABLE t (id int PRIMARY KEY, v int)") + query("INSERT INTO t VALUES (7, 8)");
  World at_once;
  TestClient plain = TestClient::ready(at_once);
  plain.ask(prepare);
  const std::string expected = payloads(plain.ask(bytes));

  World world;
  PlanningThread thread(world);
  TestClient busy = TestClient::ready(world);
  TestClient other = TestClient::ready(world);
  busy.ask(prepare);
  REQUIRE(thread.asked() == 0);
  CHECK(busy.ask(bytes).empty());
  CHECK(thread.asked() == 1);
  CHECK(kinds(other.ask(query("SELECT 1"))) == "TDCZ");
  thread.release();
  CHECK(payloads(busy.receive()) == expected);
  CHECK(thread.asked() == steps);
}

TEST_CASE("a long statement is planned on the planning thread again when the catalog has changed",
          "[turns]") {
  World world;
  PlanningThread thread(world);
  TestClient client = TestClient::ready(world);
  client.ask(query("CREATE TABLE t (id int PRIMARY KEY, v int)"));
  thread.release();
  client.ask(parse("s", "SELECT v FROM t WHERE id IN (" + numbers(sql::kLongStatement_bytes) + ")") + sync());
  REQUIRE(thread.asked() == 4);
  client.ask(query("CREATE INDEX by_v ON t (v)"));
  CHECK(kinds(client.ask(testing::bind("", "s") + execute("") + sync())) == "2CZ");
  CHECK(thread.asked() == 8);
}

TEST_CASE("a long statement that is planned anew once it runs keeps the time at which it was bound",
          "[turns]") {
  World world;
  PlanningThread thread(world);
  TestClient client = TestClient::ready(world);
  client.ask(query("CREATE TABLE t (id int PRIMARY KEY, v int)") + query("INSERT INTO t VALUES (7, 8)"));
  thread.release();
  const std::string ids = numbers(sql::kLongStatement_bytes);
  client.ask(parse("s", "SELECT now() FROM t WHERE id IN (" + ids + ")") + sync());
  client.ask(query("SET TimeZone = 'UTC'"));
  world.wall_us = 60'000'000;
  client.send(testing::bind("", "s"));
  TestClient other = TestClient::ready(world);
  other.ask(query("CREATE INDEX by_v ON t (v)"));
  thread.hold();
  world.wall_us += 5'000'000;
  client.send(execute("") + sync());
  world.wall_us += 5'000'000;
  thread.release();
  const std::vector<Received> answer = client.receive();
  REQUIRE(kinds(answer) == "2DCZ");
  CHECK(answer[1].values()[0] == "2000-01-01 00:01:00+00");
}

TEST_CASE("a long statement is planned with the indexes that its table had when its planning began",
          "[turns]") {
  World world;
  PlanningThread thread(world);
  TestClient client = TestClient::ready(world);
  client.ask(query("CREATE TABLE t (id int PRIMARY KEY, v int)") + query("CREATE INDEX by_v ON t (v)"));
  client.send(query("EXPLAIN SELECT id FROM t WHERE v IN (" + numbers(sql::kLongStatement_bytes) + ")"));
  thread.work();  // parses
  thread.work();  // finds the names of tables
  REQUIRE(thread.asked() == 3);
  const std::weak_ptr<const storage::Index> index = world.engine.cached_table("t")->indexes.front();
  world.engine.clear_indexes("t");
  CHECK_FALSE(index.expired());
  thread.release();
  const std::string plan = payloads(client.receive());
  CHECK(plan.find("Index Scan using by_v on t") != std::string::npos);
}

TEST_CASE("a statement that waits for the planning thread ends when it is no longer wanted", "[turns]") {
  World world;
  PlanningThread thread(world);
  TestClient busy(world);
  busy.connect();
  const std::string key = cancel_key_of(busy);
  busy.ask(query("CREATE TABLE t (id int PRIMARY KEY, v int)"));
  const std::string select = "SELECT v FROM t WHERE id IN (" + numbers(sql::kLongStatement_bytes) + ")";
  const bool extended = GENERATE(false, true);
  const bool parsed = GENERATE(false, true);
  const std::string statement = extended ? parse("", select) + sync() : query(select);
  const auto wait_a_moment = [&] {
    world.executor.advance(2 * kMillisecond_ns);
    world.executor.run_ready();
  };
  const auto begin = [&] {
    CHECK(busy.ask(statement).empty());
    if (parsed) thread.work();
    wait_a_moment();
    REQUIRE(busy.receive().empty());
  };
  SECTION("a cancel request") {
    begin();
    TestClient canceler(world);
    canceler.connect();
    canceler.send(big_endian(16, 4) + big_endian(80'877'102, 4) + key);
    wait_a_moment();
    const std::vector<Received> answer = busy.receive();
    CHECK(sqlstate(answer) == "57014");
    CHECK(kinds(answer) == "EZ");
    thread.release();
    CHECK(kinds(busy.ask(query(select))) == "TCZ");
  }
  SECTION("statement_timeout, which counts from the statement's beginning") {
    busy.ask(query("SET statement_timeout = '20ms'"));
    world.executor.advance(100 * kMillisecond_ns);
    begin();
    world.executor.advance(20 * kMillisecond_ns);
    world.executor.run_ready();
    const std::vector<Received> answer = busy.receive();
    CHECK(sqlstate(answer) == "57014");
    CHECK(kinds(answer) == "EZ");
    thread.release();
    world.executor.advance(100 * kMillisecond_ns);
    CHECK(kinds(busy.ask(query(select))) == "TCZ");
  }
  SECTION("its session is terminated") {
    begin();
    TestClient other(world);
    other.connect();
    cancel_key_of(other);  // as the same user
    REQUIRE(kinds(other.ask(query("SELECT pg_terminate_backend(1)"))) == "TDCZ");
    wait_a_moment();
    CHECK(sqlstate(busy.receive()) == "57P01");
  }
  SECTION("its client is gone") {
    begin();
    busy.vanish();
    wait_a_moment();
    CHECK(world.process.connections() == 0);
  }
}

}  // namespace planning_turns_test
}  // namespace namdb::pgwire
