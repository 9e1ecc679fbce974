// Reader words: how transactions say that they read a record, and keep it from being written until they end,
// beside each other. A few words behind the body (RecordLayout::reader_offset), in databases whose readers
// share locks.
//
//   0                          free
//   ⟨slot, priority, locked⟩   of a transaction that reads the record, as in its locks of other records
//
//   reader   takes a free word by CAS from 0 and READs the record behind that; a record that nobody has
//   locked
//            then is held. A record that is locked it meets as any lock.
//   writer   locks the header word by CAS and READs the reader words behind that. Whose words it finds, it
//            meets as locks: it gives way, or waits, holding its lock, until each of them is another one. Who
//            takes a word later finds the record locked.
//   why each sees the other, or both do   CASes and the READs behind them are on one channel each, in order.
//            If neither saw the other, each READ would have come before the other one's CAS.
//   given back   by CAS to 0, with the transaction's locks: with its install, or in the background. A writer
//            passes over its own word.
//   words of the dead   stay until somebody meets them, who has them looked into (LockResolver): once the
//   slot
//            is closed nothing of that transaction can come any more, and a CAS from exactly its word clears
//            it. A count of readers, say in the header word, could not be repaired: nobody could say which of
//            them a dead compute server held.
//
// Tombstones are not held: memory servers reclaim them without a look at readers. They are validated at
// commit, and so is what is not there, and a record whose words are all taken.
#pragma once

#include <cstdint>

#include "common/fabric/local_pool.h"
#include "common/layout/global_address.h"
#include "common/layout/stamp.h"
#include "common/reactor/pooled_allocator.h"
#include "compute/cluster/batch_set.h"
#include "compute/txn/lock_releaser.h"
#include "compute/txn/lookup.h"

namespace namdb::protocol {

// Those of one transaction.
class ReaderWords {
 public:
  explicit ReaderWords(txn::Cluster& cluster) : cluster_(cluster) {}

  bool any() const { return held_ != 0; }
  // Whether it has one at the record where the lookup is, which the lookup has asked for.
  bool has(const Lookup& lookup) const;
  // Adds the CAS that takes one there, if none is had and one may be free; false if not. The record's memory
  // is that record's until the transaction ends. take() once the batch completed; the lookup stays where it
  // is until then.
  bool ask(Lookup& lookup, layout::HeaderWord own, txn::BatchSet& batches);
  void take();

  // To be given back in this batch; clear() once it completed.
  void give_back(layout::HeaderWord own, txn::BatchSet& batches) const;
  // The same in the background.
  void add_to(reactor::PooledVector<txn::HeldLock>& locks, layout::HeaderWord own) const;
  void clear() {
    words_.clear();
    held_ = 0;
  }

 private:
  struct Word {
    layout::GlobalAddress record;
    layout::GlobalAddress word;
    Lookup* lookup = nullptr;  // while it is asked for
    fabric::LocalBuffer found;
    bool taken = false;
  };
  txn::Cluster& cluster_;
  reactor::PooledDeque<Word> words_;  // Lookup::share() is the position + 1
  std::size_t asked_ = 0;             // the last ones, of this batch
  std::size_t held_ = 0;
  std::uint32_t next_ = 0;  // where to look for a free one first
};

}  // namespace namdb::protocol
