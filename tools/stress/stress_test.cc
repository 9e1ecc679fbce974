// Everything that shares memory between threads, all at once: reactors and their mailboxes, the transports,
// the location cache that workers share, the state of a compute server's process, the memory servers' movers
// and collectors beside their peers. Run it with the thread sanitizer; without, it shows that the cluster
// keeps its promises under real concurrency.
//
// The work of each client is decided by its seed, the order in which threads get to do it is not.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <thread>
#include <vector>

#include "tools/stress/cluster.h"
#include "tools/stress/sql_clients.h"
#include "tools/support/wire/wire_load.h"
#include "tools/support/wire/wire_run.h"
#include "workloads/smallbank_workload.h"

namespace namdb::stress {
namespace {

constexpr std::uint64_t kClients = 4;

// How much more than usual; for longer runs by hand.
std::uint64_t factor() {
  const char* text = std::getenv("NAMDB_STRESS");
  return text == nullptr ? 1 : std::strtoull(text, nullptr, 10);
}

std::vector<std::thread> start_clients(const support::Endpoint& endpoint, std::uint64_t first_seed,
                                       bool leaving, Complaints& complaints) {
  std::vector<std::thread> threads;
  for (std::uint64_t i = 0; i < kClients; ++i) {
    threads.emplace_back(
        [&complaints,
         options = ClientOptions{
             .endpoint = endpoint, .seed = first_seed + i, .rounds = 150 * factor(), .leaving = leaving}] {
          run_client(options, complaints);
        });
  }
  return threads;
}

void join(std::vector<std::thread>& threads) {
  for (std::thread& thread : threads) thread.join();
  threads.clear();
}

}  // namespace

TEST_CASE("clients of many threads find every promise kept while compute servers come and go") {
  for (const std::string transport : {"shm", "tcp", "tcp+shm"}) {
    INFO(transport);
    Cluster cluster(transport);
    Complaints complaints;
    cluster.add_compute(2);
    const support::Endpoint first = cluster.endpoints().front();
    REQUIRE(create_tables(first).to_string() == Status().to_string());
    const support::Endpoint second = cluster.add_compute(2).endpoint();
    std::vector<std::thread> leaving = start_clients(first, 1, true, complaints);
    std::vector<std::thread> staying = start_clients(second, 100, false, complaints);
    cluster.remove_compute();  // the first, with its clients in the middle of their work
    const support::Endpoint third = cluster.add_compute(1).endpoint();
    std::vector<std::thread> late = start_clients(third, 200, false, complaints);
    join(leaving);
    join(staying);
    join(late);
    CHECK(complaints.all() == "");
    const Result<std::int64_t> sum = sum_of_accounts(third);
    REQUIRE(sum.ok());
    CHECK(*sum == kTotal);
  }
}

TEST_CASE("procedures of several workers and compute servers keep SmallBank's sums") {
  for (const std::string transport : {"shm", "tcp", "tcp+shm"}) {
    INFO(transport);
    Cluster cluster(transport);
    cluster.add_compute(2);
    cluster.add_compute(2);
    support::Progress progress(true);
    const auto workload = std::move(workloads::make_smallbank({.accounts = 30, .skew = {}})).value();
    support::WireLoadOptions load;
    load.endpoints = cluster.endpoints();
    const auto loaded = support::wire_load(*workload, load, progress);
    INFO((loaded.ok() ? "" : loaded.status().to_string()));
    REQUIRE(loaded.ok());
    support::WireRunOptions options;
    options.endpoints = cluster.endpoints();
    options.clients = 8;
    options.pipeline = 4;
    options.length.transactions_per_client = 100 * factor();
    const auto report = support::wire_run(*workload, options, progress);
    INFO((report.ok() ? "" : report.status().to_string()));
    REQUIRE(report.ok());
    CHECK(report->failed() == 0);
    CHECK(report->committed() > 0);
    CHECK_FALSE(report->checks.empty());
    CHECK(report->checks_ok());
  }
}

}  // namespace namdb::stress
