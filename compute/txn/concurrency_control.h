// The decisions of a concurrency-control protocol in one transaction, an interface for each kind:
// visibility.h, locking.h, validation.h, timestamps.h, and here those of every commit. All else is the same
// for all protocols: finding records, buffering writes, locking by CAS, the journal, install, secondary
// indexes, the ends of dead commits. A protocol is one implementation of this class, in a folder of
// compute/protocol, and one line in common/protocols/protocol_list.h.
//
// Called by the transaction's coroutine only; while a call is suspended, no other is made but
// those that it makes itself, by running lookups.
#pragma once

#include <cstdint>
#include <memory>

#include "common/base/error.h"
#include "common/layout/stamp.h"
#include "common/reactor/frame_pool.h"

namespace namdb::protocol {

struct Access;
class Locking;
class Timestamps;
class Validation;
class Visibility;

// How the generation (transaction_registry.h) of a transaction that is over ends.
enum class GenerationEnd : std::uint8_t {
  by_caller,     // now
  behind_locks,  // locks are still held: they are released in the background, and it is ended after that
};

class ConcurrencyControl {
 public:
  ConcurrencyControl(const ConcurrencyControl&) = delete;
  ConcurrencyControl& operator=(const ConcurrencyControl&) = delete;
  virtual ~ConcurrencyControl() = default;

  static void* operator new(std::size_t bytes) { return reactor::allocate_frame(bytes); }
  static void operator delete(void* place, std::size_t bytes) { reactor::free_frame(place, bytes); }

  Visibility& visibility() const { return *parts_.visibility; }
  // Null where the protocol has nothing to decide: a call that is not needed is not made.
  Locking* locking() const { return parts_.locking; }
  Validation* validation() const { return parts_.validation; }
  Timestamps* timestamps() const { return parts_.timestamps; }

  // --- commit ---
  // The conflicts of a write to an existing record that are known without a READ.
  virtual Status may_write(const Access& access) const = 0;
  // The stamp in the lock words of records, for a commit with that stamp.
  virtual layout::Stamp lock_stamp(layout::Stamp stamp) { return stamp; }

  // --- end ---
  // The transaction is over: `outcome` is its commit's, or the error that it met.
  virtual GenerationEnd end(std::uint64_t generation, const Status& outcome, bool wrote) = 0;

 protected:
  struct Parts {
    Visibility* visibility = nullptr;
    Locking* locking = nullptr;
    Validation* validation = nullptr;
    Timestamps* timestamps = nullptr;
  };
  ConcurrencyControl() = default;
  // Once, in the constructor. The parts belong to the object, and live as long as it does.
  void decide_by(const Parts& parts) { parts_ = parts; }

 private:
  Parts parts_;
};

}  // namespace namdb::protocol
