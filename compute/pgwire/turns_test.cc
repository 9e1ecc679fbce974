// Statements with much work give other clients their turns.
#include <catch2/catch.hpp>
#include <deque>
#include <functional>

#include "compute/pgwire/testing/test_client.h"

namespace namdb::pgwire {

using namespace testing;  // NOLINT: the messages are the vocabulary of this file

namespace {

constexpr std::size_t kLong_bytes = 1 << 20;

// Unlike TestClient::send(), does not run the server.
void post(TestClient& client, const std::string& bytes) {
  client.pipe().to_server += bytes;
  client.pipe().arrived.notify_all();
}

std::string with_parameters(const std::string& sql, const std::vector<std::optional<std::string>>& values) {
  return parse("", sql) + testing::bind("", "", values) + execute("") + sync();
}

// The number of turns of the executor until the client has its answer; gives up after `most`.
std::size_t turns_until_ready(World& world, TestClient& client, std::size_t most,
                              std::vector<Received>& messages) {
  for (std::size_t turns = 1; turns <= most; ++turns) {
    world.executor.turn();
    for (Received& received : client.receive()) messages.push_back(std::move(received));
    if (kinds(messages).ends_with("Z")) return turns;
  }
  return most + 1;
}

// A match that takes days: each of the text's bytes begins half a million that fit.
std::string endless() {
  return with_parameters("SELECT $1::text LIKE $2::text", {{std::string(2 * kLong_bytes, 'a')},
                                                           {'%' + std::string(kLong_bytes, 'a') + "_b%"}});
}

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

std::string cancel_key_of(TestClient& client) {
  std::string key;
  for (const Received& received : client.ask(startup({{"user", "u"}, {"database", "namdb"}}))) {
    if (received.type == 'K') key = received.payload;
  }
  REQUIRE(key.size() == 8);
  return key;
}

}  // namespace

TEST_CASE("each operator and function on long operands leaves other clients their turn", "[turns]") {
  World world;
  TestClient busy = TestClient::ready(world);
  TestClient other = TestClient::ready(world);
  const std::string letters(kLong_bytes, 'a');
  std::string umlauts;
  for (std::size_t i = 0; i < kLong_bytes / 2; ++i) umlauts += "ü";
  const std::vector<std::string> expressions = {"$1 || $2",
                                                "$1 = $2",
                                                "$1 <> $2",
                                                "$1 < $2",
                                                "$1 <= $2",
                                                "$1 > $2",
                                                "$1 >= $2",
                                                "$1 IS DISTINCT FROM $2",
                                                "$1 LIKE $2",
                                                "$1 NOT LIKE $2",
                                                "$1 LIKE '%' || $2",
                                                "$1 LIKE '%' || $2 || 'b%'",
                                                "$1 LIKE '%' || $2 || '%b'",
                                                "$1 IN ($2, $2, $2, $1)",
                                                "coalesce($1, $2)",
                                                "nullif($1, $2)",
                                                "greatest($1, $2)",
                                                "least($1, $2)",
                                                "CASE WHEN $1 = $2 THEN $1 ELSE $2 END",
                                                "length($1)",
                                                "char_length($2)",
                                                "octet_length($1)",
                                                "lower($1)",
                                                "upper($2)",
                                                "substring($1, 500000)",
                                                "substring($2, 5, 500000)",
                                                "btrim($1, $2)",
                                                "ltrim($1, $2)",
                                                "rtrim($1, $2)",
                                                "btrim($2, $1)",
                                                "trim($1)",
                                                "ltrim($1)",
                                                "rtrim($2)",
                                                "namdb_partition_server($1)",
                                                "$1::varchar(1000)",
                                                "$1::char(10000)",
                                                "$1::char(10) = $2::char(10)",
                                                "count($1)",
                                                "min($1 || $2)",
                                                "max($2)"};
  for (const std::string& expression : expressions) {
    for (const auto& [left, right] : {std::pair(letters, letters), std::pair(letters, umlauts),
                                      std::pair(umlauts, letters), std::pair(umlauts, umlauts)}) {
      CAPTURE(expression, left[0], right[0]);
      post(busy,
           with_parameters("SELECT length((" + expression + ")::text), $1::text = $2::text", {left, right}));
      post(other, query("SELECT 1"));
      std::vector<Received> answer;
      REQUIRE(turns_until_ready(world, other, 16, answer) <= 16);
      std::vector<Received> late;
      REQUIRE(turns_until_ready(world, busy, 16, late) <= 16);
      CHECK(kinds(late) == "12DCZ");
    }
  }
  for (const char* type : {"int", "bigint", "numeric", "float8", "boolean", "timestamp"}) {
    for (const char* text : {"0", "1", "x", " "}) {
      CAPTURE(type, text);
      std::string digits;
      while (digits.size() < kLong_bytes) digits += text;
      post(busy, with_parameters(std::string("SELECT $1::text::") + type, {digits}));
      post(other, query("SELECT 1"));
      std::vector<Received> answer;
      REQUIRE(turns_until_ready(world, other, 16, answer) <= 16);
      std::vector<Received> late;
      REQUIRE(turns_until_ready(world, busy, 16, late) <= 16);
    }
  }
}

TEST_CASE("an expression without end leaves others their turn, and a cancel request ends it", "[turns]") {
  World world;
  TestClient busy(world);
  busy.connect();
  const std::string key = cancel_key_of(busy);
  TestClient other = TestClient::ready(world);
  post(busy, endless());
  for (int i = 0; i < 3; ++i) {
    post(other, query("SELECT 1"));
    std::vector<Received> answer;
    REQUIRE(turns_until_ready(world, other, 16, answer) <= 16);
    CHECK(kinds(answer) == "TDCZ");
  }
  CHECK(kinds(busy.receive()).find('Z') == std::string::npos);
  TestClient canceler(world);
  canceler.connect();
  post(canceler, big_endian(16, 4) + big_endian(80'877'102, 4) + key);
  std::vector<Received> messages;
  REQUIRE(turns_until_ready(world, busy, 16, messages) <= 16);
  CHECK(sqlstate(messages) == "57014");
}

TEST_CASE("a timeout, or its client's end, ends an expression without end", "[turns]") {
  World world;
  {
    TestClient busy = TestClient::ready(world);
    busy.ask(query("SET statement_timeout = '20ms'"));
    post(busy, endless());
    for (int i = 0; i < 8; ++i) world.executor.turn();
    CHECK(kinds(busy.receive()).find('Z') == std::string::npos);
    world.executor.advance(21 * kMillisecond_ns);
    std::vector<Received> messages;
    REQUIRE(turns_until_ready(world, busy, 16, messages) <= 16);
    CHECK(sqlstate(messages) == "57014");
    busy.vanish();
  }
  TestClient busy = TestClient::ready(world);
  CHECK(world.process.connections() == 1);
  post(busy, endless());
  for (int i = 0; i < 8; ++i) world.executor.turn();
  busy.vanish();  // runs until nothing is ready: an expression that went on would never let it return
  world.executor.run_until([&] { return world.process.connections() == 0; });
  CHECK(world.process.connections() == 0);
}

TEST_CASE("what was interrupted by others' turns gives the same results", "[turns]") {
  World world;
  TestClient client = TestClient::ready(world);
  const std::string left = std::string(kLong_bytes, 'a') + 'x';
  const std::string right = std::string(kLong_bytes, 'a') + 'y';
  std::string list;
  for (int i = 0; i < 100; ++i) list += "$2, ";
  std::string sum;
  for (int i = 0; i < 40; ++i) sum += "length($1 || $2) + ";
  const std::string sql = "SELECT $1 IN (" + list + "$1), $1 IN (" + list + "$2), $1 IN (" + list +
                          "NULL), least(" + list + "$1) = $1, " + sum +
                          "1, ($1 LIKE '%' || $2) OR ($1 LIKE $2 || '%') OR ($1 LIKE '%aa%x'), count(*), "
                          "sum(length($1 || $2)), max($1 || $2) = $1 || $2";
  post(client, with_parameters(sql, {left, right}));
  std::vector<Received> messages;
  const std::size_t turns = turns_until_ready(world, client, 10'000, messages);
  CHECK(turns > 40);
  REQUIRE(kinds(messages) == "12DCZ");
  const auto values = messages[2].values();
  const std::size_t both_bytes = left.size() + right.size();
  const std::vector<std::optional<std::string>> expected = {
      "t", "f", std::nullopt, "t", std::to_string(40 * both_bytes + 1), "t", "1", std::to_string(both_bytes),
      "t"};
  CHECK(values == expected);
}

TEST_CASE("scanning, sorting and changing rows with long values leaves others their turn", "[turns]") {
  World world;
  TestClient busy = TestClient::ready(world);
  TestClient other = TestClient::ready(world);
  REQUIRE(sqlstate(busy.ask(query("CREATE TABLE t (id int PRIMARY KEY, v varchar(16000))"))).empty());
  constexpr int kRows = 500;
  for (int id = 0; id < kRows; ++id) {
    const int place = id * 7 % kRows;  // in the order of v
    REQUIRE(sqlstate(busy.ask(with_parameters(
                         "INSERT INTO t VALUES ($1, $2)",
                         {{std::to_string(place)}, {std::string(15'000, 'v') + std::to_string(1000 + id)}})))
                .empty());
  }
  const auto run = [&](const std::string& sql, std::vector<Received>& messages) {
    post(busy, query(sql));
    post(other, query("SELECT 1"));
    std::vector<Received> answer;
    CHECK(turns_until_ready(world, other, 16, answer) <= 16);
    return turns_until_ready(world, busy, 10'000, messages);
  };
  std::vector<Received> sorted;
  CHECK(run("SELECT id FROM t ORDER BY v", sorted) > 10);
  REQUIRE(sorted.size() == kRows + 3);
  for (int id = 0; id < kRows; ++id) {
    const auto value = sorted[static_cast<std::size_t>(id) + 1].values()[0];
    REQUIRE(value == std::to_string(id * 7 % kRows));
  }
  std::vector<Received> counted;
  CHECK(run("SELECT count(v || v || v || v) FROM t WHERE v LIKE '%v_0%'", counted) > 4);
  CHECK(counted[1].values()[0] == "100");
  std::vector<Received> updated;
  CHECK(run("UPDATE t SET v = v WHERE v LIKE '%v_1%' AND v LIKE '%v_11%'", updated) > 1);
  CHECK(updated[0].payload.starts_with("UPDATE 10"));
  std::vector<Received> removed;
  CHECK(run("DELETE FROM t WHERE v || v LIKE '%v_0%'", removed) > 4);
  CHECK(removed[0].payload.starts_with("DELETE 100"));
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
      Long{query(select), 3}, Long{parse("", select) + testing::bind("", "") + execute("") + sync(), 3},
      Long{query(select + "; SELECT 1"), 3}, Long{query("SELECT 1; " + select), 3},
      Long{query(statements), 2}, Long{query(statements + ")"), 1}, Long{query("SELECT nosuch, " + list), 3},
      Long{parse("", "SELECT nosuch, " + list) + sync(), 3}, Long{parse("", statements) + sync(), 2});
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
  REQUIRE(thread.asked() == 3);
  client.ask(query("CREATE INDEX by_v ON t (v)"));
  CHECK(kinds(client.ask(testing::bind("", "s") + execute("") + sync())) == "2CZ");
  CHECK(thread.asked() == 6);
}

TEST_CASE("a long statement that is planned anew once it runs keeps its transaction's clock", "[turns]") {
  World world;
  PlanningThread thread(world);
  TestClient client = TestClient::ready(world);
  client.ask(query("CREATE TABLE t (id int PRIMARY KEY, v int)") + query("INSERT INTO t VALUES (7, 8)"));
  thread.release();
  const std::string ids = numbers(sql::kLongStatement_bytes);
  client.ask(parse("s", "SELECT now() FROM t WHERE id IN (" + ids + ")") + sync());
  client.ask(query("SET TimeZone = 'UTC'"));
  client.send(testing::bind("", "s"));
  TestClient other = TestClient::ready(world);
  other.ask(query("CREATE INDEX by_v ON t (v)"));
  thread.hold();
  world.wall_us = 60'000'000;
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
  REQUIRE(thread.asked() == 2);
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

TEST_CASE("a long list of values leaves others their turns", "[turns]") {
  World world;
  TestClient busy = TestClient::ready(world);
  TestClient other = TestClient::ready(world);
  busy.ask(query("CREATE TABLE t (id int PRIMARY KEY, v int)") + query("CREATE INDEX by_v ON t (v)") +
           query("INSERT INTO t VALUES (7, 8)"));
  constexpr int kValues = 60'000;
  std::string list = "$1";
  std::vector<std::optional<std::string>> values{"0"};
  for (int i = 1; i < kValues; ++i) {
    list += ", $" + std::to_string(i + 1);
    values.emplace_back(std::to_string(i % 50));  // few of them, so that little is read
  }
  const std::string statement = GENERATE("SELECT id FROM t WHERE id IN (", "SELECT id FROM t WHERE v IN (",
                                         "UPDATE t SET v = v WHERE id IN (", "DELETE FROM t WHERE v IN (");
  CAPTURE(statement);
  REQUIRE(kinds(busy.ask(parse("s", statement + list + ")") + sync())) == "1Z");
  post(busy, testing::bind("", "s", values) + execute("") + sync());
  post(other, query("SELECT 1"));
  std::vector<Received> answer;
  CHECK(turns_until_ready(world, other, 3, answer) <= 3);
  std::vector<Received> messages;
  CHECK(turns_until_ready(world, busy, 1000, messages) > 5);
  CHECK(sqlstate(messages).empty());
  CHECK(messages[messages.size() - 2].payload.find('1') != std::string::npos);  // one row
}

TEST_CASE("strings, rows and the memory of a row's expressions are bounded", "[turns]") {
  World world;
  TestClient client = TestClient::ready(world);
  const std::string text(12 << 20, 'a');
  std::string sum = "0";
  for (int i = 0; i < 12; ++i) sum += " + length($1 || $1)";
  for (const std::string& sql :
       {std::string("SELECT length($1 || $1 || $1)"), std::string("SELECT $1::text, $1, $1"), "SELECT " + sum,
        std::string("SELECT $1::text, $1, $1 ORDER BY 1")}) {
    CHECK(sqlstate(client.ask(with_parameters(sql, {text}))) == "54000");
  }
  CHECK(kinds(client.ask(with_parameters("SELECT length($1 || $1)", {text}))) == "12DCZ");
}

}  // namespace namdb::pgwire
