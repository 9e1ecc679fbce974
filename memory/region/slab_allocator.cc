#include "memory/region/slab_allocator.h"

#include <algorithm>
#include <bit>

#include "common/base/check.h"

namespace namdb::memory {

SlabAllocator::SlabAllocator(Region& region, std::uint64_t unit_bytes, Pieces pieces, std::uint32_t table)
    : region_(region), unit_bytes_(unit_bytes), pieces_(pieces), table_(table) {
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

bool SlabAllocator::add_run(std::uint64_t grant) {
  const ExtentUse use = pieces_ == Pieces::records ? ExtentUse::records : ExtentUse::other;
  std::optional<Block> block;
  // Zeroed pieces belong to tables, which leave some extents to old versions.
  for (std::uint64_t bytes = wanted_bytes(); !block && bytes >= least_bytes(); bytes /= 2)
    block = region_.blocks().allocate(bytes, pieces_ != Pieces::plain, use);
  if (!block) return false;
  add_block(*block, grant);
  if (pieces_ == Pieces::records && region_.grants().log() != nullptr)
    region_.grants().log()->log_block({table_, block->offset, block->bytes, grant});
  return true;
}

void SlabAllocator::add_block(const Block& block, std::uint64_t taken) {
  if (pieces_ != Pieces::plain && block.dirty) region_.zero(block.offset, block.bytes);
  Run& added = runs_[block.offset];
  added.bytes = block.bytes;
  added.units = block.bytes / unit_bytes_;
  added.bits.assign((added.units + 63) / 64, 0);
  // Bits behind the last piece are never free.
  if (added.units % 64 != 0) added.bits.back() = ~std::uint64_t{0} << (added.units % 64);
  if (pieces_ == Pieces::records) {
    added.taken = taken;
    added.lives.assign(added.units, 0);
  }
  open_.insert(block.offset);
  capacity_ += added.units;
  block_bytes_ += added.bytes;
}

// The piece's bit was the other value.
void SlabAllocator::set_used(Runs::iterator found, std::uint64_t index, bool in_use) {
  Run& run = found->second;
  run.bits[index / 64] ^= std::uint64_t{1} << (index % 64);
  if (in_use) {
    ++run.used;
    ++used_;
    if (run.used == run.units) open_.erase(found->first);
  } else {
    run.hint = std::min(run.hint, index);
    --run.used;
    --used_;
    open_.insert(found->first);
  }
}

std::optional<std::uint64_t> SlabAllocator::allocate(std::uint64_t grant) {
  NAMDB_CHECK((grant != 0) == (pieces_ == Pieces::records));
  if (open_.empty() && !add_run(grant)) return std::nullopt;
  const std::uint64_t base = *open_.begin();
  const auto found = runs_.find(base);
  Run& run = found->second;
  std::uint64_t word = run.hint / 64;
  while (run.bits[word] == ~std::uint64_t{0}) ++word;
  const std::uint64_t index = word * 64 + static_cast<std::uint64_t>(std::countr_one(run.bits[word]));
  set_used(found, index, true);
  run.hint = index + 1;
  run.granted = std::max(run.granted, index + 1);
  const std::uint64_t offset = base + index * unit_bytes_;
  if (pieces_ == Pieces::records) {
    run.lives[index] = grant;
    region_.changed().mark(offset);
  }
  return offset;
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
  return run != runs_.end() && bit(run->second, index_of(run, offset));
}

void SlabAllocator::free(std::uint64_t offset) {
  NAMDB_CHECK(used(offset));
  const auto found = runs_.find(find(offset)->first);
  Run& run = found->second;
  const std::uint64_t index = index_of(found, offset);
  set_used(found, index, false);
  if (pieces_ == Pieces::records) region_.changed().mark(offset);
  // One open block is kept, so that a piece that comes and goes does not take and return it each time.
  if (run.used != 0 || open_.size() == 1) return;
  give_back(found);
}

void SlabAllocator::give_back(Runs::iterator run) {
  const auto& [offset, block] = *run;
  if (pieces_ == Pieces::records) {
    const std::uint64_t extent_bytes = region_.extents().extent_bytes();
    for (std::uint64_t begin = offset; begin < offset + block.bytes; begin += extent_bytes)
      region_.changed().mark(begin);
  }
  open_.erase(offset);
  used_ -= block.used;
  capacity_ -= block.units;
  block_bytes_ -= block.bytes;
  region_.blocks().free(offset, block.bytes);
  runs_.erase(run);
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

std::size_t SlabAllocator::used_behind(std::uint64_t offset, std::span<std::uint64_t> pieces) const {
  auto run = runs_.upper_bound(offset);
  if (run != runs_.begin() && offset != 0) --run;
  std::size_t found = 0;
  for (; run != runs_.end() && found != pieces.size(); ++run) {
    std::uint64_t index = offset < run->first ? 0 : (offset - run->first) / unit_bytes_ + 1;
    while (index < run->second.units && found != pieces.size()) {
      const std::uint64_t rest = run->second.bits[index / 64] >> (index % 64);
      if (rest == 0) {
        index = (index | 63) + 1;
        continue;
      }
      index += static_cast<std::uint64_t>(std::countr_zero(rest));
      if (index < run->second.units) pieces[found++] = run->first + index * unit_bytes_;
      ++index;
    }
  }
  return found;
}

std::vector<Block> SlabAllocator::blocks() const {
  std::vector<Block> blocks;
  for (const auto& [offset, run] : runs_) blocks.push_back({offset, run.bytes, true});
  return blocks;
}

void SlabAllocator::release_all() {
  while (!runs_.empty()) give_back(runs_.begin());
}

std::uint64_t SlabAllocator::last_grant(std::uint64_t offset) const {
  const auto run = find(offset);
  return run == runs_.end() || run->second.lives.empty() ? 0 : run->second.lives[index_of(run, offset)];
}

std::uint64_t SlabAllocator::life(std::uint64_t offset) const {
  const auto run = find(offset);
  if (run == runs_.end() || run->second.lives.empty()) return 0;
  const std::uint64_t index = index_of(run, offset);
  const std::uint64_t grant = run->second.lives[index];
  if (grant == 0) return run->second.taken - 1;
  if (!bit(run->second, index)) return grant;
  for (std::uint64_t i = 0; i < unit_bytes_; i += 8) {
    if (region_.load(offset + i) != 0) return grant;
  }
  return grant - 1;
}

std::optional<SlabAllocator::Place> SlabAllocator::next_granted(std::uint64_t offset,
                                                                std::uint64_t end) const {
  auto run = runs_.upper_bound(offset);
  if (run != runs_.begin()) --run;
  for (; run != runs_.end() && run->first < end; ++run) {
    std::uint64_t index = 0;
    if (offset > run->first) index = (offset - run->first + unit_bytes_ - 1) / unit_bytes_;
    while (index < run->second.granted && run->second.lives[index] == 0) ++index;
    if (index >= run->second.granted) continue;
    const std::uint64_t place = run->first + index * unit_bytes_;
    if (place >= end) return std::nullopt;
    return Place{block_of(run), place, run->second.lives[index], bit(run->second, index)};
  }
  return std::nullopt;
}

std::vector<RecordBlock> SlabAllocator::record_blocks() const {
  std::vector<RecordBlock> blocks;
  for (auto run = runs_.begin(); run != runs_.end(); ++run) blocks.push_back(block_of(run));
  return blocks;
}

bool SlabAllocator::claim_block(const RecordBlock& block) {
  NAMDB_CHECK(pieces_ == Pieces::records && block.table == table_);
  if (block.taken == 0 || block.bytes < unit_bytes_) return false;
  const auto claimed = region_.blocks().claim(block.offset, block.bytes);
  if (!claimed) return false;
  add_block(*claimed, block.taken);
  return true;
}

void SlabAllocator::release_block(std::uint64_t offset) {
  const auto run = runs_.find(offset);
  NAMDB_CHECK(run != runs_.end());
  give_back(run);
}

std::optional<RecordBlock> SlabAllocator::block_of(std::uint64_t offset) const {
  const auto run = find(offset);
  if (run == runs_.end()) return std::nullopt;
  return block_of(run);
}

void SlabAllocator::restore(std::uint64_t offset, std::uint64_t grant, bool in_use) {
  const auto found = runs_.find(find(offset)->first);
  Run& run = found->second;
  const std::uint64_t index = index_of(found, offset);
  run.lives[index] = grant;
  run.granted = std::max(run.granted, index + 1);
  region_.grants().pass(grant);
  if (bit(run, index) != in_use) set_used(found, index, in_use);
}

}  // namespace namdb::memory
