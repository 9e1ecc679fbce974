#include "memory/region/reservations.h"

#include <algorithm>
#include <iterator>

namespace namdb::memory {
namespace {

constexpr std::size_t kSmallReservation = 64;
constexpr std::uint64_t kFirstWords_bytes = 64;

}  // namespace

bool Reservations::zero(std::uint64_t offset, std::uint64_t length_bytes) const {
  for (std::uint64_t i = 0; i < length_bytes; i += 8) {
    if (region_.load(offset + i) != 0) return false;
  }
  return true;
}

bool Reservations::untouched(const SlabAllocator& slabs, std::uint64_t offset) const {
  return slabs.used(offset) && zero(offset, slabs.unit_bytes());
}

void Reservations::granted(const std::string& compute_id, std::uint32_t id, bool buckets,
                           const control::AllocateReply& reply) {
  const TablePointer table = tables_.find(id);
  if (!table) return;
  const SlabAllocator& slabs = buckets ? table->indirect : table->records;
  Reserved& reserved = reserved_[{id, buckets}];
  // Twice as many as after the last check: most will have been used. So each is checked about once.
  if (reserved.owners.size() > 2 * reserved.looked_at + kSmallReservation) {
    // A piece that is written to is not zero in its first words: most of them need no second look.
    std::erase_if(reserved.owners, [&](const auto& entry) {
      return !slabs.used(entry.first) || !zero(entry.first, kFirstWords_bytes);
    });
    reserved.looked_at = reserved.owners.size();
  }
  const std::string* const owner = &*computes_.insert(compute_id).first;
  for (const control::Range& range : reply.ranges()) {
    auto next = reserved.owners.lower_bound(range.offset());
    for (std::uint64_t i = 0; i < range.length_bytes(); i += slabs.unit_bytes())
      next = std::next(reserved.owners.insert_or_assign(next, range.offset() + i, owner));
  }
}

void Reservations::returned(std::uint32_t id, bool buckets, const std::vector<std::uint64_t>& offsets) {
  const auto found = reserved_.find({id, buckets});
  if (found == reserved_.end()) return;
  for (const std::uint64_t offset : offsets) found->second.owners.erase(offset);
}

bool Reservations::reserved(std::uint32_t id, bool buckets, std::uint64_t offset) const {
  const auto found = reserved_.find({id, buckets});
  return found != reserved_.end() && found->second.owners.contains(offset);
}

std::uint64_t Reservations::unused(std::uint32_t id, bool buckets) const {
  const auto found = reserved_.find({id, buckets});
  const TablePointer table = tables_.find(id);
  if (found == reserved_.end() || !table) return 0;
  const SlabAllocator& slabs = buckets ? table->indirect : table->records;
  // A piece that is written to is not zero in its first words.
  return static_cast<std::uint64_t>(std::ranges::count_if(found->second.owners, [&](const auto& piece) {
    return slabs.used(piece.first) && zero(piece.first, kFirstWords_bytes);
  }));
}

void Reservations::forget(std::uint32_t table) {
  reserved_.erase({table, false});
  reserved_.erase({table, true});
}

bool Reservations::holds(const std::string& compute_id) const {
  for (const auto& [key, reserved] : reserved_) {
    const TablePointer table = tables_.find(key.first);
    if (!table) continue;
    const SlabAllocator& slabs = key.second ? table->indirect : table->records;
    for (const auto& [offset, owner] : reserved.owners) {
      if (*owner == compute_id && untouched(slabs, offset)) return true;
    }
  }
  return false;
}

void Reservations::release(const std::set<std::string>& ended) {
  for (auto entry = reserved_.begin(); entry != reserved_.end();) {
    auto& [key, reserved] = *entry;
    const TablePointer table = tables_.find(key.first);
    SlabAllocator* slabs = nullptr;
    if (table) slabs = key.second ? &table->indirect : &table->records;
    std::erase_if(reserved.owners, [&](const auto& piece) {
      if (!ended.contains(*piece.second)) return false;
      if (slabs != nullptr && untouched(*slabs, piece.first)) slabs->free(piece.first);
      return true;
    });
    entry = reserved.owners.empty() ? reserved_.erase(entry) : std::next(entry);
  }
  for (const std::string& compute : ended) computes_.erase(compute);
}

}  // namespace namdb::memory
