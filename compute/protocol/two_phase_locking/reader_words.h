// Reader words: with them transactions share a record, each of which keeps it from being written until it
// ends. A few words behind the body (RecordLayout::reader_offset), in databases whose readers share locks.
//
//   0                          free
//   ⟨slot, priority, locked⟩   of a transaction that reads the record, as in its locks of other records
//
//   reader   takes a free word by CAS from 0 and READs the record behind that; if the record is unlocked in
//            that READ, the reader holds it. A locked record is met like any lock.
//   writer   locks the header word by CAS and READs the reader words behind that. It meets the words that it
//            finds as locks: it gives way, or waits, holding its lock, until each of them has changed. A
//            reader that takes a word later finds the record locked.
//   why at least one sees the other   CASes and the READs behind them are on one channel each, in order. If
//            neither saw the other, each READ would have come before the other one's CAS.
//   given back   by CAS to 0, with the transaction's locks: with its install, or in the background. A writer
//            ignores its own word.
//   words of dead transactions   stay until another transaction meets them and reports them to the
//            LockResolver: once the slot is closed no operation of the dead transaction can come any more,
//            and a CAS from exactly its word clears it. A count of readers, say in the header word, could not
//            be repaired: the number that a dead compute server held would be unknown.
//
// A new record has free words by the WRITE of its insert, like the other words behind its body. So it must
// not be found before that WRITE has landed: buckets lead to it later, in the order of one channel, and the
// location cache once the install has completed (compute/txn/passive_installs.h).
//
// Tombstones are not shared: memory servers reclaim them without a check of reader words. They are validated
// at commit, and so are keys that are absent, and records whose words are all taken.
#pragma once

#include <cstdint>

#include "common/fabric/local_pool.h"
#include "common/layout/global_address.h"
#include "common/layout/stamp.h"
#include "common/reactor/pooled_allocator.h"
#include "common/reactor/stable_vector.h"
#include "compute/cluster/batch_set.h"
#include "compute/protocol/two_phase_locking/lock_releaser.h"
#include "compute/txn/lookup.h"

namespace namdb::protocol {

// The reader words of one transaction.
class ReaderWords {
 public:
  explicit ReaderWords(txn::Cluster& cluster) : cluster_(cluster) {}

  bool any() const { return held_ != 0; }
  // Whether it has one at the record where the lookup is, which the lookup has asked for.
  bool has(const Lookup& lookup) const;
  // Adds the CAS that takes a word there, if the transaction has none and one may be free; false if not. The
  // record's memory is that record's until the transaction ends. collect() once the batch completed; the
  // lookup stays where it is until then.
  bool post(Lookup& lookup, layout::HeaderWord own, txn::BatchSet& batches);
  void collect();

  // Whether it has one at another memory server.
  bool any_beside(layout::ServerId server) const;
  // To be given back in this batch; clear() once it completed.
  void give_back(layout::HeaderWord own, txn::BatchSet& batches) const;
  // The same in the background.
  void add_to(reactor::PooledVector<HeldLock>& locks, layout::HeaderWord own) const;
  void clear() {
    words_.clear();
    held_ = 0;
  }

 private:
  struct Word {
    layout::GlobalAddress record;
    layout::GlobalAddress word;
    Lookup* lookup = nullptr;  // while it is posted
    fabric::LocalBuffer found;
    bool taken = false;
  };
  txn::Cluster& cluster_;
  reactor::StableVector<Word> words_;  // Lookup::share() is the position + 1
  std::size_t posted_ = 0;             // the last ones, of this batch
  std::size_t held_ = 0;
  std::uint32_t next_ = 0;  // the word that is tried first
};

}  // namespace namdb::protocol
