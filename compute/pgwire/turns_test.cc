// Statements with much work give other clients their turns.
#include <catch2/catch.hpp>

#include "compute/pgwire/testing/turns.h"

namespace namdb::pgwire {

using namespace testing;  // NOLINT: the messages are the vocabulary of this file

namespace {

constexpr std::size_t kLong_bytes = 1 << 20;

// A match that takes days: each of the text's bytes begins half a million that fit.
std::string endless() {
  return with_parameters("SELECT $1::text LIKE $2::text", {{std::string(2 * kLong_bytes, 'a')},
                                                           {'%' + std::string(kLong_bytes, 'a') + "_b%"}});
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
                                                "$1 BETWEEN $2 AND $1",
                                                "$1 NOT BETWEEN $1 AND $2",
                                                "$1 LIKE $2",
                                                "$1 NOT LIKE $2",
                                                "$1 LIKE '%' || $2",
                                                "$1 LIKE '%' || $2 || 'b%'",
                                                "$1 LIKE '%' || $2 || '%b'",
                                                "$1 LIKE substring($2, 1, 500000) || '_%'",
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
                                                "count($1::text)",
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
      REQUIRE(turns_until_ready(world, busy, 64, late) <= 64);
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

// The busy client's statement, which would not end, leaves the other one its turns, and ends at a cancel
// request with the busy client's key.
void check_turns_and_cancel(World& world, TestClient& busy, TestClient& other, const std::string& key) {
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

TEST_CASE("an expression without end leaves others their turn, and a cancel request ends it", "[turns]") {
  World world;
  TestClient busy(world);
  busy.connect();
  const std::string key = cancel_key_of(busy);
  TestClient other = TestClient::ready(world);
  post(busy, endless());
  check_turns_and_cancel(world, busy, other, key);
}

TEST_CASE("a procedure without end leaves others their turn, and a cancel request or a timeout ends it",
          "[turns]") {
  const std::string body =
      GENERATE("CALL deeper(0);", "LOOP NULL; END LOOP;", "LOOP PERFORM 1; END LOOP;",
               "FOR i IN 1..2000000000 LOOP END LOOP;", "LOOP UPDATE t SET v = v + 1 WHERE id = 1; END LOOP;",
               "LOOP BEGIN RAISE EXCEPTION 'x'; EXCEPTION WHEN OTHERS THEN NULL; END; "
               "END LOOP;");
  CAPTURE(body);
  World world;
  TestClient busy(world);
  busy.connect();
  const std::string key = cancel_key_of(busy);
  TestClient other = TestClient::ready(world);
  busy.ask(query("CREATE TABLE t (id int PRIMARY KEY, v bigint); INSERT INTO t VALUES (1, 0)"));
  busy.ask(
      query("CREATE PROCEDURE deeper(n int) LANGUAGE plpgsql AS $$ BEGIN IF n < 50 THEN CALL deeper(n + 1); "
            "CALL deeper(n + 1); END IF; END $$"));
  busy.ask(query("CREATE PROCEDURE ever() LANGUAGE plpgsql AS $$ BEGIN " + body + " END $$"));
  post(busy, query("CALL ever()"));
  check_turns_and_cancel(world, busy, other, key);
  busy.ask(query("SET statement_timeout = '20ms'"));
  post(busy, query("CALL ever()"));
  for (int i = 0; i < 8; ++i) world.executor.turn();
  world.executor.advance(21 * kMillisecond_ns);
  std::vector<Received> messages;
  REQUIRE(turns_until_ready(world, busy, 16, messages) <= 16);
  CHECK(sqlstate(messages) == "57014");
}

TEST_CASE("a function in SQL gives others their turns, and ends when it is canceled or late", "[turns]") {
  const std::string statement =
      GENERATE("SELECT deeper(0)", "SELECT ever()", "SELECT * FROM rows_for_ever()",
               "SELECT count(soon(i)) FROM generate_series(1, 2000000000) AS i", "CALL calls_ever()",
               "SELECT 1 WHERE EXISTS (SELECT 1 WHERE ever() = 1)");
  CAPTURE(statement);
  World world;
  TestClient busy(world);
  busy.connect();
  const std::string key = cancel_key_of(busy);
  TestClient other = TestClient::ready(world);
  busy.ask(
      query("CREATE FUNCTION deeper(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN IF n < 50 THEN RETURN "
            "deeper(n + 1) + deeper(n + 1); END IF; RETURN 0; END $$"));
  busy.ask(
      query("CREATE FUNCTION ever() RETURNS int LANGUAGE plpgsql AS $$ BEGIN LOOP NULL; END LOOP; END $$"));
  busy.ask(
      query("CREATE FUNCTION rows_for_ever() RETURNS SETOF int LANGUAGE plpgsql AS $$ BEGIN LOOP RETURN NEXT "
            "1; END LOOP; END $$"));
  busy.ask(query("CREATE FUNCTION soon(n int) RETURNS int LANGUAGE sql AS 'SELECT n'"));
  busy.ask(
      query("CREATE PROCEDURE calls_ever() LANGUAGE plpgsql AS $$ DECLARE x int := ever(); BEGIN END $$"));
  post(busy, query(statement));
  check_turns_and_cancel(world, busy, other, key);
  busy.ask(query("SET statement_timeout = '20ms'"));
  post(busy, query(statement));
  for (int i = 0; i < 8; ++i) world.executor.turn();
  world.executor.advance(21 * kMillisecond_ns);
  std::vector<Received> messages;
  REQUIRE(turns_until_ready(world, busy, 16, messages) <= 16);
  CHECK(sqlstate(messages) == "57014");
}

TEST_CASE("a procedure ends when its transaction does, though it has all rows that it asks for", "[turns]") {
  World world;
  TestClient busy = TestClient::ready(world);
  busy.ask(query("CREATE TABLE t (id int PRIMARY KEY, v bigint); INSERT INTO t VALUES (1, 0)"));
  busy.ask(
      query("CREATE PROCEDURE ever() LANGUAGE plpgsql AS $$ BEGIN LOOP UPDATE t SET v = v + 1 WHERE id = 1; "
            "END LOOP; END $$"));
  post(busy, query("CALL ever()"));
  for (int i = 0; i < 8; ++i) world.executor.turn();
  CHECK(kinds(busy.receive()).find('Z') == std::string::npos);
  world.engine.expire_transactions();
  std::vector<Received> messages;
  REQUIRE(turns_until_ready(world, busy, 16, messages) <= 16);
  CHECK(sqlstate(messages) == "25P04");
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

TEST_CASE("a statement interrupted by others' turns gives the same results", "[turns]") {
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

TEST_CASE("statements whose values are long give others their turn for every few MB of them", "[turns]") {
  World world;
  TestClient busy = TestClient::ready(world);
  TestClient other = TestClient::ready(world);
  constexpr std::size_t kRows = 200;
  busy.ask(query("CREATE TABLE t (id int PRIMARY KEY, v varchar(10), c char(16000))"));
  std::string rows = "(0, '')";
  for (std::size_t id = 1; id < kRows; ++id) rows += ", (" + std::to_string(id) + ", '')";
  REQUIRE(sqlstate(busy.ask(query("INSERT INTO t (id, v) VALUES " + rows))).empty());
  REQUIRE(sqlstate(busy.ask(query("UPDATE t SET c = ''"))).empty());
  std::string inserts = "(1000, $1)";
  for (std::size_t id = 1; id < kRows; ++id) inserts += ", (" + std::to_string(1000 + id) + ", $1)";
  const std::string letters(kLong_bytes, 'a');
  const std::string blanks(kLong_bytes, ' ');
  std::string wildcards;
  while (wildcards.size() < kLong_bytes / 2) wildcards += "aaaa_";
  struct Statement {
    std::string sql;
    std::vector<std::optional<std::string>> values;
    std::size_t bytes;  // that it looks at, at least
  };
  const auto [sql, values, bytes] = GENERATE_COPY(
      Statement{"SELECT $1::text BETWEEN $2 AND $3", {letters, letters, letters}, 4 * kLong_bytes},
      Statement{"SELECT $1::text LIKE $2",
                {letters, wildcards + '%'},
                kLong_bytes / 2 * sql::Work::kLikeStep_units},
      Statement{"SELECT $1::text LIKE $2", {letters, "%_b%"}, 2 * kLong_bytes * sql::Work::kLikeStep_units},
      Statement{"SELECT count(*) FROM t WHERE $1 || v LIKE $2", {letters, "%b%"}, 2 * kRows * kLong_bytes},
      Statement{
          "SELECT count(*) FROM t WHERE $1 BETWEEN v AND $2", {letters, letters}, 2 * kRows * kLong_bytes},
      Statement{"SELECT count(*) FROM t WHERE substring($1, 9) = v", {letters}, kRows * kLong_bytes},
      Statement{"SELECT id, $1::text FROM t WHERE id < 20 ORDER BY id", {letters}, 20 * kLong_bytes},
      Statement{"UPDATE t SET v = $1", {blanks}, kRows * kLong_bytes},
      Statement{"UPDATE t SET v = substring($1, 1, 10)", {letters}, kRows * kLong_bytes},
      Statement{"DELETE FROM t WHERE v <> lower($1)", {letters}, kRows * kLong_bytes},
      Statement{"INSERT INTO t VALUES " + inserts, {blanks}, kRows * kLong_bytes},
      Statement{
          "SELECT count(*) FROM t WHERE c = 'a' OR c = 'b' OR c = 'c' OR c = 'd'", {}, 4 * kRows * 16'000});
  CAPTURE(sql);
  REQUIRE(kinds(busy.ask(parse("s", sql) + sync())) == "1Z");
  post(busy, testing::bind("", "s", values) + execute("") + sync());
  post(other, query("SELECT 1"));
  std::vector<Received> answer;
  CHECK(turns_until_ready(world, other, 4, answer) <= 4);
  std::vector<Received> messages;
  CHECK(turns_until_ready(world, busy, 100'000, messages) >= bytes / (4 * sql::Work::kTurn_units));
  CHECK(sqlstate(messages).empty());
}

TEST_CASE("writing many rows gives others their turn for every few hundred of them", "[turns]") {
  World world;
  TestClient busy = TestClient::ready(world);
  TestClient other = TestClient::ready(world);
  busy.ask(query("CREATE TABLE t (id int PRIMARY KEY, v int)"));
  constexpr std::size_t kRows = 20'000;
  std::string rows = "(0, 0)";
  for (std::size_t id = 1; id < kRows; ++id) rows += ", (" + std::to_string(id) + ", 0)";
  for (const std::string& sql : {"INSERT INTO t VALUES " + rows, std::string("UPDATE t SET v = v + 1"),
                                 std::string("DELETE FROM t WHERE v = 1")}) {
    CAPTURE(sql.substr(0, 40));
    REQUIRE(kinds(busy.ask(parse("s", sql) + sync())) == "1Z");
    post(busy, testing::bind("", "s") + execute("") + sync());
    post(other, query("SELECT 1"));
    std::vector<Received> answer;
    CHECK(turns_until_ready(world, other, 4, answer) <= 4);
    std::vector<Received> messages;
    CHECK(turns_until_ready(world, busy, 100'000, messages) >= kRows / 2000);
    CHECK(sqlstate(messages).empty());
    busy.ask(close_target('S', "s") + sync());
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
