// A transaction's reads that must be found unchanged: header words of records, lock words and checksums of
// buckets, ranges of secondary indexes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "common/layout/global_address.h"
#include "common/layout/stamp.h"
#include "common/reactor/pooled_allocator.h"
#include "common/reactor/stable_vector.h"
#include "common/reactor/task.h"
#include "compute/cluster/batch_set.h"
#include "compute/txn/validation.h"

namespace namdb::protocol {

class TransactionState;

// The error for a read that was changed by another transaction.
Status changed_reads();

class ReadSet {
 public:
  // The record that was found, in any of its versions; without one, the chain that does not have the key.
  void add(const Lookup& lookup);
  // `main`: the bucket that has the chain's lock word.
  void add(layout::GlobalAddress address, const layout::Bucket& bucket, bool main);
  void add_range(SeenRange range) { ranges_.push_back(std::move(range)); }

  // Forgets what was added since.
  struct Mark {
    std::size_t records;
    std::size_t buckets;
  };
  Mark mark() const { return {records_.size(), buckets_.size()}; }
  void forget(Mark since) {
    records_.resize(since.records);
    buckets_.resize(since.buckets);
  }

  // Read in one READ, and so at one moment.
  bool single() const { return ranges_.empty() && buckets_.empty() && records_.size() <= 1; }

  // Ok: at some moment after this call began, every read was still valid, and no other transaction held a
  // lock on it. Error serialization_failure. `own_lock`: the lock word of this transaction in records;
  // `chains`: those that it holds, or null.
  reactor::Task<Status> validate(TransactionState* transaction, layout::HeaderWord own_lock,
                                 const HeldChains* chains);
  // The same in two parts, for READs that are sent with others, all to that server: adds them, unless some
  // are for another server, or there are more than one round trip's. Nothing is added to the set in between.
  bool post_checks(TransactionState& transaction, layout::ServerId server, txn::BatchSet& batches);
  // The batches have run.
  Status check_posted(layout::HeaderWord own_lock, const HeldChains* chains) const;

 private:
  struct SeenHeader {
    layout::GlobalAddress record;
    layout::HeaderWord header;
    std::uint32_t body_bytes;
  };
  struct SeenBucket {
    layout::GlobalAddress bucket;
    std::uint64_t checksum;
    std::optional<layout::HeaderWord> lock;
  };
  // One round trip: READs of `count` records and buckets from the position on, where buckets follow records.
  class Round;
  // Called when the catalog has changed since the transaction began: checks that the indexes of all ranges
  // still exist.
  reactor::Task<Status> find_indexes(TransactionState* transaction);
  class RangeCheck;
  // From ranges_[*next] on, until there are so many.
  void post_ranges(TransactionState& transaction, std::size_t most, std::size_t* next,
                   reactor::StableVector<RangeCheck>* checks);

  reactor::PooledVector<SeenHeader> records_;
  reactor::PooledVector<SeenBucket> buckets_;
  std::vector<SeenRange> ranges_;
  std::shared_ptr<Round> posted_;
};

}  // namespace namdb::protocol
