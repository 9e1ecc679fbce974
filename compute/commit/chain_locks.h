// The bucket chains into which a commit inserts rows: their locks, and the places of the new rows in them.
//
// A chain's lock word is a latch: it is asked for by CAS, with READs of the chain's buckets behind it, and
// what stands behind the lock decides, whatever the lookups saw. That somebody has changed the chain, or
// holds it, is no conflict, since all that other keys come to the same chain; only an entry of the same key
// is one.
//  - The word has changed: it is asked for again, from what is there.
//  - Another commit holds the chain: it is waited for, a moment (kPatience_ns). Nobody waits in a circle: who
//    waits for a chain holds none behind it in the order of addresses. What it got of those is given back, as
//    it was: nothing has been written there, so the word from before still says what stands in the chain.
//    A transaction that holds a chain waits for no record. A holder that is dead is looked into as anywhere
//    (compute/txn/lock_resolver.h); that takes longer than a moment, and so ends in a conflict.
//  - The memory server holds the chain: likewise. It never waits for a lock while it holds one.
//  - The chain was forwarded to another array (memory/reclaim/table_growth.h): its rows ask for the next
//    array's chains, again and again if need be. A lock that was taken of the old chain is released.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "common/layout/bucket.h"
#include "common/layout/journal.h"
#include "compute/cluster/batch_set.h"
#include "compute/txn/access.h"
#include "compute/txn/worker_state.h"

namespace namdb::protocol {

class ChainLocks {
 public:
  ChainLocks(txn::WorkerState& worker, txn::BatchSet& batches, fabric::OperationCounters& counters)
      : worker_(worker), batches_(batches), counters_(counters) {}

  // A row whose lookup found no record.
  void add(Access& access);
  // Space for each row's record.
  reactor::Task<Status> reserve_space();
  void give_back_space();
  // Of the journal entry's chain items, however many chains it turns out to be.
  std::uint64_t journal_bound_bytes() const;
  // At least so much, before anything is locked.
  std::uint64_t journal_least_bytes() const;
  // After place(): what they take.
  std::uint64_t journal_bytes() const;

  // In this order. ask() adds CASes and READs to the batches; examine() looks at them once they completed;
  // pursue() asks again for what is missing, and returns an error when that takes too long; place() reads
  // what the chains have more, and gives each row its entry. `stamp` is the commit's.
  void ask(layout::Stamp stamp);
  void examine();
  reactor::Task<Status> pursue(layout::Stamp stamp);
  reactor::Task<Status> place(layout::Stamp stamp);

  // The lock word of the chain of that main bucket before it was locked; nullopt: it is not held.
  std::optional<layout::HeaderWord> taken_from(layout::GlobalAddress main) const;
  bool empty() const { return chains_.empty(); }

  // After place(). `timestamp`: of the new versions, 0 where they have none.
  void build_records(layout::Stamp stamp, std::uint64_t timestamp);

  void log(layout::JournalWriter& writer) const;
  void install(layout::Stamp stamp);
  // Adds the WRITEs that release what is held.
  void release(layout::Stamp stamp);
  void remember_locations() const;

 private:
  struct ChainBucket {
    layout::GlobalAddress address;
    layout::Bucket* image = nullptr;  // registered
    bool changed = false;
    bool fresh = false;       // allocated by this commit
    layout::Bucket before{};  // what stands there while the lock is held
  };
  enum class State : std::uint8_t {
    to_ask,
    asked,
    taken,
    forwarded,  // its rows must go on
    left        // they have gone on
  };
  struct ChainLock {
    storage::TableRef table;
    layout::BucketArray array;  // of which `main` is a bucket
    layout::GlobalAddress main;
    layout::HeaderWord expected;
    State state = State::to_ask;
    bool held = false;
    bool busy = false;       // when it was last asked for, somebody else held it
    bool by_commit = false;  // who was a commit, not the memory server
    std::vector<Access*> inserts;
    std::vector<layout::GlobalAddress> records;  // space for each insert
    fabric::LocalBuffer words;                   // the old lock word; the new one
    std::vector<fabric::LocalBuffer> buffers;
    std::vector<ChainBucket> buckets;
  };

  ChainLock& chain_at(const storage::TableRef& table, const layout::BucketArray& array,
                      layout::GlobalAddress main);
  void index_chains();
  // Of the chain of that bucket, left or not: nothing leads back to one that was left.
  std::optional<std::size_t> position_of(layout::GlobalAddress main) const;
  // The chain of that bucket that was left; null if there is none.
  const ChainLock* left_chain(layout::GlobalAddress main) const;
  void add_bucket(ChainLock& chain, layout::GlobalAddress address);
  void examine(ChainLock& chain);
  // Expects the word that `found` becomes when it is released.
  static void expect(ChainLock& chain, layout::HeaderWord found);
  // The first chain that another commit holds; null if there is none.
  layout::GlobalAddress first_busy() const;
  // Adds the WRITEs that give back what is held behind it.
  void give_back_behind(layout::GlobalAddress busy);
  Status follow(ChainLock& chain);
  void release(ChainLock& chain, layout::Stamp stamp);
  // Calls write(address, bytes) for each piece that makes the new bucket of what stands there.
  template <typename Write>
  void bucket_writes(const ChainBucket& bucket, const Write& write) const;
  reactor::Task<Status> read_rest(ChainLock* chain);
  reactor::Task<Status> place_inserts(ChainLock* chain, layout::Stamp stamp);

  txn::WorkerState& worker_;
  txn::BatchSet& batches_;
  fabric::OperationCounters& counters_;
  std::deque<ChainLock> chains_;  // adding one moves no other
  // Places in `chains_` by the main bucket's address, once there are many.
  std::unordered_map<std::uint64_t, std::size_t> by_main_;
};

}  // namespace namdb::protocol
