// Recognises the steps of a commit in the operations of a worker that runs the register workload.
#pragma once

#include <cstring>
#include <optional>
#include <span>

#include "common/base/checksum.h"
#include "common/layout/bucket.h"
#include "common/layout/journal.h"
#include "common/layout/record.h"
#include "common/layout/timestamp_vector.h"
#include "tools/namsim/mutants/mutant.h"
#include "tools/namsim/workloads/register_workload.h"

namespace namdb::sim {

class Look {
 public:
  explicit Look(Cluster& cluster)
      : vector_offset_(cluster.memory(0).server->region().map().vector_offset),
        vector_capacity_(cluster.memory(0).server->region().map().vector_capacity),
        record_(register_schema().row_bytes(), cluster.options().memory.ring_slots) {}

  std::uint64_t vector_offset() const { return vector_offset_; }
  const layout::RecordLayout& record() const { return record_; }

  // A READ of the timestamp vector.
  bool vector_read(const Posting& posting, const fabric::Operation& operation) const {
    return posting.server == 0 && operation.kind == fabric::OperationKind::read &&
           operation.remote_offset == vector_offset_ && operation.length_bytes > 8;
  }
  // The first of the two: alone in its batch, since nothing can be read before it.
  bool first_vector_read(const Posting& posting) const {
    return posting.asked.size() == 1 && vector_read(posting, posting.asked.front());
  }
  // A WRITE of a slot's word in the vector.
  bool publish(const Posting& posting, const fabric::Operation& operation) const {
    return posting.server == 0 && operation.kind == fabric::OperationKind::write &&
           operation.length_bytes == 8 &&
           operation.remote_offset >= vector_offset_ + layout::kVectorWords_offset &&
           operation.remote_offset < vector_offset_ + layout::vector_bytes(vector_capacity_);
  }
  // The commit whose journal entry is WRITTEN.
  static std::optional<layout::Stamp> journal(const fabric::Operation& operation) {
    if (operation.kind != fabric::OperationKind::write ||
        operation.length_bytes < layout::JournalWriter::kLeast_bytes)
      return std::nullopt;
    if (layout::load_word(operation.local) >> 32 != layout::kJournalMagic) return std::nullopt;
    return layout::HeaderWord(layout::load_word(operation.local + 8)).stamp();
  }
  // A copy of the journal entry that is WRITTEN there, for the posting's mutant to alter.
  static std::span<std::byte> copy_journal(Posting& posting, fabric::Operation& operation) {
    posting.buffers.emplace_back(*posting.pool, operation.length_bytes);
    std::byte* const copy = posting.buffers.back().data();
    std::memcpy(copy, operation.local, operation.length_bytes);
    operation.local = copy;
    return {copy, operation.length_bytes};
  }
  // Seals it for the place that it names.
  static void seal_journal(std::span<std::byte> entry, std::size_t server) {
    const auto place = layout::journal_entry_place(entry, static_cast<layout::ServerId>(server));
    const auto covered = entry.first(entry.size() - 8);
    layout::store_word(entry.data() + covered.size(), checksum64(covered, place->seed()));
  }
  // The CAS of a record's header word, or of a chain's lock word, with the READ of what it guards behind it.
  bool record_lock(const Posting& posting, std::size_t i) const {
    return lock(posting, i, record_.ring_header_offset(0), record_.ring_headers_bytes());
  }
  // The CAS of the header word of a record of any table.
  static bool any_record_lock(const Posting& posting, std::size_t i) {
    const auto& asked = posting.asked;
    return asked[i].kind == fabric::OperationKind::compare_and_swap && i + 1 < asked.size() &&
           asked[i + 1].kind == fabric::OperationKind::read &&
           asked[i + 1].remote_offset > asked[i].remote_offset &&
           asked[i + 1].length_bytes <= 8 * layout::kMaxRingSlots;
  }
  static bool chain_lock(const Posting& posting, std::size_t i) {
    return lock(posting, i, 0, layout::kBucket_bytes);
  }
  // The header WRITE that ends the installation of a record: behind the WRITE of the body.
  static bool install_end(const std::vector<fabric::Operation>& operations, std::size_t i) {
    return i > 0 && operations[i].kind == fabric::OperationKind::write && operations[i].length_bytes == 8 &&
           operations[i - 1].kind == fabric::OperationKind::write && operations[i - 1].length_bytes > 8 &&
           operations[i - 1].remote_offset == operations[i].remote_offset + 8;
  }
  // Where the slot's word stands in the vector; 0 if it has none.
  std::uint64_t vector_word(Cluster& cluster, std::uint32_t slot) const {
    for (std::uint64_t i = 0; i < vector_capacity_; ++i) {
      const std::uint64_t offset = vector_offset_ + layout::kVectorWords_offset + 8 * i;
      if (layout::HeaderWord(cluster.memory(0).words[offset / 8]).stamp().slot == slot) return offset;
    }
    return 0;
  }
  // Every slot in the vector.
  std::vector<std::uint32_t> slots(Cluster& cluster) const {
    std::vector<std::uint32_t> found;
    for (std::uint64_t i = 0; i < vector_capacity_; ++i) {
      const std::uint64_t offset = vector_offset_ + layout::kVectorWords_offset + 8 * i;
      const layout::Stamp stamp = layout::HeaderWord(cluster.memory(0).words[offset / 8]).stamp();
      if (!stamp.none()) found.push_back(stamp.slot);
    }
    return found;
  }

 private:
  static bool lock(const Posting& posting, std::size_t i, std::uint32_t offset, std::uint32_t length_bytes) {
    const auto& asked = posting.asked;
    return asked[i].kind == fabric::OperationKind::compare_and_swap && i + 1 < asked.size() &&
           asked[i + 1].kind == fabric::OperationKind::read &&
           asked[i + 1].remote_offset == asked[i].remote_offset + offset &&
           asked[i + 1].length_bytes == length_bytes;
  }

  std::uint64_t vector_offset_;
  std::uint64_t vector_capacity_;
  layout::RecordLayout record_;
};

}  // namespace namdb::sim
