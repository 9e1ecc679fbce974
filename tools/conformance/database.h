// A database of the suite's own: two memory servers and two compute servers. The test drives one step at a
// time; background work goes on during steps. The same over every transport.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/protocols/stages.h"
#include "common/reactor/task.h"
#include "compute/api/engine.h"
#include "memory/options.h"

namespace namdb::conformance {

inline constexpr std::size_t kComputeServers = 2;

struct DatabaseOptions {
  std::string transport;  // one of transports(); tcp+shm: tcp with local paths
  std::string protocol;
  protocol::StageCode stages;
  layout::VectorSpread timestamp_vector = layout::VectorSpread::whole;
  bool shared_read_locks = false;
  std::uint64_t max_transaction_ns = 60 * kSecond_ns;

  // For memory server `server`.
  memory::Options memory(std::uint16_t server) const;
};

class Database {
 public:
  virtual ~Database() = default;
  virtual txn::Engine& engine(std::size_t compute) = 0;
  Status run(std::size_t compute, reactor::Task<Status> step);
  // The database's time goes on by so much.
  void wait(std::uint64_t duration_ns);
  // Of two transactions that begin so long after one another the first one is older, wherever they run
  // (two_phase_locking/priority_clock.h): compute servers here have one clock, simulated ones each its own.
  virtual std::uint64_t clocks_apart_ns() const { return 50 * kMicrosecond_ns; }

 private:
  // At that compute server, to its end.
  virtual void run_task(std::size_t compute, reactor::Task<void> task) = 0;
};

// Throws std::runtime_error.
std::unique_ptr<Database> open_simulated(const DatabaseOptions& options);
std::unique_ptr<Database> open_real(const DatabaseOptions& options);

// The transports of the suite: verbs alone where NAMDB_TEST_VERBS_ADDRESS names an RDMA device, else all
// others.
std::vector<std::string> transports();
std::unique_ptr<Database> open(const DatabaseOptions& options);

}  // namespace namdb::conformance
