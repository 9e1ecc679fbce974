// The clients of `nambench oracle` on one thread. Each repeats the "timestamp transaction" of NAM-DB §7.2:
// read the current timestamp, make a commit timestamp, make it visible.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/fabric/counters.h"
#include "common/reactor/reactor.h"
#include "common/reactor/task.h"

namespace namdb::nambench {

// All of it belongs to the thread's reactor.
class OracleClients {
 public:
  virtual ~OracleClients() = default;
  virtual reactor::Task<Status> open() = 0;
  // One timestamp transaction of the client; counts the dependent round trips that it waited for.
  virtual reactor::Task<Status> transaction(std::uint64_t client, std::uint64_t& round_trips) = 0;
  // The operations that all clients have posted so far.
  virtual fabric::OperationCounters counters() const = 0;
  // Nothing is under way.
  virtual reactor::Task<Status> close() = 0;
};

// The classic oracle: one counter, and a list of finished timestamps that a thread of the memory server's
// machine scans to advance the read timestamp (NAM-DB §3.1; the baseline of its Figure 7). The server is a
// bare region.
inline constexpr std::uint64_t kFinishedList_words = 1U << 16;
inline constexpr std::uint64_t kCounterRegion_bytes = 4096 + 8 * kFinishedList_words;
std::unique_ptr<OracleClients> counter_clients(reactor::Reactor& reactor, std::string address,
                                               std::uint64_t clients);

struct VectorClientsOptions {
  std::uint64_t clients = 1;
  bool slot_each = true;    // else one slot for all of the thread, as the engine has it
  bool prefetched = false;  // snapshots are taken ahead for all of the thread, as with --snapshots prefetched
};
// The timestamp vector of a cluster of these memory servers, by the engine's own code: compute/txn's
// snapshots, their fetcher and execution slots.
std::unique_ptr<OracleClients> vector_clients(reactor::Reactor& reactor, std::vector<std::string> addresses,
                                              const VectorClientsOptions& options);

}  // namespace namdb::nambench
