// Single transactions under a protocol on each other's rows, step by step.
#include <catch2/catch.hpp>
#include <memory>

#include "compute/api/transaction_facts.h"
#include "tools/namsim/testing/small_table.h"

namespace namdb::sim {
namespace {

// A client that waits for ten milliseconds.
class Impatient final : public txn::Interrupt {
 public:
  explicit Impatient(const Clock& clock) : clock_(clock) {}
  Status check() const override { return {}; }
  Status check_wait(layout::GlobalAddress /*held*/, std::uint64_t since_ns) const override {
    if (clock_.now_ns() - since_ns < 10 * kMillisecond_ns) return {};
    return Status(ErrorCode::query_canceled, "waited for too long");
  }

 private:
  const Clock& clock_;
};

bool ended_in(const Status& status, ErrorCode code) {
  return !status.ok() && status.code() == code;
}

}  // namespace

TEST_CASE("an idle transaction holds its locks no longer than E", "[protocols]") {
  const std::string protocol = GENERATE("nowait", "waitdie");
  CAPTURE(protocol);
  SmallTable rows(protocol, 2 * kSecond_ns);
  const auto idle = rows.begin_in_new_session();
  rows.read(*idle, 0);
  {
    const auto early = rows.begin();
    CHECK(ended_in(rows.try_read(*early, 0), ErrorCode::serialization_failure));
  }
  rows.run_for(3 * kSecond_ns);
  const auto late = rows.begin();
  CHECK(rows.try_read(*late, 0).ok());
  CHECK(rows.commit(*late).ok());
  CHECK(ended_in(rows.commit(*idle), ErrorCode::transaction_timeout));
}

TEST_CASE("an idle transaction keeps old versions no longer than E, and is told so", "[protocols]") {
  const std::string protocol = GENERATE("si", "occ", "mvcc", "sundial");
  CAPTURE(protocol);
  SmallTable rows(protocol, 2 * kSecond_ns);
  const auto reader = rows.begin_in_new_session();
  rows.look(*reader, 0);
  const auto writer = rows.begin_in_new_session();
  rows.write(*writer, 1, 7);
  for (std::int64_t value = 1; value <= 20; ++value) rows.change(2, value);
  rows.run_for(kSecond_ns);
  CHECK(rows.collected() == 0);
  CHECK(rows.try_look(*reader, 3).ok());
  rows.run_for(5 * kSecond_ns);
  if (protocol == "si") CHECK(rows.collected() > 0);
  const txn::TransactionFacts* facts = txn::transaction_facts(reader.get());
  REQUIRE(facts != nullptr);
  CHECK(ended_in(facts->expired(), ErrorCode::transaction_timeout));
  CHECK(ended_in(rows.try_look(*reader, 3), ErrorCode::transaction_timeout));
  CHECK(ended_in(rows.try_count(*reader, rows.table()), ErrorCode::transaction_timeout));
  CHECK(ended_in(rows.commit(*reader), ErrorCode::transaction_timeout));
  CHECK(ended_in(rows.commit(*writer), ErrorCode::transaction_timeout));
}

TEST_CASE("under NOWAIT and WAITDIE readers keep nobody out, and commit only what was true at once",
          "[protocols]") {
  SmallTable rows(GENERATE("nowait", "waitdie"));
  const auto idle = rows.begin_in_new_session();
  CHECK(rows.look(*idle, 0) == 0);
  CHECK(rows.look(*idle, 1) == 0);
  const auto overtaken = rows.begin_in_new_session();
  CHECK(rows.look(*overtaken, 0) == 0);
  CHECK(rows.look(*overtaken, 1) == 0);
  const auto reader = rows.begin_in_new_session();
  CHECK(rows.look(*reader, 0) == 0);
  CHECK(rows.read(*reader, 1) == 0);
  CHECK(rows.commit(*reader).ok());
  CHECK(rows.commit(*idle).ok());
  rows.run_for(kMillisecond_ns);
  rows.change(1, 5);
  CHECK(ended_in(rows.commit(*overtaken), ErrorCode::serialization_failure));
}

TEST_CASE("under NOWAIT and WAITDIE a row that was read is written from the version that was shown",
          "[protocols]") {
  SmallTable rows(GENERATE("nowait", "waitdie"));
  const auto first = rows.begin_in_new_session();
  const auto second = rows.begin_in_new_session();
  CHECK(rows.look(*first, 0) == 0);
  CHECK(rows.look(*second, 0) == 0);
  rows.write(*first, 0, 1);
  // It is locked from then on, not from the commit on.
  const auto third = rows.begin_in_new_session();
  CHECK(ended_in(rows.try_read(*third, 0), ErrorCode::serialization_failure));
  CHECK(rows.commit(*first).ok());
  CHECK(ended_in(rows.try_read(*second, 0), ErrorCode::serialization_failure));
}

TEST_CASE("nobody waits for a lock longer than its client does", "[protocols]") {
  SmallTable rows("waitdie");
  const auto holder = rows.begin_in_new_session();
  rows.write(*holder, 1, 5);
  const Impatient impatient(rows.clock());
  const auto by_key = rows.begin_in_new_session();
  by_key->set_interrupt(&impatient);
  CHECK(ended_in(rows.try_look(*by_key, 1), ErrorCode::query_canceled));
  const auto by_scan = rows.begin_in_new_session();
  by_scan->set_interrupt(&impatient);
  CHECK(ended_in(rows.try_count(*by_scan, rows.table()), ErrorCode::query_canceled));
  CHECK(rows.commit(*holder).ok());
}

// The older one looks for the lock now and then, and not between these two.
TEST_CASE("under WAITDIE nobody younger takes a lock that somebody waits for", "[protocols]") {
  SmallTable rows("waitdie");
  const auto oldest = rows.begin_in_new_session();
  rows.read(*oldest, 0);
  const auto holder = rows.begin_in_new_session();
  rows.write(*holder, 1, 5);
  std::optional<Status> waited;
  rows.start_to_read(*oldest, 1, &waited);
  rows.run_for(50 * kMillisecond_ns);
  REQUIRE_FALSE(waited.has_value());
  const auto young = rows.begin_in_new_session();
  REQUIRE(rows.commit(*holder).ok());
  CHECK(ended_in(rows.try_read(*young, 1), ErrorCode::serialization_failure));
  young->abort();
  rows.run_for(50 * kMillisecond_ns);
  REQUIRE(waited.has_value());
  CHECK(waited->ok());
  CHECK(rows.read(*oldest, 1) == 5);
  CHECK(rows.commit(*oldest).ok());
  // No transaction waits any more.
  rows.run_for(kMillisecond_ns);
  rows.change(1, 6);
}

TEST_CASE("under WAITDIE a transaction that waits and dies keeps nobody out", "[protocols]") {
  SmallTable rows("waitdie");
  rows.add_compute();
  auto oldest = rows.begin();
  rows.read(*oldest, 0);
  rows.run_for(2 * kSecond_ns);  // the clocks of two compute servers differ by less
  rows.use_compute(0);
  const auto holder = rows.begin();
  rows.write(*holder, 1, 5);
  rows.use_compute(1);
  std::optional<Status> waited;
  rows.start_to_read(*oldest, 1, &waited);
  rows.run_for(50 * kMillisecond_ns);
  CAPTURE(waited ? waited->to_string() : "");
  REQUIRE_FALSE(waited.has_value());
  rows.kill_compute(std::move(oldest));
  rows.use_compute(0);
  rows.run_for(kSecond_ns);
  REQUIRE(rows.commit(*holder).ok());
  rows.change(1, 6);
}

// The waiting list of the memory server: one call for each moment that it waits, not one for each look.
TEST_CASE("under WAITDIE a transaction that waits by call is answered once it has the lock", "[protocols]") {
  SmallTable rows("waitdie", 10 * kSecond_ns, GENERATE("lock", "two-sided"));
  const auto oldest = rows.begin_in_new_session();
  rows.read(*oldest, 0);
  const auto holder = rows.begin_in_new_session();
  rows.write(*holder, 1, 5);
  std::optional<Status> waited;
  rows.start_to_read(*oldest, 1, &waited);
  rows.run_for(50 * kMillisecond_ns);
  REQUIRE_FALSE(waited.has_value());
  const std::uint64_t looks = oldest->counters().rereads;
  CHECK(looks <= 55);  // a millisecond each
  CHECK(oldest->counters().calls >= looks);
  REQUIRE(rows.commit(*holder).ok());
  rows.run_for(kMillisecond_ns);
  REQUIRE(waited.has_value());
  CHECK(waited->ok());
  CHECK(rows.read(*oldest, 1) == 5);
  CHECK(rows.commit(*oldest).ok());
}

TEST_CASE("under MVCC a reader sees rows as of its beginning while others overwrite them, and commits",
          "[protocols]") {
  SmallTable rows("mvcc");
  const auto reader = rows.begin();
  CHECK(rows.read(*reader, 0) == 0);
  rows.change(0, 7);
  rows.change(1, 8);
  rows.change(1, 9);
  CHECK(rows.read(*reader, 1) == 0);
  CHECK(rows.commit(*reader).ok());
  const auto late = rows.begin();
  CHECK(rows.read(*late, 0) == 7);
  CHECK(rows.read(*late, 1) == 9);
  CHECK(rows.commit(*late).ok());
}

TEST_CASE("under MVCC a reader that needs an overwritten version is told to try again", "[protocols]") {
  SmallTable rows("mvcc");
  const auto reader = rows.begin();
  CHECK(rows.read(*reader, 0) == 0);
  for (std::int64_t value = 1; value <= 20; ++value) rows.change(1, value);
  CHECK(ended_in(rows.try_read(*reader, 1), ErrorCode::serialization_failure));
}

TEST_CASE("under SUNDIAL a row that was overwritten since it was read is no conflict while its lease lasts",
          "[protocols]") {
  const std::string protocol = GENERATE("sundial", "occ");
  SmallTable rows(protocol);
  rows.change(1, 3);  // newer than the lease of row 0, which this reader raises
  const auto first = rows.begin();
  rows.read(*first, 0);
  rows.read(*first, 1);
  REQUIRE(rows.commit(*first).ok());
  const auto reader = rows.begin();
  CHECK(rows.read(*reader, 0) == 0);
  CHECK(rows.read(*reader, 1) == 3);
  rows.change(0, 5);
  CHECK(rows.commit(*reader).ok() == (protocol == "sundial"));
}

// The index stays for a while for transactions that began before it was dropped. Later ones add no entries.
TEST_CASE("no transaction that commits has missed rows by an index that was dropped meanwhile",
          "[protocols]") {
  const std::string protocol = GENERATE("occ", "nowait", "waitdie", "mvcc", "sundial", "drtm", "calvin");
  CAPTURE(protocol);
  SmallTable rows(protocol);
  rows.create_index(GENERATE(false, true));
  rows.add_compute();
  {
    const auto warms = rows.begin();
    CHECK(rows.count(*warms, rows.table(), true) == SmallTable::kRows);
    REQUIRE(rows.commit(*warms).ok());
  }
  const storage::TableRef table = rows.table();
  const auto reader = rows.begin();
  rows.read(*reader, 0);
  rows.use_compute(0);
  rows.drop_index();
  {
    const auto writer = rows.begin();
    rows.insert(*writer, SmallTable::kRows);
    REQUIRE(rows.commit(*writer).ok());
  }
  rows.use_compute(1);
  const std::size_t by_table = rows.count(*reader, table, false);
  const std::size_t by_index = rows.count(*reader, table, true);
  CAPTURE(by_table, by_index);
  CHECK((!rows.commit(*reader).ok() || by_table == by_index));
}

// Its locks, and the READs that are sent with them, have no answer then.
TEST_CASE("a commit that loses a memory server while it locks changes no other memory server",
          "[protocols]") {
  const std::string protocol = GENERATE("sundial", "mvcc", "occ");
  CAPTURE(protocol);
  SmallTable rows(protocol, 10 * kSecond_ns, "one-sided", 2);
  std::optional<std::int64_t> here;
  std::optional<std::int64_t> there;
  for (std::int64_t id = 0; id < SmallTable::kRows; ++id) {
    for (std::int64_t value = 1; value < 8; ++value) rows.change(id, value);
    (rows.server_of(id) == 0 ? here : there) = id;
  }
  REQUIRE((here && there));
  const auto transaction = rows.begin_in_new_session();
  rows.read(*transaction, *here);
  rows.write(*transaction, *there, 9);
  const std::vector<std::uint64_t> before = rows.region(0);
  rows.restart_memory(1);
  CHECK(ended_in(rows.commit(*transaction), ErrorCode::connection_failure));
  const bool unchanged = rows.region(0) == before;
  CHECK(unchanged);
}

// The answered commit is in the journal, and its install may never have left the compute server.
TEST_CASE("a commit that was answered outlives its compute server, whatever of its install has landed",
          "[protocols]") {
  const std::string protocol = GENERATE("occ", "nowait", "waitdie", "mvcc", "sundial", "drtm", "calvin");
  CAPTURE(protocol);
  SmallTable rows(protocol);
  rows.add_compute();
  {
    const auto transaction = rows.begin();
    rows.write(*transaction, 2, 11);
    rows.write(*transaction, 3, 12);
    REQUIRE(rows.commit(*transaction).ok());
  }
  rows.kill_compute(nullptr);
  rows.run_for(10 * kMillisecond_ns);
  rows.add_compute();
  const auto reader = rows.begin();
  CHECK(rows.read(*reader, 2) == 11);
  CHECK(rows.read(*reader, 3) == 12);
  CHECK(rows.commit(*reader).ok());
}

}  // namespace namdb::sim
