// COPY: the data of clients, its errors, and clients that go away in the middle.
#include <catch2/catch.hpp>

#include "compute/pgwire/testing/test_client.h"

namespace namdb::pgwire {

using namespace testing;  // NOLINT: the messages are the vocabulary of this file

namespace {

std::string copy_data(std::string_view bytes) {
  return message('d', std::string(bytes));
}
std::string copy_done() {
  return message('c', "");
}
std::string copy_fail(std::string_view reason) {
  return message('f', zero_terminated(reason));
}

std::string all_data(const std::vector<Received>& messages) {
  std::string data;
  for (const Received& received : messages) data += received.type == 'd' ? received.payload : "";
  return data;
}

TestClient with_table(World& world) {
  TestClient client = TestClient::ready(world);
  CHECK(kinds(client.ask(query("CREATE TABLE c (id int PRIMARY KEY, v text DEFAULT 'd', at date)"))) == "CZ");
  return client;
}

std::string rows(TestClient& client) {
  return all_data(client.ask(query("COPY (SELECT * FROM c ORDER BY id) TO STDOUT")));
}

}  // namespace

TEST_CASE("COPY FROM takes rows in messages of any size, and COPY TO gives them back", "[copy]") {
  World world;
  TestClient client = with_table(world);
  auto messages = client.ask(query("COPY c FROM STDIN"));
  REQUIRE(kinds(messages) == "G");
  CHECK(messages[0].payload == std::string("\0\0\3\0\0\0\0\0\0", 9));
  CHECK(client.ask(copy_data("1\tone\t2024-01-02\n2\t")).empty());
  CHECK(client.ask(copy_data("\\N\t\\N\n")).empty());
  messages = client.ask(copy_data("3\ta\\tb\\\\\t\\N") + copy_done());
  CHECK(kinds(messages) == "CZ");
  CHECK(messages[0].payload == zero_terminated("COPY 3"));
  messages = client.ask(query("COPY c TO STDOUT"));
  CHECK(kinds(messages) == "HdddcCZ");
  CHECK(rows(client) == "1\tone\t2024-01-02\n2\t\\N\t\\N\n3\ta\\tb\\\\\t\\N\n");
  CHECK(kinds(client.ask(query("COPY c (id) FROM STDIN CSV HEADER"))) == "G");
  CHECK(kinds(client.ask(copy_data("id\n7\n") + copy_done())) == "CZ");
  CHECK(all_data(client.ask(query("COPY (SELECT * FROM c WHERE id = 7) TO STDOUT (FORMAT csv, HEADER)"))) ==
        "id,v,at\n7,d,\n");
}

TEST_CASE("binary rows are the same there and back", "[copy]") {
  World world;
  TestClient client = with_table(world);
  client.ask(query("INSERT INTO c VALUES (1, 'x', '2024-01-02'), (2, NULL, NULL)"));
  const std::string data = all_data(client.ask(query("COPY c TO STDOUT (FORMAT binary)")));
  client.ask(query("DELETE FROM c"));
  CHECK(kinds(client.ask(query("COPY c FROM STDIN (FORMAT binary)"))) == "G");
  CHECK(kinds(client.ask(copy_data(data) + copy_done())) == "CZ");
  CHECK(rows(client) == "1\tx\t2024-01-02\n2\t\\N\t\\N\n");
}

TEST_CASE("binary data ends with its last message", "[copy]") {
  World world;
  TestClient client = with_table(world);
  client.ask(query("INSERT INTO c VALUES (1, 'x', '2024-01-02')"));
  const std::string data = all_data(client.ask(query("COPY c TO STDOUT (FORMAT binary)")));
  client.ask(query("DELETE FROM c"));
  for (const std::string& more : {std::string(1, '\0'), data.substr(19)}) {
    CHECK(kinds(client.ask(query("COPY c FROM STDIN (FORMAT binary)"))) == "G");
    const auto messages = client.ask(copy_data(data) + copy_data(more) + copy_done());
    REQUIRE(kinds(messages) == "EZ");
    CHECK(messages[0].field('C') == "22P04");
    CHECK(messages[0].field('M') == "received copy data after EOF marker");
    CHECK(rows(client).empty());
  }
  CHECK(kinds(client.ask(query("COPY c FROM STDIN (FORMAT binary)"))) == "G");
  CHECK(kinds(client.ask(copy_data(data) + copy_fail("no more"))) == "EZ");
  CHECK(rows(client).empty());
}

TEST_CASE("an error in the middle of COPY leaves nothing, and the rest of the data is dropped", "[copy]") {
  World world;
  TestClient client = with_table(world);
  const auto fails = [&](const std::string& data) {
    CHECK(kinds(client.ask(query("COPY c FROM STDIN"))) == "G");
    auto messages = client.ask(data);
    REQUIRE(kinds(messages) == "EZ");
    CHECK(messages[1].payload == "I");
    CHECK(client.ask(copy_data("9\tx\t\\N\n") + copy_done()).empty());
    CHECK(rows(client).empty());
    return messages[0];
  };
  Received error = fails(copy_data("1\ta\t\\N\nx\tb\t\\N\n"));
  CHECK(error.field('C') == "22P02");
  CHECK(error.field('W') == "COPY c, line 2, column id: \"x\"");
  error = fails(copy_data("1\ta\t\\N\n2\n"));
  CHECK(error.field('C') == "22P04");
  CHECK(error.field('M') == "missing data for column \"v\"");
  CHECK(error.field('W') == "COPY c, line 2");
  error = fails(copy_data("1\ta\t\\N\n1\tb\t\\N\n") + copy_done());
  CHECK(error.field('C') == "23505");
  error = fails(copy_data("\\N\ta\t\\N\n"));
  CHECK(error.field('C') == "23502");
  // Bytes that are not text, as they come and as escapes.
  for (const char* line :
       {"1\ta\t\\N\n2\xff\tb\t\\N\n", "1\ta\t\\N\n\xff\n", "1\ta\t\\N\n2\\xff\tb\t\\N\n"}) {
    error = fails(copy_data(line));
    CHECK(error.field('C') == "22021");
    CHECK(error.field('M') == "invalid byte sequence for encoding \"UTF8\": 0xff");
    CHECK(error.field('W') == "COPY c, line 2");
  }
  error = fails(copy_data("1\ta\t\\N\n") + copy_fail("no more"));
  CHECK(error.field('C') == "57014");
  CHECK(error.field('M') == "COPY from stdin failed: no more");
  error = fails(copy_data("1\ta\t\\N\n") + query("SELECT 1"));
  CHECK(error.field('C') == "08P01");
}

TEST_CASE("COPY in a block is undone with it", "[copy]") {
  World world;
  TestClient client = with_table(world);
  client.ask(query("BEGIN"));
  CHECK(kinds(client.ask(query("COPY c FROM STDIN"))) == "G");
  CHECK(kinds(client.ask(copy_data("1\ta\t\\N\n") + copy_done())) == "CZ");
  CHECK(rows(client) == "1\ta\t\\N\n");
  client.ask(query("ROLLBACK"));
  CHECK(rows(client).empty());
}

TEST_CASE("COPY within the extended protocol ends before its Sync", "[copy]") {
  World world;
  TestClient client = with_table(world);
  auto messages = client.ask(parse("", "COPY c FROM STDIN") + bind("", "") + execute("") + flush());
  CHECK(kinds(messages) == "12G");
  messages = client.ask(copy_data("1\ta\t\\N\n") + copy_done() + sync());
  CHECK(kinds(messages) == "CZ");
  CHECK(rows(client) == "1\ta\t\\N\n");
}

TEST_CASE("a client that vanishes in the middle of COPY leaves nothing behind", "[copy]") {
  World world;
  TestClient client = with_table(world);
  {
    TestClient other = TestClient::ready(world);
    CHECK(kinds(other.ask(query("COPY c FROM STDIN"))) == "G");
    other.send(copy_data("1\ta\t\\N\n"));
    other.vanish();
  }
  CHECK(rows(client).empty());
  CHECK(world.process.connections() == 1);
}

TEST_CASE("a server that stops ends a COPY that waits for its client", "[copy]") {
  World world;
  TestClient client = with_table(world);
  CHECK(kinds(client.ask(query("COPY c FROM STDIN"))) == "G");
  client.send(copy_data("1\ta\t\\N\n"));
  world.begin_stop();
  world.executor.run_until([&] { return client.pipe().server_closed; });
  CHECK(sqlstate(client.receive()) == "57P01");
  world.start();
  TestClient again = TestClient::ready(world);
  CHECK(rows(again).empty());
}

TEST_CASE("options of COPY that contradict the format are refused", "[copy]") {
  World world;
  TestClient client = with_table(world);
  const auto refused = [&](const std::string& text) { return sqlstate(client.ask(query(text))); };
  CHECK(refused("COPY c FROM STDIN (FORMAT xml)") == "22023");
  CHECK(refused("COPY c FROM STDIN (FORMAT binary, DELIMITER ',')") == "42601");
  CHECK(refused("COPY c FROM STDIN (DELIMITER 'ab')") == "0A000");
  CHECK(refused("COPY c FROM STDIN (QUOTE '|')") == "0A000");
  CHECK(refused("COPY c FROM '/etc/passwd'") == "0A000");
  CHECK(refused("COPY c TO PROGRAM 'cat'") == "0A000");
  CHECK(refused("COPY nosuch FROM STDIN") == "42P01");
  CHECK(refused("COPY c (nosuch) FROM STDIN") == "42703");
  CHECK(refused("COPY c (id, id) FROM STDIN") == "42701");
  CHECK(refused("COPY c TO STDOUT (FREEZE)") == "0A000");
}

}  // namespace namdb::pgwire
