// Memory server 1 of a database on two servers' disks is away, and comes back: transactions that do not need
// it are not disturbed, whatever it does, and others know at once.
#include <algorithm>
#include <catch2/catch.hpp>
#include <optional>
#include <string>
#include <vector>

#include "common/protocols/protocol.h"
#include "tools/namsim/testing/small_table.h"

namespace namdb::sim {
namespace away_test {

constexpr std::uint64_t kNotice_ns = 2 * kSecond_ns;    // several heartbeats
constexpr std::uint64_t kReturn_ns = 10 * kSecond_ns;   // several pauses between looks for the server
constexpr std::uint64_t kAtOnce_ns = kMillisecond_ns;   // some round trips
constexpr std::uint64_t kOpening_ns = 60 * kSecond_ns;  // never that long
constexpr std::uint64_t kMaxTransaction_ns = 60 * kSecond_ns;

std::vector<std::string> protocols() {
  std::vector<std::string> names;
  for (const protocol::ProtocolTraits& traits : protocol::protocol_traits()) names.emplace_back(traits.name);
  return names;
}

// Rows of both servers, with value 0.
struct TwoServers {
  explicit TwoServers(std::string_view protocol, std::string_view stages = "one-sided")
      : rows(protocol, kMaxTransaction_ns, stages, 2, true) {
    for (std::int64_t id = SmallTable::kRows; id < kRows; ++id) {
      const auto transaction = rows.begin();
      rows.insert(*transaction, id);
      REQUIRE(rows.commit(*transaction).ok());
    }
    for (std::int64_t id = 0; id < kRows; ++id) (rows.server_of(id) == 0 ? near : far).push_back(id);
    REQUIRE(near.size() >= 4);
    REQUIRE(far.size() >= 2);
  }
  Status read(std::int64_t id) {
    const auto transaction = rows.begin_in_new_session();
    return rows.try_read(*transaction, id);
  }
  // As a procedure: patient with conflicts.
  Status write(std::int64_t id, std::int64_t value) {
    for (int attempt = 0;; ++attempt) {
      Status status = write_once(id, value);
      if (status.ok() || !status.info().retry || attempt == kAttempts) return status;
      rows.run_for(10 * kMillisecond_ns);
    }
  }
  Status write_once(std::int64_t id, std::int64_t value) {
    const auto transaction = rows.begin_in_new_session();
    Status status = rows.try_write(*transaction, id, value);
    return status.ok() ? rows.commit(*transaction) : status;
  }
  bool ready(std::size_t compute) { return rows.cluster().worker(compute).ready(); }
  void kill() {
    rows.cluster().kill_memory(1);
    rows.run_for(kNotice_ns);
  }
  void start() { rows.cluster().begin_restart_memory(1, DiskAfter::killed); }
  // Server 1 opens. Transactions on server 0 commit all the time.
  void open() {
    std::int64_t written = 0;
    for (std::uint64_t waited_ns = 0; !rows.cluster().memory(1).opened; waited_ns += kMillisecond_ns) {
      REQUIRE(waited_ns < kOpening_ns);
      rows.change(near[0], ++written);
      rows.run_for(kMillisecond_ns);
    }
    const Status opened = *rows.cluster().memory(1).opened;
    INFO(opened.to_string());
    REQUIRE(opened.ok());
    CHECK(written > 1);
  }
  std::string at_rest() {
    for (std::size_t compute = 0; compute < rows.cluster().computes(); ++compute) {
      if (rows.cluster().alive(compute) && !rows.cluster().stop_compute(compute, kReturn_ns))
        return "a compute server does not stop";
    }
    return rows.cluster().check_at_rest(kReturn_ns);
  }

  static constexpr std::int64_t kRows = 16;
  static constexpr int kAttempts = 100;
  SmallTable rows;
  std::vector<std::int64_t> near;  // on server 0
  std::vector<std::int64_t> far;
};

bool names_server_1(const Status& status) {
  return status.message().find("memory server 1") != std::string::npos;
}

TEST_CASE("while a memory server is away, and while it opens again, transactions on the others go on",
          "[away]") {
  const std::string protocol = GENERATE(from_range(protocols()));
  const std::string stages = GENERATE("one-sided", "two-sided");
  INFO(protocol << ", " << stages);
  TwoServers test(protocol, stages);
  SmallTable& rows = test.rows;

  auto before = rows.begin_in_new_session();
  rows.write(*before, test.near[1], 1);
  auto long_before = rows.begin_in_new_session();
  rows.write(*long_before, test.near[2], 1);
  auto needs_it = rows.begin_in_new_session();
  rows.read(*needs_it, test.far[0]);
  rows.write(*needs_it, test.near[3], 1);

  rows.cluster().kill_memory(1);
  CHECK(test.write(test.near[0], -1).ok());
  CHECK(rows.commit(*before).ok());
  rows.run_for(kNotice_ns);
  // It began over a connection that is not the worker's any more.
  CHECK(rows.commit(*long_before).ok());
  const Status failed = rows.commit(*needs_it);
  INFO(failed.to_string());
  CHECK((failed.code() == ErrorCode::connection_failure || failed.code() == ErrorCode::cannot_connect_now));
  CHECK(names_server_1(failed));
  // Its lock is free.
  CHECK(test.write(test.near[3], 2).ok());

  const std::uint64_t began_ns = rows.clock().now_ns();
  for (const Status& status : {test.read(test.far[0]), test.write(test.far[1], 1)}) {
    INFO(status.to_string());
    CHECK(status.code() == ErrorCode::cannot_connect_now);
    CHECK(names_server_1(status));
  }
  CHECK(rows.clock().now_ns() - began_ns < kAtOnce_ns);
  CHECK(rows.try_create_index(false).code() == ErrorCode::cannot_connect_now);
  // Routines concern server 0 alone.
  compute::Worker& worker = rows.cluster().worker(0);
  fabric::sim::SimWorld& world = rows.cluster().world();
  CHECK(world.run(rows.cluster().node(0), worker.create_routine({"r", "text", 0})).ok());
  CHECK(worker.cached_routine("r") != nullptr);

  auto all_the_time = rows.begin_in_new_session();
  rows.write(*all_the_time, test.near[1], 2);
  test.start();
  test.open();
  CHECK(rows.commit(*all_the_time).ok());
  rows.run_for(kReturn_ns);
  CHECK(test.ready(0));
  for (const std::int64_t id : test.far) CHECK(test.write(id, 3).ok());
  auto after = rows.begin_in_new_session();
  CHECK(rows.read(*after, test.near[1]) == 2);
  CHECK(rows.read(*after, test.near[2]) == 1);
  CHECK(rows.read(*after, test.near[3]) == 2);
  CHECK(rows.read(*after, test.far[0]) == 3);
  CHECK(rows.commit(*after).ok());
  for (auto* ended : {&before, &long_before, &needs_it, &all_the_time, &after}) ended->reset();
  CHECK(test.at_rest() == "");
}

TEST_CASE("a transaction is open through the loss of a memory server, and another through its return",
          "[away]") {
  const std::string protocol = GENERATE(from_range(protocols()));
  INFO(protocol);
  TwoServers test(protocol);
  SmallTable& rows = test.rows;
  test.kill();
  // Begun without the server, ended by a worker that has it.
  auto without = rows.begin_in_new_session();
  rows.write(*without, test.near[1], 1);
  test.start();
  test.open();
  rows.run_for(kReturn_ns);
  CHECK(test.read(test.far[0]).ok());
  // It began without it, and does not get it.
  CHECK(rows.try_read(*without, test.far[0]).code() == ErrorCode::cannot_connect_now);
  auto on_both = rows.begin_in_new_session();
  rows.write(*on_both, test.near[2], 1);
  rows.write(*on_both, test.far[0], 1);
  CHECK(rows.commit(*on_both).ok());
  without.reset();
  on_both.reset();
  CHECK(test.at_rest() == "");
}

TEST_CASE("the locks of a compute server that dies while a memory server is away are freed without it",
          "[away]") {
  const std::string protocol = GENERATE(from_range(protocols()));
  INFO(protocol);
  TwoServers test(protocol);
  SmallTable& rows = test.rows;
  test.kill();
  auto left = rows.begin();
  rows.write(*left, test.near[1], 1);
  // Under the protocols that lock rows as they are read it holds a lock now.
  rows.kill_compute(std::move(left));
  rows.add_compute();
  rows.run_for(kNotice_ns);
  const Status status = test.write(test.near[1], 2);
  INFO(status.to_string());
  CHECK(status.ok());
  CHECK(test.read(test.far[0]).code() == ErrorCode::cannot_connect_now);
  test.start();
  test.open();
  rows.run_for(kReturn_ns);
  CHECK(test.write(test.far[0], 1).ok());
  CHECK(test.at_rest() == "");
}

TEST_CASE("a memory server that is away at the start of a compute server is found later", "[away]") {
  TwoServers test("si");
  SmallTable& rows = test.rows;
  test.kill();
  rows.add_compute();
  CHECK(test.write(test.near[1], 1).ok());
  CHECK(test.read(test.far[0]).code() == ErrorCode::cannot_connect_now);
  test.start();
  test.open();
  rows.run_for(kReturn_ns);
  CHECK(test.write(test.far[0], 1).ok());
  // It ends a second time, before the consequences of the first end are over.
  rows.cluster().kill_memory(1);
  test.start();
  test.open();
  test.kill();
  CHECK(test.write(test.near[1], 2).ok());
  test.start();
  test.open();
  rows.run_for(kReturn_ns);
  CHECK(test.write(test.far[0], 2).ok());
  CHECK(test.at_rest() == "");
}

TEST_CASE("the parts of an index are made anew beside transactions, from rows that change meanwhile",
          "[away]") {
  const std::string protocol = GENERATE(from_range(protocols()));
  INFO(protocol);
  TwoServers test(protocol);
  SmallTable& rows = test.rows;
  rows.create_index(false);
  for (std::int64_t id = 0; id < TwoServers::kRows; ++id) rows.change(id, id % 3);
  test.kill();
  test.start();
  // One of the values has its entries on server 1, perhaps: then its writers fail, and change nothing.
  for (std::int64_t round = 0; !rows.cluster().memory(1).opened; ++round) {
    const std::int64_t id = test.near[static_cast<std::size_t>(round) % test.near.size()];
    const Status status = test.write(id, round % 3);
    INFO(status.to_string());
    REQUIRE((status.ok() || status.code() == ErrorCode::cannot_connect_now || status.info().retry));
    rows.run_for(kMillisecond_ns);
  }
  REQUIRE(rows.cluster().memory(1).opened->ok());
  rows.run_for(kReturn_ns);
  auto after = rows.begin_in_new_session();
  CHECK(rows.count(*after, rows.table(), true) == static_cast<std::size_t>(TwoServers::kRows));
  CHECK(rows.commit(*after).ok());
  after.reset();
  CHECK(test.at_rest() == "");
}

// A statement's timeout.
struct Timeout final : txn::Interrupt {
  explicit Timeout(const Clock& of_worker) : clock(of_worker) {}
  Status check() const override {
    return clock.now_ns() < at_ns ? Status() : Status(ErrorCode::query_canceled, "it takes too long");
  }
  const Clock& clock;
  std::uint64_t at_ns = ~std::uint64_t{0};
};

reactor::Task<void> commit_beside(txn::Transaction* transaction, std::optional<Status>* ended) {
  *ended = co_await transaction->commit();
}

// The one that is in doubt waits for the server, and its slot with it.
TEST_CASE("a commit that shares a slot with one in doubt ends in time, with its outcome or 40003", "[away]") {
  constexpr std::uint64_t kPatience_ns = 10 * kSecond_ns;
  bool waited = false;
  bool waited_less = false;
  for (std::uint64_t delay_ns = 0; delay_ns < 600 * kMicrosecond_ns; delay_ns += 20 * kMicrosecond_ns) {
    INFO("after " << delay_ns);
    TwoServers test("si");
    SmallTable& rows = test.rows;
    fabric::sim::SimWorld& world = rows.cluster().world();
    auto on_both = rows.begin_in_new_session();
    rows.write(*on_both, test.near[0], 1);
    rows.write(*on_both, test.far[0], 1);
    auto elsewhere = rows.begin_in_new_session();
    rows.write(*elsewhere, test.near[1], 1);
    Timeout timeout(rows.clock());
    const bool timed = delay_ns % (40 * kMicrosecond_ns) != 0;
    if (timed) timeout.at_ns = rows.clock().now_ns() + kSecond_ns;
    elsewhere->set_interrupt(&timeout);
    reactor::Gate gate;
    std::optional<Status> first;
    std::optional<Status> second;
    rows.cluster().node(0).spawn(gate, commit_beside(on_both.get(), &first));
    rows.cluster().node(0).spawn(gate, commit_beside(elsewhere.get(), &second));
    world.run_for(delay_ns);
    rows.cluster().kill_memory(1);
    const std::uint64_t killed_ns = world.now_ns();
    REQUIRE(world.run_until([&] { return second.has_value(); }, 60 * kSecond_ns));
    CHECK(world.now_ns() - killed_ns < (timed ? kSecond_ns : kPatience_ns) + kNotice_ns);
    REQUIRE(world.run_until([&] { return first.has_value(); }, 60 * kSecond_ns));
    const Status status = *second;
    INFO(status.to_string());
    const bool unknown = !status.ok() && status.code() == ErrorCode::unknown_outcome;
    CHECK((status.ok() || unknown || status.info().retry));
    (timed ? waited_less : waited) |= unknown;
    on_both.reset();
    elsewhere.reset();
    test.start();
    REQUIRE(rows.cluster().await_opened(1, kOpening_ns));
    rows.run_for(kReturn_ns);
    CHECK(test.write(test.near[1], 2).ok());
  }
  CHECK(waited);
  CHECK(waited_less);
}

TEST_CASE("where the timestamp vector's server is away, nothing goes on, and the error says so", "[away]") {
  TwoServers test("si");
  SmallTable& rows = test.rows;
  rows.cluster().kill_memory(0);
  rows.run_for(kNotice_ns);
  CHECK_FALSE(test.ready(0));
  CHECK(test.read(test.far[0]).code() == ErrorCode::connection_failure);
  rows.cluster().begin_restart_memory(0, DiskAfter::killed);
  REQUIRE(rows.cluster().await_opened(0, kOpening_ns));
  rows.run_for(kReturn_ns);
  CHECK(test.write(test.far[0], 1).ok());
  CHECK(test.write(test.near[0], 1).ok());
  CHECK(test.at_rest() == "");
}

}  // namespace away_test
}  // namespace namdb::sim
