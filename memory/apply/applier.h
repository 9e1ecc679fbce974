// Installs journal entries in this server's region: for commits whose owner is dead or has lost its
// connection, and for owners that ask for it by call (memory/calls/batch_call.cc). All other commits are
// installed by their compute servers. Redo after a restart is redo.h.
//
// The decider (memory/coordinator/decider.h) says which commits are installed without their owner. The owner
// is fenced here: a prefix of the operations that it posted has landed, and nothing more arrives. An item is
// guarded by its lock word. While the lock word is exactly the commit's own ⟨slot, counter, locked⟩, no other
// peer writes the bytes that the item covers, and the item is installed. Any other value means that the item
// was installed before. So an entry may be applied any number of times.
//
// The bytes under the lock are written by the CPU, a word at a time. The lock word itself is released by a
// CAS through the loopback channel, in the atomicity domain of the compute servers' CASes (fabric.h, 4),
// once the bytes are there.
//
// An entry is outside input: memory that its table does not have is neither read nor written.
#pragma once

#include <optional>
#include <vector>

#include "common/base/error.h"
#include "common/fabric/fabric.h"
#include "common/layout/journal.h"
#include "common/reactor/task.h"
#include "memory/reclaim/server_locks.h"
#include "memory/region/region.h"
#include "memory/region/tables.h"

namespace namdb::memory {

class Applier {
 public:
  Applier(const Region& region, const Tables& tables) : region_(region), tables_(tables) {}

  // Installs the entry's items that lie in this region, and releases their locks:
  //   update  the displaced version goes to its ring slot, unless that has it already; then the new body;
  //           then the header word
  //   chain   new records, except those that a bucket in memory names already: they were reachable, and
  //           others may have changed them since; then the buckets; then the lock word
  // Does nothing if the table was dropped. Errors: corrupt_data names the item that does not fit, and all
  // items before it are installed; connection_failure: the loopback channel has failed. `entry` already has
  // its items, also those that stood in a room.
  reactor::Task<Status> roll_forward(const layout::JournalEntry& entry, fabric::Channel& loopback) const;

 private:
  // The CAS that releases the lock word at the end; nullopt if the commit does not hold it.
  using Release = std::optional<WordSwap>;
  Result<Release> install(const layout::JournalItem& item, const layout::JournalEntry& entry) const;
  Result<Release> install_update(const layout::JournalItem& item, layout::Stamp lock) const;
  Result<Release> install_chain(const layout::JournalItem& item, layout::Stamp stamp) const;
  Status check_chain(const layout::JournalItem& item, const Table& table) const;
  // True if the bytes lie in one bucket of the table and do not touch its lock word.
  static bool within_bucket(const Table& table, std::uint64_t offset, std::uint64_t length_bytes);
  bool names_in_memory(const layout::JournalItem& item, const layout::JournalWrite& new_record) const;

  const Region& region_;
  const Tables& tables_;
};

}  // namespace namdb::memory
