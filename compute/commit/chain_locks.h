// The bucket chains into which a commit inserts rows: their locks, and the places of the new rows in them.
//
// A chain's lock word is a latch: a CAS is posted, with READs of the chain's buckets behind it, and the bytes
// READ behind the lock decide, not those that the lookups saw. A chain that another commit has changed, or
// holds, does not conflict, since other keys share the chain; only an entry of the same key is a conflict.
//  - The word has changed: the CAS is posted again, from the word that was found.
//  - Another commit holds the chain: the commit waits, at most kPatience_ns. There is no deadlock: a commit
//    that waits for a chain holds no chain with a greater address. Those that it had taken are released with
//    their old words: nothing was written there, so the old word still stands for the chain's contents. A
//    transaction that holds a chain waits for no record. A dead holder is handed to the lock resolver
//    (compute/txn/lock_resolver.h); that takes longer than kPatience_ns, and so ends in a conflict.
//  - The memory server holds the chain: likewise. It never waits for a lock while it holds one.
//  - The chain was forwarded to another array (memory/reclaim/table_growth.h): its rows go on to the next
//    array's chains, several times if need be. A lock that was taken of the old chain is released.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/layout/bucket.h"
#include "common/layout/journal.h"
#include "common/reactor/block_vector.h"
#include "common/reactor/stable_vector.h"
#include "compute/cluster/batch_set.h"
#include "compute/commit/commit_journal.h"
#include "compute/txn/access.h"
#include "compute/txn/held_chains.h"
#include "compute/txn/record_space.h"
#include "compute/txn/row_buffers.h"
#include "compute/txn/row_parts.h"
#include "compute/txn/worker_state.h"

namespace namdb::protocol {

class ChainLocks final : public HeldChains {
 public:
  ChainLocks(txn::WorkerState& worker, txn::BatchSet& batches, fabric::OperationCounters& counters)
      : worker_(worker), batches_(batches), counters_(counters), buffers_(worker.cluster.pool()) {}

  // A row whose lookup found no record.
  void add(Access& access);
  // Space for each row's record.
  reactor::Task<Status> reserve_space();
  void give_back_space();
  // Adds the bytes of the journal's chain items, by host: before anything is locked an upper bound (for any
  // number of chains) and a lower bound, and after place() the exact number.
  void add_journal_bound(JournalBytes& bytes) const;
  void add_journal_least(JournalBytes& bytes) const;
  void add_journal_bytes(JournalBytes& bytes) const;

  // In this order. post() adds a chain's CAS and READs to the batches. check() examines their results once
  // they completed. retry() posts the missing locks again, and returns an error when that takes too long.
  // place() reads further buckets of the chains, and gives each row its entry. `stamp` is the commit's.
  void post(std::size_t chain, layout::Stamp stamp) { post(chains_[chain], stamp); }
  void check();
  // A memory server did not answer: notes which of the locks that were posted are held.
  void note_held();
  reactor::Task<Status> retry(layout::Stamp stamp);
  reactor::Task<Status> place();

  // --- HeldChains ---
  std::optional<layout::HeaderWord> taken_from(layout::GlobalAddress main) const override;
  bool empty() const override { return chains_.empty(); }

  std::size_t size() const { return chains_.size(); }
  // The rows in them.
  std::size_t inserts() const { return inserts_; }
  // Before retry(): it has nothing to do.
  bool all_taken() const {
    return std::ranges::all_of(chains_, [](const ChainLock& chain) { return chain.state == State::taken; });
  }

  // After place(), for each chain. `timestamp`: of the new versions, 0 where they have none.
  void build_records(std::size_t chain, layout::Stamp stamp, std::uint64_t timestamp);

  // The chain's item, if it lies on that host.
  void log(std::size_t chain, layout::ServerId host, layout::JournalItems& items) const;
  void install(std::size_t chain, layout::Stamp stamp);
  // Adds the WRITEs that release the chains that are held.
  void release(layout::Stamp stamp);
  void remember_locations() const;
  // The places that it remembers, for a commit that is installed later.
  std::vector<layout::BucketEntry> locations() const;

 private:
  struct ChainBucket {
    layout::GlobalAddress address;
    txn::RowBuffer buffer;            // a main bucket's has the chain's words behind the image
    layout::Bucket* image = nullptr;  // in it
    bool changed = false;
    bool fresh = false;       // allocated by this commit
    layout::Bucket before{};  // the bucket's bytes while the lock is held
  };
  enum class State : std::uint8_t {
    to_post,
    posted,
    taken,
    forwarded,  // its rows must go on to the next array
    left        // they have gone on
  };
  using Inserts = reactor::PooledInlinedVector<Access*, 2>;
  struct ChainLock {
    storage::TableRef table;
    layout::BucketArray array;  // of which `main` is a bucket
    layout::GlobalAddress main;
    layout::HeaderWord expected;
    State state = State::to_post;
    bool held = false;
    bool busy = false;       // the last CAS found that another holds it
    bool by_commit = false;  // and that it is a commit, not the memory server
    // As a rule one of each: few rows of a commit share a chain, and few chains have many buckets.
    Inserts inserts;
    txn::RecordSpace::Records records;  // space for each insert
    reactor::PooledInlinedVector<ChainBucket, 1> buckets;
    std::byte* words = nullptr;  // the old lock word; the new one: behind the main bucket's image
  };

  ChainLock& chain_at(const storage::TableRef& table, const layout::BucketArray& array,
                      layout::GlobalAddress main);
  // Of rows that come after those of that chain, or after that row of it: many rows lie all over the memory,
  // in the order of chains.
  void prefetch_behind(std::size_t chain) const;
  static void prefetch_behind(const ChainLock& chain, std::size_t row);
  void index_chains();
  // The position of the chain of that bucket, left or not. (Nothing leads back to a chain that was left.)
  std::optional<std::size_t> position_of(layout::GlobalAddress main) const;
  // The chain of that bucket that was left; null if there is none.
  const ChainLock* left_chain(layout::GlobalAddress main) const;
  // Its first one is the main bucket.
  void add_bucket(ChainLock& chain, layout::GlobalAddress address);
  void post(ChainLock& chain, layout::Stamp stamp);
  // All that are missing, but those behind one that is waited for.
  void post_missing(layout::Stamp stamp);
  void check(ChainLock& chain);
  // Expects the word that `found` becomes when it is released.
  static void expect(ChainLock& chain, layout::HeaderWord found);
  // The first chain that another commit holds; null if there is none.
  layout::GlobalAddress first_busy() const;
  // Adds the WRITEs that release the chains held behind it in the order of addresses.
  void give_back_behind(layout::GlobalAddress busy);
  Status follow(ChainLock& chain);
  void release(ChainLock& chain, layout::Stamp stamp);
  // Calls write(address, bytes) for each piece in which the new bucket differs from the one that stands
  // there.
  template <typename Write>
  void bucket_writes(const ChainBucket& bucket, const Write& write) const;
  // Calls use(entry) for each new record that is placed.
  template <typename Use>
  void each_location(const Use& use) const;
  // For a locked chain, one bucket after the other.
  static Status check_bucket(const ChainLock& chain, std::size_t bucket);
  static bool leads_on(const ChainLock& chain, std::size_t bucket);
  // Behind its last one.
  reactor::Task<Status> read_next(ChainLock* chain);
  // Reports a dropped hash index as catalog_changed: the caller wrote rows, and does not know of the index's
  // table.
  static Status without_space(Status status, const storage::Table& table);
  static bool has_rival(const ChainLock& chain);
  static void place_row(ChainLock& chain, std::size_t row, ChainBucket& bucket, std::uint32_t entry);
  // In free entries of its buckets: so many rows. And the others, in fresh buckets at its end.
  static std::size_t place_in_free(ChainLock& chain);
  reactor::Task<Status> place_in_fresh(ChainLock* chain, std::size_t first);

  txn::WorkerState& worker_;
  txn::BatchSet& batches_;
  fabric::OperationCounters& counters_;
  txn::RowBuffers buffers_;
  reactor::BlockVector<ChainLock, 4> chains_;  // adding one moves no other
  std::size_t inserts_ = 0;
  // Places in `chains_` by the main bucket's address, once there are many.
  absl::flat_hash_map<std::uint64_t, std::size_t> by_main_;
};

}  // namespace namdb::protocol
