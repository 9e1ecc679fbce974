// The header words that records had when a worker last saw them unlocked: for protocols that lock a record by
// a CAS in the same batch as its READ, and so must guess the header word. A wrong guess costs a round trip.
//
// A CAS may be posted only at an address that still is that record's: freed memory may hold anything since.
// Freed memory is used again only once this worker has acknowledged a reuse epoch that was raised after the
// memory was freed. The worker acknowledges an epoch only when all transactions that began before it learned
// of the epoch have ended. So a guess is good for transactions that began with as many epochs learned
// (TransactionRegistry::learned()) as the transaction that noted it. Not thread-safe; a worker's own.
//
// Where readers lease records (compute/protocol/drtm/read_leases.h), also the lease that was last seen there.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/layout/global_address.h"
#include "common/layout/stamp.h"

namespace namdb::protocol {

class HeaderGuesses {
 public:
  // 32 bytes each; a power of two.
  explicit HeaderGuesses(std::size_t places = 1U << 14) : entries_(places) {}

  void note(layout::GlobalAddress record, layout::HeaderWord unlocked, std::uint64_t learned) {
    Entry& entry = entries_[place(record)];
    if (entry.record != record.value || entry.learned != learned) entry.lease = 0;
    entry.record = record.value;
    entry.word = unlocked.value();
    entry.learned = learned;
  }
  // Notes the lease of a record whose header word is noted.
  void note_lease(layout::GlobalAddress record, std::uint64_t lease, std::uint64_t learned) {
    Entry& entry = entries_[place(record)];
    if (entry.record == record.value && entry.learned == learned) entry.lease = lease;
  }
  std::optional<layout::HeaderWord> find(layout::GlobalAddress record, std::uint64_t learned) const {
    const Entry& entry = entries_[place(record)];
    if (entry.record != record.value || entry.learned != learned || entry.word == 0) return std::nullopt;
    return layout::HeaderWord(entry.word);
  }
  // 0: none is known.
  std::uint64_t find_lease(layout::GlobalAddress record, std::uint64_t learned) const {
    const Entry& entry = entries_[place(record)];
    return entry.record == record.value && entry.learned == learned ? entry.lease : 0;
  }

 private:
  struct Entry {
    std::uint64_t record = 0;
    std::uint64_t word = 0;  // 0: nothing is known
    std::uint64_t learned = 0;
    std::uint64_t lease = 0;
  };
  std::size_t place(layout::GlobalAddress record) const {
    return (record.value * 0x9e3779b97f4a7c15ULL >> 32) & (entries_.size() - 1);
  }
  std::vector<Entry> entries_;
};

}  // namespace namdb::protocol
