// SQL blocks in the order of timestamps: rows that they lock as they read them, and ranges that newer ones
// have changed meanwhile. All of nam-computed but the wire; two compute servers.
#include <catch2/catch.hpp>

#include "tools/namsim/testing/sessions.h"

namespace namdb::sim {
namespace timestamps_test {

constexpr const char* kBegin = "BEGIN ISOLATION LEVEL SERIALIZABLE";

struct LockingSessions : Sessions {
  LockingSessions(std::string_view protocol, std::string_view stages)
      : Sessions(protocol, stages, txn::ReadLocks::automatic, false, txn::LockTime::fetch) {}
};

bool is_conflict(const Status& status) {
  return status.code() == ErrorCode::serialization_failure || status.code() == ErrorCode::lock_not_available;
}

TEST_CASE("a row that a block has changed is locked before the block commits, and free once it has ended",
          "[protocols]") {
  const std::string protocol = GENERATE("mvcc", "sundial");
  const std::string stages = GENERATE("one-sided", "two-sided", "read", "lock");
  const std::string end = GENERATE("COMMIT", "ROLLBACK", "the client leaves");
  CAPTURE(protocol, stages, end);
  LockingSessions sessions(protocol, stages);
  SqlClient& writer = sessions.open(0);
  SqlClient& other = sessions.open(1);
  REQUIRE(sessions.done(1, other, "SET lock_timeout = '50ms'"));
  REQUIRE(sessions.done(0, writer, kBegin));
  REQUIRE(sessions.done(0, writer, "UPDATE t SET v = v + 1 WHERE id = 3"));
  const Status kept_out = sessions.run(1, other, "UPDATE t SET v = v + 10 WHERE id = 3");
  INFO(kept_out.to_string());
  CHECK(is_conflict(kept_out));
  CHECK(sessions.done(1, other, "UPDATE t SET v = 5 WHERE id = 6"));
  if (end == "the client leaves") {
    sessions.leave(writer);
  } else {
    CHECK(sessions.done(0, writer, end));
  }
  sessions.run_for(20 * kMillisecond_ns);
  CHECK(sessions.done(1, other, "UPDATE t SET v = v + 10 WHERE id = 3"));
  const SqlAnswer seen = sessions.ask(1, other, "SELECT v FROM t WHERE id = 3");
  REQUIRE(seen.status.ok());
  CHECK(seen.rows == std::vector<std::vector<std::string>>{{end == "COMMIT" ? "11" : "10"}});
}

TEST_CASE("of two blocks that change two rows in opposite orders one goes on at once", "[protocols]") {
  const std::string protocol = GENERATE("mvcc", "sundial");
  CAPTURE(protocol);
  LockingSessions sessions(protocol, "one-sided");
  SqlClient& one = sessions.open(0);
  SqlClient& two = sessions.open(1);
  REQUIRE(sessions.done(0, one, kBegin));
  REQUIRE(sessions.done(1, two, kBegin));
  REQUIRE(sessions.done(0, one, "UPDATE t SET v = v + 1 WHERE id = 3"));
  REQUIRE(sessions.done(1, two, "UPDATE t SET v = v + 1 WHERE id = 6"));
  // Each holds a row: neither waits.
  CHECK(is_conflict(sessions.run(0, one, "UPDATE t SET v = v + 1 WHERE id = 6")));
  CHECK(sessions.took_ns() < 20 * kMillisecond_ns);
  REQUIRE(sessions.done(0, one, "ROLLBACK"));
  sessions.run_for(20 * kMillisecond_ns);
  CHECK(sessions.done(1, two, "UPDATE t SET v = v + 1 WHERE id = 3"));
  CHECK(sessions.done(1, two, "COMMIT"));
}

TEST_CASE("rows that a killed compute server has locked as it read them become free", "[protocols]") {
  const std::string protocol = GENERATE("mvcc", "sundial");
  CAPTURE(protocol);
  LockingSessions sessions(protocol, "one-sided");
  SqlClient& writer = sessions.open(0);
  SqlClient& other = sessions.open(1);
  REQUIRE(sessions.done(0, writer, kBegin));
  REQUIRE(sessions.done(0, writer, "UPDATE t SET v = v + 1 WHERE id = 3"));
  sessions.kill(0);
  sessions.run_for(2 * kSecond_ns);
  CHECK(sessions.done(1, other, "UPDATE t SET v = v + 10 WHERE id = 3"));
}

// Both blocks are of one compute server, whose clock puts them in the order in which they begin.
TEST_CASE("an MVCC block commits though newer ones have changed the range of an index that it has read",
          "[protocols]") {
  const std::string change =
      GENERATE("INSERT INTO t VALUES (900, 1, 1, 7)", "UPDATE t SET g = 1 WHERE id = 2",
               "UPDATE t SET g = 2 WHERE id = 5", "DELETE FROM t WHERE id = 5");
  const bool writes = GENERATE(false, true);
  const std::string stages = GENERATE("one-sided", "two-sided");
  CAPTURE(change, writes, stages);
  Sessions sessions("mvcc", stages);
  SqlClient& reader = sessions.open(0);
  SqlClient& writer = sessions.open(0);
  REQUIRE(sessions.done(0, reader, kBegin));
  REQUIRE(sessions.done(0, reader, "SELECT v FROM t WHERE g = 77"));
  REQUIRE(sessions.done(0, reader, "SELECT id, v FROM t WHERE g = 1"));
  CHECK(sessions.done(0, writer, change));
  sessions.run_for(kMillisecond_ns);  // it is installed
  if (writes) REQUIRE(sessions.done(0, reader, "UPDATE t SET v = 1 WHERE id = 19"));
  CHECK(sessions.done(0, reader, "COMMIT"));
}

TEST_CASE("an MVCC block commits though a newer one has added a key that it did not find", "[protocols]") {
  const std::string stages = GENERATE("one-sided", "two-sided");
  CAPTURE(stages);
  Sessions sessions("mvcc", stages);
  SqlClient& reader = sessions.open(0);
  SqlClient& writer = sessions.open(0);
  REQUIRE(sessions.done(0, reader, kBegin));
  REQUIRE(sessions.done(0, reader, "SELECT v FROM t WHERE id IN (3, 900)"));
  CHECK(sessions.done(0, writer, "INSERT INTO t VALUES (900, 1, 1, 7)"));
  sessions.run_for(kMillisecond_ns);
  CHECK(sessions.done(0, reader, "COMMIT"));
}

TEST_CASE(
    "an MVCC block does not commit if an older one has changed a range, or added a key, that it has read",
    "[protocols]") {
  const std::string look =
      GENERATE("SELECT id, v FROM t WHERE g = 1", "SELECT v FROM t WHERE id IN (5, 2, 900)");
  const std::string change =
      GENERATE("INSERT INTO t VALUES (900, 1, 1, 7)", "UPDATE t SET g = 1 WHERE id = 2",
               "UPDATE t SET g = 2 WHERE id = 5", "DELETE FROM t WHERE id = 5");
  CAPTURE(look, change);
  Sessions sessions("mvcc", "one-sided");
  SqlClient& reader = sessions.open(0);
  SqlClient& writer = sessions.open(0);
  REQUIRE(sessions.done(0, writer, kBegin));
  REQUIRE(sessions.done(0, writer, "SELECT v FROM t WHERE id = 0"));
  REQUIRE(sessions.done(0, reader, kBegin));
  REQUIRE(sessions.done(0, reader, look));
  REQUIRE(sessions.done(0, writer, change));
  const Status first = sessions.run(0, writer, "COMMIT");
  INFO(first.to_string());
  const Status second = sessions.run(0, reader, "COMMIT");
  INFO(second.to_string());
  // A conflict either way, and never both.
  CHECK(first.ok() != second.ok());
  CHECK(is_conflict(first.ok() ? second : first));
}

}  // namespace timestamps_test
}  // namespace namdb::sim
