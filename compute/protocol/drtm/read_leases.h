// The read leases of one transaction (DrTM §5.2): how they are taken, and until when they hold. Nothing gives
// a lease back: it ends. record_state.h says why a lease keeps writers out.
//
// A lease is trusted if it was there before the READ of the header word that finds the record unlocked. This
// holds if the CAS that sets or finds the lease is posted in front of that READ, or if this worker has seen
// the lease before it posts the READ. A lease that comes with the record in one READ may be younger than the
// header word.
//
// A CAS goes only where memory still is the record's: where this worker knows its header word
// (compute/protocol/two_phase_locking/header_guesses.h), or has found it by key in this transaction. A new
// record has no lease by the WRITE of its insert, before anything leads there.
#pragma once

#include <cstdint>

#include "common/fabric/local_pool.h"
#include "common/layout/global_address.h"
#include "common/reactor/stable_vector.h"
#include "compute/cluster/batch_set.h"
#include "compute/protocol/drtm/record_state.h"
#include "compute/protocol/two_phase_locking/header_guesses.h"
#include "compute/txn/lookup.h"
#include "compute/txn/worker_state.h"

namespace namdb::protocol::drtm {

class ReadLeases {
 public:
  // `learned`: reuse epochs, when the transaction began.
  ReadLeases(txn::WorkerState& worker, HeaderGuesses& guesses, std::uint64_t learned)
      : worker_(worker), guesses_(guesses), learned_(learned) {}

  bool any() const { return !leases_.empty(); }
  // Whether it has one at the record where the lookup is, which the lookup has asked for.
  bool has(const Lookup& lookup) const;
  // When that one ends.
  std::uint64_t end_ns(const Lookup& lookup) const { return leases_[lookup.share() - 1].end_ns; }
  // Prepares a lease of that length on the record: adds the CAS that takes it, unless a sufficient lease is
  // known. False: no lease is possible now. collect() follows once the batch completed; the lookup stays
  // where it is until then.
  bool post(Lookup& lookup, std::uint64_t length_ns, txn::BatchSet& batches);
  void collect();

 private:
  struct Lease {
    layout::GlobalAddress record;
    std::uint64_t end_ns = 0;
    Lookup* lookup = nullptr;    // while it is posted
    std::uint64_t known_ns = 0;  // the lease that its CAS replaces
    fabric::LocalBuffer found;   // null: there was no CAS
    bool held = false;
  };
  // The newest lease there that this worker has seen; leases only grow.
  std::uint64_t known_ns(const Lookup& lookup) const;

  txn::WorkerState& worker_;
  HeaderGuesses& guesses_;
  std::uint64_t learned_;
  reactor::StableVector<Lease> leases_;  // Lookup::share() is the position + 1
  std::size_t posted_ = 0;               // the last ones, of this batch
};

}  // namespace namdb::protocol::drtm
