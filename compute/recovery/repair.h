// Repair after a compute server died in mid-commit (NAM-DB §6.2). A dead slot leaves locks and unpublished
// installs; either would block writers for ever. One repairer for each dead slot, elected by memory server 0:
//
//   fence    the owner at every memory server (and all former repairers): no late WRITE of theirs can land
//   read     the slot's journal ring as a whole (common/layout/journal_ring.h), and the rooms that its
//            entries name; complete entries above the published counter were not finished
//   roll     each forward: a record or chain is touched only while its lock word is exactly ⟨s, c, locked⟩,
//   forward  so that a second repairer repeats nothing. A ring slot is refilled only if the body still
//            certifies as the displaced version and the slot does not.
//   publish  the highest counter rolled forward; then place the slot's word, where it is not on memory server
//            0 and the owner died before it had placed it, and close the slot
//
// A commit without a complete entry installed nothing. Its locks are found only by transactions that meet
// them: once the slot is closed, such a lock is undone by a CAS from exactly its value to the body's own
// stamp. So is a reader word, to 0: its transaction can do nothing any more, and the rows that it wrote are
// locked, or installed.
//
// A repair that fails is reported, and tried again when the slot is requested again; other repairs go on.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/layout/journal.h"
#include "common/reactor/executor.h"
#include "compute/cluster/batch_set.h"
#include "compute/txn/lock_resolver.h"
#include "compute/txn/worker_state.h"
#include "proto/control_types.h"

namespace namdb::protocol {

class Repair : public txn::LockResolver {
 public:
  // Receives, in words, why a slot could not be repaired: once as long as the reason stays the same.
  using ReportFailure = std::function<void(const std::string&)>;
  explicit Repair(txn::Cluster& cluster, ReportFailure report_failure = {})
      : cluster_(cluster), report_failure_(std::move(report_failure)) {}

  // Before the first transaction.
  void attach(txn::WorkerState& /*worker*/) {}
  void note(layout::GlobalAddress address, layout::HeaderWord word, std::uint32_t body_bytes) override;
  // Repairs every slot that waits for it. Several workers may do so at once. A slot that cannot be repaired
  // delays no other: the error is the first one's, and is reported already.
  reactor::Task<Status> repair_dead_slots();
  // Waits for tasks in the background; before destruction.
  reactor::Task<void> close();

  std::uint64_t slots_repaired() const { return slots_repaired_; }

 private:
  struct Sighting {
    std::uint64_t word = 0;
    std::uint64_t first_ns = 0;
    std::uint32_t body_bytes = 0;
    bool resolving = false;
  };
  reactor::Task<void> resolve(layout::GlobalAddress address);
  reactor::Task<Status> undo(layout::GlobalAddress address, layout::HeaderWord word,
                             std::uint32_t body_bytes);
  reactor::Task<Status> unlock(layout::GlobalAddress address, layout::HeaderWord from, layout::HeaderWord to);

  txn::Cluster& cluster_;
  ReportFailure report_failure_;
  std::map<std::uint64_t, Sighting> sightings_;
  reactor::Gate gate_;
  std::uint64_t slots_repaired_ = 0;
};

}  // namespace namdb::protocol
