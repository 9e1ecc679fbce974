#include "memory/region/slab_allocator.h"

#include <algorithm>
#include <bit>

#include "common/base/check.h"

namespace namdb::memory {

SlabAllocator::SlabAllocator(Region& region, std::uint64_t unit_bytes, bool zeroed)
    : region_(region), unit_bytes_(unit_bytes), zeroed_(zeroed) {
  NAMDB_CHECK(unit_bytes >= 8 && unit_bytes % 8 == 0);
}

std::uint64_t SlabAllocator::least_bytes() const {
  return region_.blocks().block_bytes(unit_bytes_);
}

std::uint64_t SlabAllocator::wanted_bytes() const {
  const std::uint64_t extent_bytes = region_.extents().extent_bytes();
  std::uint64_t bytes = least_bytes();
  // Of each block less than an eighth is too small for a piece.
  while (bytes < extent_bytes && (bytes < block_bytes_ || bytes % unit_bytes_ > bytes / 8)) bytes *= 2;
  return bytes;
}

bool SlabAllocator::add_run() {
  std::optional<Block> block;
  // Zeroed pieces belong to tables, which leave some extents to old versions.
  for (std::uint64_t bytes = wanted_bytes(); !block && bytes >= least_bytes(); bytes /= 2)
    block = region_.blocks().allocate(bytes, zeroed_);
  if (!block) return false;
  if (zeroed_ && block->dirty) region_.zero(block->offset, block->bytes);
  Run& added = runs_[block->offset];
  added.bytes = block->bytes;
  added.units = block->bytes / unit_bytes_;
  added.bits.assign((added.units + 63) / 64, 0);
  // Bits behind the last piece are never free.
  if (added.units % 64 != 0) added.bits.back() = ~std::uint64_t{0} << (added.units % 64);
  open_.insert(block->offset);
  capacity_ += added.units;
  block_bytes_ += added.bytes;
  return true;
}

std::optional<std::uint64_t> SlabAllocator::allocate() {
  if (open_.empty() && !add_run()) return std::nullopt;
  const std::uint64_t base = *open_.begin();
  Run& run = runs_.find(base)->second;
  std::uint64_t word = run.hint / 64;
  while (run.bits[word] == ~std::uint64_t{0}) ++word;
  const std::uint64_t index = word * 64 + static_cast<std::uint64_t>(std::countr_one(run.bits[word]));
  run.bits[word] |= std::uint64_t{1} << (index % 64);
  run.hint = index + 1;
  ++run.used;
  ++used_;
  if (run.used == run.units) open_.erase(base);
  return base + index * unit_bytes_;
}

SlabAllocator::Runs::const_iterator SlabAllocator::find(std::uint64_t offset) const {
  auto found = runs_.upper_bound(offset);
  if (found == runs_.begin()) return runs_.end();
  --found;
  const std::uint64_t distance = offset - found->first;
  const bool begins = distance % unit_bytes_ == 0 && distance / unit_bytes_ < found->second.units;
  return begins ? found : runs_.end();
}

bool SlabAllocator::used(std::uint64_t offset) const {
  const auto run = find(offset);
  if (run == runs_.end()) return false;
  const std::uint64_t index = (offset - run->first) / unit_bytes_;
  return (run->second.bits[index / 64] >> (index % 64) & 1) != 0;
}

void SlabAllocator::free(std::uint64_t offset) {
  NAMDB_CHECK(used(offset));
  const auto found = runs_.find(find(offset)->first);
  Run& run = found->second;
  const std::uint64_t index = (offset - found->first) / unit_bytes_;
  run.bits[index / 64] &= ~(std::uint64_t{1} << (index % 64));
  if (index < run.hint) run.hint = index;
  --run.used;
  --used_;
  open_.insert(found->first);
  // One open block is kept, so that a piece that comes and goes does not take and return it each time.
  if (run.used != 0 || open_.size() == 1) return;
  open_.erase(found->first);
  capacity_ -= run.units;
  block_bytes_ -= run.bytes;
  region_.blocks().free(found->first, run.bytes);
  runs_.erase(found);
}

std::uint64_t SlabAllocator::next_used(std::uint64_t offset) const {
  auto run = runs_.upper_bound(offset);
  if (run != runs_.begin() && offset != 0) --run;
  for (; run != runs_.end(); ++run) {
    const std::uint64_t first = offset < run->first ? 0 : (offset - run->first) / unit_bytes_ + 1;
    for (std::uint64_t index = first; index < run->second.units; ++index) {
      const std::uint64_t rest = run->second.bits[index / 64] >> (index % 64);
      if (rest == 0) {
        index |= 63;
        continue;
      }
      index += static_cast<std::uint64_t>(std::countr_zero(rest));
      if (index < run->second.units) return run->first + index * unit_bytes_;
    }
  }
  return 0;
}

std::vector<Block> SlabAllocator::blocks() const {
  std::vector<Block> blocks;
  for (const auto& [offset, run] : runs_) blocks.push_back({offset, run.bytes, true});
  return blocks;
}

void SlabAllocator::release_all() {
  for (const auto& [offset, run] : runs_) region_.blocks().free(offset, run.bytes);
  runs_.clear();
  open_.clear();
  used_ = 0;
  capacity_ = 0;
  block_bytes_ = 0;
}

}  // namespace namdb::memory
