// The region of one of several memory servers is at another host, and its old host tells no peer: it is dead,
// or hangs with all connections open. Those who need it find it through the others, and the rest goes on.
#include <catch2/catch.hpp>
#include <cstdint>
#include <set>
#include <string>

#include "tools/namsim/testing/small_table.h"

namespace namdb::sim {
namespace moved_test {

constexpr std::uint64_t kMaxTransaction_ns = 60 * kSecond_ns;
constexpr std::uint64_t kOpening_ns = 60 * kSecond_ns;  // never that long
constexpr std::uint64_t kHang_ns = 20 * kSecond_ns;     // longer than any search
constexpr std::uint64_t kFinding_ns = kSecond_ns;       // several attempts
constexpr std::int64_t kRows = 16;

// Rows of several servers, with value 0.
struct SeveralServers {
  explicit SeveralServers(std::uint32_t count) : rows("si", kMaxTransaction_ns, "one-sided", count, true) {
    for (std::int64_t id = SmallTable::kRows; id < kRows; ++id) {
      const auto transaction = rows.begin();
      rows.insert(*transaction, id);
      REQUIRE(rows.commit(*transaction).ok());
    }
  }
  std::set<std::int64_t> on(layout::ServerId server) {
    std::set<std::int64_t> ids;
    for (std::int64_t id = 0; id < kRows; ++id) {
      if (rows.server_of(id) == server) ids.insert(id);
    }
    REQUIRE(ids.size() >= 2);
    return ids;
  }
  Status write(std::int64_t id, std::int64_t value) {
    const auto transaction = rows.begin_in_new_session();
    Status status = rows.try_write(*transaction, id, value);
    return status.ok() ? rows.commit(*transaction) : status;
  }
  // Its new host serves: every row can be written, by every compute server.
  void await_served(std::size_t server, std::int64_t value) {
    REQUIRE(rows.cluster().await_opened(server, kOpening_ns));
    INFO(rows.cluster().memory(server).opened->to_string());
    REQUIRE(rows.cluster().memory(server).opened->ok());
    rows.run_for(kFinding_ns);
    for (std::size_t compute = 0; compute < rows.cluster().computes(); ++compute) {
      rows.use_compute(compute);
      for (std::int64_t id = 0; id < kRows; ++id) {
        const Status status = write(id, value);
        INFO("compute server " << compute << ", row " << id << ": " << status.to_string());
        CHECK(status.ok());
      }
    }
  }
  std::string at_rest() {
    for (std::size_t compute = 0; compute < rows.cluster().computes(); ++compute) {
      if (!rows.cluster().stop_compute(compute, kOpening_ns)) return "a compute server does not stop";
    }
    return rows.cluster().check_at_rest(kOpening_ns);
  }

  SmallTable rows;
};

TEST_CASE("a region whose old host tells nobody is found at its new one, again and again", "[moved]") {
  const std::uint32_t count = GENERATE(2U, 3U);
  const bool first = GENERATE(true, false);
  const std::uint64_t hangs_ns = GENERATE(std::uint64_t{0}, kHang_ns);
  const layout::ServerId moved = first ? 0 : static_cast<layout::ServerId>(count - 1);
  INFO(count << " servers, " << moved << " moves, its old host " << (hangs_ns == 0 ? "is dead" : "hangs"));
  SeveralServers test(count);
  SmallTable& rows = test.rows;
  rows.add_compute();
  rows.cluster().begin_move_memory(moved, hangs_ns);
  test.await_served(moved, 1);
  // The others tell a compute server with old addresses, and one another.
  rows.cluster().add_compute();
  rows.run_for(kFinding_ns);
  test.await_served(moved, 2);
  const std::size_t other = moved == 0 ? 1 : 0;
  rows.cluster().restart_memory(other, DiskAfter::killed);
  test.await_served(other, 3);
  rows.cluster().begin_move_memory(moved, hangs_ns);
  test.await_served(moved, 4);
  CHECK(test.at_rest() == "");
}

TEST_CASE("transactions that do not need a region which moves go on", "[moved]") {
  const std::uint64_t hangs_ns = GENERATE(std::uint64_t{0}, kHang_ns);
  INFO("its old host " << (hangs_ns == 0 ? "is dead" : "hangs"));
  SeveralServers test(2);
  SmallTable& rows = test.rows;
  const std::set<std::int64_t> near = test.on(0);
  auto without = rows.begin_in_new_session();
  rows.write(*without, *near.begin(), 1);
  rows.cluster().begin_move_memory(1, hangs_ns);
  std::int64_t written = 0;
  rows.change(*near.rbegin(), ++written);
  // It began when the region was there, and has not needed it.
  CHECK(rows.commit(*without).ok());
  while (!rows.cluster().memory(1).opened) {
    rows.change(*near.rbegin(), ++written);
    rows.run_for(kMillisecond_ns);
  }
  CHECK(written > 2);
  test.await_served(1, 2);
  without.reset();
  CHECK(test.at_rest() == "");
}

}  // namespace moved_test
}  // namespace namdb::sim
