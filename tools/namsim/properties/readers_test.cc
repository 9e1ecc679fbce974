// SQL sessions that read beside open blocks of others, under protocols that lock rows before the commit and
// under those that do not: readers never conflict, and no session waits for ever. All of nam-computed but the
// wire; two compute servers.
#include <algorithm>
#include <catch2/catch.hpp>

#include "common/protocols/protocol.h"
#include "tools/namsim/testing/sessions.h"

namespace namdb::sim {
namespace readers_test {

constexpr std::size_t kComputes = Sessions::kComputes;
// Of a statement that is tried again as often as it may be.
constexpr std::uint64_t kAllPauses_ns = txn::RetryOptions().max_attempts * txn::RetryOptions().max_backoff_ns;
constexpr const char* kBeginSerializable = "BEGIN ISOLATION LEVEL SERIALIZABLE";
// Each way to find rows, and keys that are not there.
const std::vector<std::string> kLooks{
    "SELECT v FROM t WHERE id = 3",   "SELECT v FROM t WHERE id IN (1, 2, 3, 900)",
    "SELECT v FROM t WHERE id = 900", "SELECT count(*), sum(v) FROM t",
    "SELECT v FROM t WHERE g = 1",    "SELECT v FROM t WHERE g = 77",
    "SELECT v FROM t WHERE h = 1",
};

std::vector<std::string> serializable_protocols() {
  std::vector<std::string> names;
  for (const protocol::ProtocolTraits& traits : protocol::protocol_traits()) {
    if (traits.serializable) names.emplace_back(traits.name);
  }
  return names;
}

// The idle blocks never go on while the others read: waiting for them would never end.
TEST_CASE("readers do not meet: neither a statement nor a block fails or waits for blocks that only read",
          "[protocols]") {
  const std::string protocol = GENERATE(from_range(serializable_protocols()));
  const std::string stages = GENERATE("one-sided", "two-sided");
  CAPTURE(protocol, stages);
  Sessions sessions(protocol, stages);
  std::vector<SqlClient*> idle;
  for (std::size_t compute = 0; compute < kComputes; ++compute) {
    idle.push_back(&sessions.open(compute));
    REQUIRE(sessions.done(compute, *idle.back(), kBeginSerializable));
    for (const std::string& look : kLooks) CHECK(sessions.done(compute, *idle.back(), look));
  }
  for (std::size_t compute = 0; compute < kComputes; ++compute) {
    SqlClient& other = sessions.open(compute);
    for (const std::string& look : kLooks) CHECK(sessions.done(compute, other, look));
    REQUIRE(sessions.done(compute, other, kBeginSerializable));
    for (const std::string& look : kLooks) CHECK(sessions.done(compute, other, look));
    CHECK(sessions.done(compute, other, "COMMIT"));
  }
  for (std::size_t compute = 0; compute < kComputes; ++compute)
    CHECK(sessions.done(compute, *idle[compute], "COMMIT"));
}

// More of them than a record has reader words: the last ones are validated.
TEST_CASE("readers that share locks do not meet, however many there are", "[protocols]") {
  const std::string protocol = GENERATE("nowait", "waitdie");
  const std::string stages = GENERATE("one-sided", "two-sided", "find", "lock", "read");
  CAPTURE(protocol, stages);
  Sessions sessions(protocol, stages, txn::ReadLocks::shared);
  std::vector<std::pair<std::size_t, SqlClient*>> idle;
  for (std::size_t i = 0; i < layout::kReaderWords + 2; ++i) {
    const std::size_t compute = i % kComputes;
    SqlClient& client = sessions.open(compute);
    idle.emplace_back(compute, &client);
    CAPTURE(i);
    REQUIRE(sessions.done(compute, client, kBeginSerializable));
    for (const std::string& look : kLooks) CHECK(sessions.done(compute, client, look));
  }
  for (const auto& [compute, client] : idle) {
    for (const std::string& look : kLooks) CHECK(sessions.done(compute, *client, look));
    CHECK(sessions.done(compute, *client, "COMMIT"));
  }
}

TEST_CASE("a row that a block shares is not written by others before the block ends", "[protocols]") {
  const std::string protocol = GENERATE("nowait", "waitdie");
  const std::string stages = GENERATE("one-sided", "two-sided", "find", "lock", "read");
  const std::string end = GENERATE("COMMIT", "ROLLBACK");
  CAPTURE(protocol, stages, end);
  Sessions sessions(protocol, stages, txn::ReadLocks::shared);
  for (const std::string text : {"UPDATE t SET v = v + 1 WHERE id = 3", "UPDATE t SET v = v + 1 WHERE g = 3",
                                 "DELETE FROM t WHERE id = 3"}) {
    for (std::size_t compute = 0; compute < kComputes; ++compute) {
      CAPTURE(text, compute);
      SqlClient& reader = sessions.open(0);
      SqlClient& writer = sessions.open(compute);
      REQUIRE(sessions.done(0, reader, kBeginSerializable));
      REQUIRE(sessions.done(0, reader, "SELECT v FROM t WHERE id = 3"));
      sessions.run_for(2 * kSecond_ns);
      const Status kept_out = sessions.run(compute, writer, text);
      INFO(kept_out.to_string());
      CHECK((!kept_out.ok() && kept_out.code() == ErrorCode::serialization_failure));
      CHECK(sessions.done(compute, writer, "UPDATE t SET v = 5 WHERE id = 6"));
      sessions.run_for(20 * kMillisecond_ns);
      CHECK(sessions.done(0, reader, "SELECT v FROM t WHERE id = 3"));
      CHECK(sessions.done(0, reader, end));
      sessions.run_for(20 * kMillisecond_ns);
      CHECK(sessions.done(compute, writer, text));
      if (text.starts_with("DELETE"))
        CHECK(sessions.done(compute, writer, "INSERT INTO t VALUES (3, 3, 3, 0)"));
      sessions.run_for(20 * kMillisecond_ns);
    }
  }
}

TEST_CASE("a row that is not there is not shared, deleted or never inserted: it is validated",
          "[protocols]") {
  const std::string protocol = GENERATE("nowait", "waitdie");
  CAPTURE(protocol);
  Sessions sessions(protocol, "one-sided", txn::ReadLocks::shared);
  for (const std::string id : {"3", "900"}) {
    CAPTURE(id);
    SqlClient& reader = sessions.open(0);
    SqlClient& writer = sessions.open(1);
    REQUIRE(sessions.done(1, writer, "DELETE FROM t WHERE id = " + id));
    sessions.run_for(20 * kMillisecond_ns);
    for (const bool inserted : {false, true}) {
      REQUIRE(sessions.done(0, reader, kBeginSerializable));
      REQUIRE(sessions.done(0, reader, "SELECT v FROM t WHERE id IN (5, " + id + ")"));
      if (inserted) CHECK(sessions.done(1, writer, "INSERT INTO t VALUES (" + id + ", 1, 1, 1)"));
      const Status end = sessions.run(0, reader, "COMMIT");
      INFO(end.to_string());
      CHECK((inserted ? end.code() == ErrorCode::serialization_failure : end.ok()));
    }
  }
}

TEST_CASE("an insert does not meet the readers of a row: it is a duplicate, or revives a tombstone",
          "[protocols]") {
  const std::string protocol = GENERATE("nowait", "waitdie");
  CAPTURE(protocol);
  Sessions sessions(protocol, "one-sided", txn::ReadLocks::shared);
  for (std::size_t compute = 0; compute < kComputes; ++compute) {
    CAPTURE(compute);
    SqlClient& reader = sessions.open(0);
    SqlClient& writer = sessions.open(compute);
    REQUIRE(sessions.done(0, reader, kBeginSerializable));
    REQUIRE(sessions.done(0, reader, "SELECT v FROM t WHERE id = 3"));
    const Status status = sessions.run(compute, writer, "INSERT INTO t VALUES (3, 1, 1, 1)");
    INFO(status.to_string());
    CHECK(status.code() == ErrorCode::duplicate_key);
    CHECK(sessions.done(0, reader, "COMMIT"));
    // The reader's worker deletes the row itself, and so knows the tombstone's header word.
    REQUIRE(sessions.done(0, reader, "DELETE FROM t WHERE id = 3"));
    REQUIRE(sessions.done(0, reader, kBeginSerializable));
    REQUIRE(sessions.done(0, reader, "SELECT v FROM t WHERE id = 3"));
    CHECK(sessions.done(compute, writer, "INSERT INTO t VALUES (3, 3, 3, 3)"));
    CHECK(sessions.took_ns() < kSecond_ns);
    CHECK(sessions.run(0, reader, "COMMIT").code() == ErrorCode::serialization_failure);
    sessions.run_for(20 * kMillisecond_ns);
  }
}

TEST_CASE("a writer of rows that a block shares waits no longer than lock_timeout and statement_timeout say",
          "[protocols]") {
  const std::string stages = GENERATE("one-sided", "two-sided");
  CAPTURE(stages);
  Sessions sessions("waitdie", stages, txn::ReadLocks::shared);
  struct Limit {
    const char* setting;
    std::uint64_t longest_ns;
    ErrorCode error;
  };
  const Limit limit =
      GENERATE(Limit{"RESET lock_timeout", 10 * kSecond_ns, ErrorCode::lock_not_available},
               Limit{"SET lock_timeout = '50ms'", 50 * kMillisecond_ns, ErrorCode::lock_not_available},
               Limit{"SET statement_timeout = '50ms'", 50 * kMillisecond_ns, ErrorCode::query_canceled});
  CAPTURE(limit.setting);
  for (std::size_t compute = 0; compute < kComputes; ++compute) {
    CAPTURE(compute);
    SqlClient& older = sessions.open(compute);
    SqlClient& reader = sessions.open(0);
    REQUIRE(sessions.done(compute, older, limit.setting));
    REQUIRE(sessions.done(compute, older, "BEGIN"));
    REQUIRE(sessions.done(compute, older, "UPDATE t SET v = 1 WHERE id = 0"));
    sessions.run_for(2 * kSecond_ns);
    REQUIRE(sessions.done(0, reader, kBeginSerializable));
    REQUIRE(sessions.done(0, reader, "SELECT v FROM t WHERE id = 3"));
    const Status status = sessions.run(compute, older, "UPDATE t SET v = v + 1 WHERE id = 3");
    INFO(status.to_string());
    CHECK(status.code() == limit.error);
    CHECK(sessions.took_ns() >= limit.longest_ns);
    CHECK(sessions.took_ns() <= limit.longest_ns + 100 * kMillisecond_ns);
    CHECK(sessions.done(compute, older, "ROLLBACK"));
    sessions.run_for(20 * kMillisecond_ns);
    CHECK(sessions.done(0, reader, "COMMIT"));
    sessions.run_for(20 * kMillisecond_ns);
  }
}

TEST_CASE("a block that alone shares a row goes on to write it", "[protocols]") {
  const std::string protocol = GENERATE("nowait", "waitdie");
  const std::string stages = GENERATE("one-sided", "two-sided");
  CAPTURE(protocol, stages);
  Sessions sessions(protocol, stages, txn::ReadLocks::shared);
  constexpr const char* kLook = "SELECT v FROM t WHERE id = 3";
  constexpr const char* kWrite = "UPDATE t SET v = v + 1 WHERE id = 3";
  SqlClient& first = sessions.open(0);
  SqlClient& second = sessions.open(1);
  REQUIRE(sessions.done(0, first, kBeginSerializable));
  REQUIRE(sessions.done(0, first, kLook));
  CHECK(sessions.done(0, first, kWrite));
  CHECK(sessions.done(0, first, "COMMIT"));
  sessions.run_for(2 * kSecond_ns);
  REQUIRE(sessions.done(0, first, kBeginSerializable));
  REQUIRE(sessions.done(0, first, kLook));
  sessions.run_for(2 * kSecond_ns);
  REQUIRE(sessions.done(1, second, kBeginSerializable));
  REQUIRE(sessions.done(1, second, kLook));
  // The younger one gives way under both.
  CHECK(sessions.run(1, second, kWrite).code() == ErrorCode::serialization_failure);
  CHECK(sessions.done(1, second, "ROLLBACK"));
  sessions.run_for(20 * kMillisecond_ns);
  CHECK(sessions.done(0, first, kWrite));
  CHECK(sessions.done(0, first, "COMMIT"));
  CHECK(sessions.done(1, second, kWrite));
}

TEST_CASE("where records have reader words, a reader without one is validated, and so keeps no writer out",
          "[protocols]") {
  const std::string protocol = GENERATE("nowait", "waitdie");
  CAPTURE(protocol);
  Sessions sessions(protocol, "one-sided", txn::ReadLocks::none, true);
  SqlClient& reader = sessions.open(0);
  SqlClient& writer = sessions.open(1);
  REQUIRE(sessions.done(0, reader, kBeginSerializable));
  REQUIRE(sessions.done(0, reader, "SELECT v FROM t WHERE id IN (3, 5)"));
  CHECK(sessions.done(1, writer, "UPDATE t SET v = 1 WHERE id = 3"));
  const Status end = sessions.run(0, reader, "COMMIT");
  CHECK((!end.ok() && end.code() == ErrorCode::serialization_failure));
}

TEST_CASE("readers that are dead keep nobody out for long", "[protocols]") {
  const std::string protocol = GENERATE("nowait", "waitdie");
  const std::string stages = GENERATE("one-sided", "two-sided");
  CAPTURE(protocol, stages);
  Sessions sessions(protocol, stages, txn::ReadLocks::shared);
  for (std::size_t i = 0; i < layout::kReaderWords; ++i) {
    SqlClient& reader = sessions.open(0);
    REQUIRE(sessions.done(0, reader, kBeginSerializable));
    REQUIRE(sessions.done(0, reader, "SELECT v FROM t WHERE id IN (1, 2, 3)"));
  }
  sessions.run_for(20 * kMillisecond_ns);
  sessions.kill(0);
  SqlClient& writer = sessions.open(1);
  Status status;
  for (int attempt = 0; attempt < 10; ++attempt) {
    status = sessions.run(1, writer, "UPDATE t SET v = 1 WHERE id IN (1, 2, 3)");
    if (status.ok()) break;
    sessions.run_for(kSecond_ns);
  }
  INFO(status.to_string());
  CHECK(status.ok());
}

TEST_CASE("where readers lock as well, the second one meets the first until that has ended", "[protocols]") {
  const std::string protocol = GENERATE("nowait", "waitdie");
  const std::string stages = GENERATE("one-sided", "two-sided");
  CAPTURE(protocol, stages);
  Sessions sessions(protocol, stages, txn::ReadLocks::exclusive);
  for (std::size_t compute = 0; compute < kComputes; ++compute) {
    CAPTURE(compute);
    SqlClient& first = sessions.open(0);
    SqlClient& second = sessions.open(compute);
    REQUIRE(sessions.done(0, first, kBeginSerializable));
    for (const std::string& look : kLooks) CHECK(sessions.done(0, first, look));
    sessions.run_for(2 * kSecond_ns);
    const Status by_key = sessions.run(compute, second, "SELECT v FROM t WHERE id = 3");
    INFO(by_key.to_string());
    CHECK(by_key.code() == ErrorCode::serialization_failure);
    const Status all = sessions.run(compute, second, "SELECT sum(v) FROM t");
    INFO(all.to_string());
    CHECK(all.code() ==
          (protocol == "waitdie" ? ErrorCode::lock_not_available : ErrorCode::serialization_failure));
    // Of keys that are not there, and rows that were not found by key: they were validated only.
    CHECK(sessions.done(compute, second, "SELECT v FROM t WHERE id = 900"));
    CHECK(sessions.done(compute, second, "SELECT v FROM t WHERE id = 5"));
    sessions.run_for(20 * kMillisecond_ns);  // its lock is released in the background
    CHECK(sessions.done(0, first, "COMMIT"));
    sessions.run_for(20 * kMillisecond_ns);
    for (const std::string& look : kLooks) CHECK(sessions.done(compute, second, look));
    sessions.run_for(20 * kMillisecond_ns);
  }
}

TEST_CASE(
    "a statement that meets the lock of a block waits no longer than lock_timeout and statement_timeout say",
    "[protocols]") {
  const std::string protocol = GENERATE("nowait", "waitdie");
  const std::string stages = GENERATE("one-sided", "two-sided");
  CAPTURE(protocol, stages);
  const bool waits = protocol == "waitdie";
  Sessions sessions(protocol, stages);
  struct Limit {
    const char* setting;
    std::uint64_t longest_ns;
    ErrorCode error;
  };
  const Limit limit =
      GENERATE(Limit{"RESET lock_timeout", 10 * kSecond_ns, ErrorCode::lock_not_available},
               Limit{"SET lock_timeout = '50ms'", 50 * kMillisecond_ns, ErrorCode::lock_not_available},
               Limit{"SET statement_timeout = '50ms'", 50 * kMillisecond_ns, ErrorCode::query_canceled});
  CAPTURE(limit.setting);
  // Under WAITDIE the older block waits for the younger, and so does a statement that holds nothing.
  SqlClient& holder = sessions.open(0);
  for (const std::string text :
       {"SELECT v FROM t WHERE id = 3", "SELECT sum(v) FROM t", "SELECT v FROM t WHERE g = 3",
        "SELECT v FROM t WHERE h = 3", "UPDATE t SET v = 7 WHERE id = 3", "DELETE FROM t WHERE g = 3"}) {
    for (std::size_t compute = 0; compute < kComputes; ++compute) {
      CAPTURE(text, compute);
      SqlClient& other = sessions.open(compute);
      REQUIRE(sessions.done(compute, other, limit.setting));
      REQUIRE(sessions.done(compute, other, "BEGIN"));
      REQUIRE(sessions.done(compute, other, "UPDATE t SET v = 1 WHERE id = 0"));
      sessions.run_for(2 * kSecond_ns);
      REQUIRE(sessions.done(0, holder, "BEGIN"));
      REQUIRE(sessions.done(0, holder, "UPDATE t SET v = v + 1 WHERE id = 3"));
      const Status status = sessions.run(compute, other, text);
      INFO(status.to_string());
      CHECK(status.code() == (waits ? limit.error : ErrorCode::serialization_failure));
      CHECK(sessions.took_ns() <= limit.longest_ns + 100 * kMillisecond_ns);
      if (waits) CHECK(sessions.took_ns() >= limit.longest_ns);
      CHECK(sessions.done(compute, other, "ROLLBACK"));
      sessions.run_for(20 * kMillisecond_ns);
      // On its own it is tried again while it meets conflicts: lock_timeout is about all attempts together.
      const Status alone = sessions.run(compute, other, text);
      INFO(alone.to_string());
      CHECK((alone.code() == limit.error || alone.code() == ErrorCode::serialization_failure));
      // Ten seconds are longer than all of its pauses.
      if (limit.longest_ns < kAllPauses_ns) CHECK(alone.code() == limit.error);
      CHECK(sessions.took_ns() <= limit.longest_ns + 2 * txn::RetryOptions().max_backoff_ns);
      // The lock is there until the block ends, and no longer.
      CHECK(sessions.done(0, holder, "COMMIT"));
      sessions.run_for(20 * kMillisecond_ns);
      CHECK(sessions.done(compute, other, text.starts_with("DELETE") ? kLooks.front() : text));
      sessions.run_for(20 * kMillisecond_ns);
    }
  }
}

}  // namespace readers_test
}  // namespace namdb::sim
