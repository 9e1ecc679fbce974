// Growth of a table's main buckets on this server: by doubling, online, while transactions run.
//
// A table has outgrown its main buckets when more entries hang off them than fit into them. Then an array of
// twice the size is allocated. Chain by chain:
//   1. the chain's lock word is taken by CAS (server_locks.h); a chain that is locked comes later
//   2. its entries are copied into two chains of the new array, which no peer can reach yet
//   3. a forward is written over the old main bucket: from now on lookups and inserts go to the new chains
//   4. the lock word is released
// Nothing is ever taken out of the old chain, so a reader on its way along it still finds all that was there.
// The old array and its indirect buckets stay until the catalog has the new array and every live worker has
// acknowledged that no older transaction runs (RETIRE_BUCKETS, epoch_reclaimer.h). Meanwhile the new array
// may be outgrown in its turn.
//
// Without room for the new array the table keeps its long chains, and growth is tried again later; without
// room for a chain's indirect buckets that chain waits. The server ends: the region dies with it. The table
// is dropped: growth stops, and all arrays are given back with it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <vector>

#include "common/base/error.h"
#include "common/fabric/fabric.h"
#include "common/layout/bucket.h"
#include "common/reactor/executor.h"
#include "common/reactor/task.h"
#include "memory/options.h"
#include "memory/reclaim/epoch_reclaimer.h"
#include "memory/reclaim/server_locks.h"
#include "memory/region/region.h"
#include "memory/region/tables.h"
#include "proto/control.pb.h"

namespace namdb::memory {

class TableGrowth {
 public:
  TableGrowth(reactor::Executor& executor, Region& region, const Options& options, Tables& tables,
              ServerLocks& locks, EpochReclaimer& reclaimer)
      : executor_(executor),
        region_(region),
        options_(options),
        tables_(tables),
        locks_(locks),
        reclaimer_(reclaimer),
        wake_(executor) {}

  // Runs until stop().
  reactor::Task<void> run(fabric::Channel& loopback);
  void stop() {
    stopping_ = true;
    wake_.notify_all();
  }
  // Records of the table were handed out: it may have outgrown its buckets. Cheap while it has not.
  void consider(std::uint32_t table);
  // Considers tables again whose growth was put off. Called now and then.
  void consider_again();

  // Adds news of growth to a heartbeat's reply.
  void describe(control::HeartbeatReply& reply) const;
  // RETIRE_BUCKETS. Outside input: error undefined_table, or protocol_violation.
  Status retire(const control::RetireBucketsRequest& request);

 private:
  struct Job {
    std::uint64_t next_chain = 0;
    std::deque<std::uint64_t> held;  // chains that could not be moved at first
    std::uint32_t rounds = 0;        // through `held` without success
    std::uint64_t retry_ns = 0;      // not before
  };
  // A table with more records than its main buckets have entries, when last considered.
  struct Candidate {
    std::uint64_t looked_ns = 0;
    std::uint64_t records = 0;
  };
  // More records are handed out than the main buckets are meant for.
  bool crowded(const Table& table) const;
  // The same of the entries that are really there, by a sample of the chains.
  bool outgrown(const Table& table) const;
  // False when there is no room.
  bool begin(std::uint32_t id, Table& table);
  // Moves some chains. False when there is nothing to do before retry_ns.
  reactor::Task<bool> step(std::uint32_t id, fabric::Channel& loopback);
  std::vector<std::uint64_t> choose_chains(const Table& table, Job& job);
  // Under the chain's lock. False when there is no room, or the chain is corrupt.
  bool move_chain(Table& table, std::uint64_t index);
  bool write_chain(Table& table, std::uint64_t main_offset, const std::vector<layout::BucketEntry>& entries);
  void finish(std::uint32_t id, Table& table);

  reactor::Executor& executor_;
  Region& region_;
  const Options& options_;
  Tables& tables_;
  ServerLocks& locks_;
  EpochReclaimer& reclaimer_;
  reactor::Event wake_;
  bool stopping_ = false;
  std::map<std::uint32_t, Job> jobs_;
  std::map<std::uint32_t, Candidate> candidates_;
  std::set<std::uint32_t> unknown_;  // tables whose newest array the catalog may not know
};

}  // namespace namdb::memory
