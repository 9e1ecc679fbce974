// SELECT ... FOR UPDATE under every protocol: a block that has locked a row commits only if no other one that
// commits has changed or locked it meanwhile. All of nam-computed but the wire; two compute servers.
#include <catch2/catch.hpp>

#include "common/protocols/protocol.h"
#include "tools/namsim/testing/sessions.h"

namespace namdb::sim {
namespace row_locks_test {

std::vector<std::string> all_protocols() {
  std::vector<std::string> names;
  for (const protocol::ProtocolTraits& traits : protocol::protocol_traits()) names.emplace_back(traits.name);
  return names;
}

// Where locks are waited for, the wait may have been too long.
bool is_conflict(const Status& status) {
  return status.code() == ErrorCode::serialization_failure || status.code() == ErrorCode::lock_not_available;
}

// A block of one session, which does nothing more after an error.
class Block {
 public:
  Block(Sessions& sessions, std::size_t compute)
      : sessions_(sessions), compute_(compute), client_(sessions.open(compute)) {
    REQUIRE(sessions_.done(compute_, client_, "BEGIN"));
  }
  void run(const std::string& text) {
    if (!ended_.ok()) return;
    ended_ = sessions_.run(compute_, client_, text);
    if (ended_.ok()) return;
    INFO(ended_.to_string());
    CHECK(is_conflict(ended_));
    REQUIRE(sessions_.done(compute_, client_, "ROLLBACK"));
  }
  bool commit() {
    if (!ended_.ok()) return false;
    const Status status = sessions_.run(compute_, client_, "COMMIT");
    INFO(status.to_string());
    CHECK((status.ok() || status.code() == ErrorCode::serialization_failure));
    return status.ok();
  }

 private:
  Sessions& sessions_;
  std::size_t compute_;
  SqlClient& client_;
  Status ended_;
};

// Rows 1 and 5 are among those of each way to find rows.
const std::vector<std::string> kLooks{
    "SELECT v FROM t WHERE id IN (1, 5)",
    "SELECT v FROM t WHERE g = 1",
    "SELECT v FROM t WHERE v = 0 AND id < 8",
    "SELECT t.v FROM t JOIN t AS o ON o.id = t.id WHERE o.g = 1",
};

TEST_CASE("of two blocks that lock the same rows and change different ones, one commits", "[protocols]") {
  const std::string protocol = GENERATE(from_range(all_protocols()));
  const std::string look = GENERATE(from_range(kLooks));
  const std::string clause = GENERATE("UPDATE", "SHARE");
  CAPTURE(protocol, look, clause);
  Sessions sessions(protocol, "one-sided");
  Block one(sessions, 0);
  Block two(sessions, 1);
  one.run(look + " FOR " + clause);
  two.run(look + " FOR " + clause);
  one.run("UPDATE t SET v = 1 WHERE id = 1");
  two.run("UPDATE t SET v = 1 WHERE id = 5");
  const bool first = one.commit();
  const bool second = two.commit();
  CHECK(first != second);
}

TEST_CASE("without FOR UPDATE snapshot isolation lets both commit", "[protocols]") {
  Sessions sessions("si", "one-sided");
  Block one(sessions, 0);
  Block two(sessions, 1);
  one.run(kLooks[0]);
  two.run(kLooks[0]);
  one.run("UPDATE t SET v = 1 WHERE id = 1");
  two.run("UPDATE t SET v = 1 WHERE id = 5");
  CHECK(one.commit());
  CHECK(two.commit());
}

TEST_CASE("a row that a block has locked is not changed by others before it commits, or it does not commit",
          "[protocols]") {
  const std::string protocol = GENERATE(from_range(all_protocols()));
  const std::string look = GENERATE(from_range(kLooks));
  const std::string change = GENERATE("UPDATE t SET v = v + 1 WHERE id = 5", "DELETE FROM t WHERE id = 5",
                                      "UPDATE t SET v = o.v + 1 FROM t AS o WHERE o.id = t.id AND o.id = 5",
                                      "DELETE FROM t USING t AS o WHERE o.id = t.id AND o.id = 5");
  const bool writes = GENERATE(false, true);
  CAPTURE(protocol, look, change, writes);
  Sessions sessions(protocol, "one-sided");
  Block block(sessions, 0);
  block.run(look + " FOR UPDATE");
  SqlClient& other = sessions.open(1);
  const Status changed = sessions.run(1, other, change);
  INFO(changed.to_string());
  CHECK((changed.ok() || is_conflict(changed)));
  if (writes) block.run("UPDATE t SET v = 7 WHERE id = 9");
  CHECK(block.commit() != changed.ok());
  sessions.run_for(20 * kMillisecond_ns);
  if (!changed.ok()) CHECK(sessions.done(1, other, change));
}

TEST_CASE("a row that was changed after the block's snapshot is not locked by it", "[protocols]") {
  const std::string protocol = GENERATE(from_range(all_protocols()));
  CAPTURE(protocol);
  Sessions sessions(protocol, "one-sided");
  Block block(sessions, 0);
  block.run("SELECT v FROM t WHERE id = 1");
  SqlClient& other = sessions.open(1);
  REQUIRE(sessions.done(1, other, "UPDATE t SET v = v + 1 WHERE id = 1"));
  block.run("SELECT v FROM t WHERE id = 1 FOR UPDATE");
  block.run("UPDATE t SET v = 7 WHERE id = 9");
  CHECK_FALSE(block.commit());
}

TEST_CASE("rows that a block has locked before ROLLBACK TO are free under snapshot isolation",
          "[protocols]") {
  Sessions sessions("si", "one-sided");
  Block block(sessions, 0);
  block.run("SAVEPOINT s");
  block.run(kLooks[0] + " FOR UPDATE");
  block.run("ROLLBACK TO s");
  SqlClient& other = sessions.open(1);
  REQUIRE(sessions.done(1, other, "UPDATE t SET v = v + 1 WHERE id = 5"));
  block.run("UPDATE t SET v = 7 WHERE id = 9");
  CHECK(block.commit());
}

// The other protocols need locks by name for that, which clients here do not have.
TEST_CASE("a row that another block has locked is passed over, and the block commits all the same",
          "[protocols]") {
  const std::string protocol = GENERATE("nowait", "waitdie", "drtm");
  const std::string look = GENERATE("id IN (1, 5)", "g = 1", "h = 1", "v = 0 AND id < 8 AND g = 1");
  const bool has_read = GENERATE(false, true);
  const bool has_written = GENERATE(false, true);
  CAPTURE(protocol, look, has_read, has_written);
  Sessions sessions(protocol, "one-sided");
  Block one(sessions, 0);
  one.run("UPDATE t SET v = 0 WHERE id = 1");
  SqlClient& two = sessions.open(1);
  const std::string query = "SELECT id FROM t WHERE " + look + " ORDER BY id LIMIT 1 FOR UPDATE ";
  CHECK(sessions.run(1, two, query + "NOWAIT").code() == ErrorCode::lock_not_available);
  REQUIRE(sessions.done(1, two, "BEGIN"));
  if (has_read) REQUIRE(sessions.done(1, two, "SELECT v FROM t WHERE id = 9"));
  if (has_written) REQUIRE(sessions.done(1, two, "UPDATE t SET v = 1 WHERE id = 10"));
  const SqlAnswer taken = sessions.ask(1, two, query + "SKIP LOCKED");
  INFO(taken.status.to_string());
  REQUIRE(taken.rows.size() == 1);
  CHECK(taken.integer(0, 0) == 5);
  REQUIRE(sessions.done(1, two, "UPDATE t SET v = 1 WHERE id = 5"));
  CHECK(sessions.done(1, two, "COMMIT"));
  CHECK(one.commit());
  CHECK(sessions.ask(1, two, query + "SKIP LOCKED").integer(0, 0) == 1);
}

}  // namespace row_locks_test
}  // namespace namdb::sim
