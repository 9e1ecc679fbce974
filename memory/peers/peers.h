// The connected peers: channels by peer, compute servers by their random id, the acknowledgements of each
// worker, and the ids that are fenced for ever.
//
// A worker that just connected counts as having acknowledged nothing until its first heartbeat: its compute
// server may share caches that are older than the channel. Tools run no transactions and do not count.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/clock.h"
#include "common/fabric/fabric.h"

namespace namdb::memory {

// A compute server's process, as its workers tell memory server 0 with their heartbeats.
struct ComputeProcess {
  std::uint64_t id = 0;  // 0: not known yet
  std::string address;   // for SQL clients
  std::string version;
  std::uint64_t started_us = 0;  // since 1970
  std::uint32_t sessions = 0;
};

struct Peer {
  std::string compute_id;
  std::string name;
  std::uint32_t worker = 0;
  bool tool = false;
  bool memory_server = false;       // another one of this cluster; a tool, too
  bool joined = false;              // it has named the epochs of all memory servers
  std::set<std::uint32_t> without;  // the servers that were away when it joined: nothing of it reaches them
  std::uint64_t last_heard_ns = 0;
  bool leaving = false;                  // it has ended cleanly
  std::uint64_t oldest_snapshot_ns = 0;  // its age when last heard of; 0 = none
  std::uint64_t acknowledged_epoch = 0;
  std::uint64_t acknowledged_catalog = 0;
  std::uint64_t acknowledged_versions = 0;
  ComputeProcess process;
};

// The least that any live worker has acknowledged; ~0 where there is no worker.
struct Acknowledged {
  std::uint64_t epoch = ~std::uint64_t{0};
  std::uint64_t catalog = ~std::uint64_t{0};
  std::uint64_t versions = ~std::uint64_t{0};
};

class Peers {
 public:
  static constexpr std::size_t kComputeId_bytes = 16;

  void add(fabric::PeerId id, Peer peer) { peers_[id] = std::move(peer); }
  void remove(fabric::PeerId id) { peers_.erase(id); }
  // Null for a peer that is gone.
  Peer* find(fabric::PeerId id);
  const std::map<fabric::PeerId, Peer>& all() const { return peers_; }
  std::vector<fabric::PeerId> of(std::string_view compute_id) const;
  Acknowledged acknowledged() const;
  // The age of the oldest snapshot of any worker; 0 = none.
  std::uint64_t oldest_snapshot_ns(std::uint64_t now_ns) const;

  void remember_fenced(std::string_view compute_id) { fenced_.emplace(compute_id); }
  bool fenced(std::string_view compute_id) const { return fenced_.contains(compute_id); }
  // A worker of a process that was fenced, by its number there; it learns of it when it comes again.
  void remember_lost_lease(std::uint64_t process, std::uint32_t worker) {
    lost_leases_.emplace(process, worker);
  }
  bool take_lost_lease(std::uint64_t process, std::uint32_t worker) {
    return lost_leases_.erase({process, worker}) != 0;
  }
  // Compute servers that are to end.
  void drain(std::uint64_t process) { draining_.insert(process); }
  bool draining(std::uint64_t process) const { return draining_.contains(process); }

  // Compute servers with a worker that was last heard of before that time.
  std::set<std::string> silent_since(std::uint64_t time_ns) const;

 private:
  std::map<fabric::PeerId, Peer> peers_;
  std::set<std::string, std::less<>> fenced_;
  std::set<std::pair<std::uint64_t, std::uint32_t>> lost_leases_;
  std::set<std::uint64_t> draining_;
};

}  // namespace namdb::memory
