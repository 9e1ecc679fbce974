// A slab allocator: pieces of one size, carved from blocks. Pieces are the records of a table, its indirect
// buckets, the overflow entries of one length, an index's pages. The first block is small, each later one as
// large as all before it together, up to an extent; where the region has no such block left, a smaller one. A
// block that has no piece in use goes back.
//
// Knows exactly which pieces are handed out, so that an offset from outside can be checked. Private memory.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "memory/region/region.h"

namespace namdb::memory {

class SlabAllocator {
 public:
  // `unit_bytes` is a multiple of 8. With `zeroed`, pieces from memory that was used before are cleared when
  // the block is taken, and the caller clears a piece before it gives it back.
  SlabAllocator(Region& region, std::uint64_t unit_bytes, bool zeroed);
  SlabAllocator(const SlabAllocator&) = delete;
  SlabAllocator& operator=(const SlabAllocator&) = delete;
  ~SlabAllocator() { release_all(); }

  // nullopt when the region is full.
  std::optional<std::uint64_t> allocate();
  // `offset` is used().
  void free(std::uint64_t offset);
  // True if a piece that is handed out begins there. Any offset may be asked for.
  bool used(std::uint64_t offset) const;
  // The first used piece behind `offset`; 0 when there is none. 0 asks for the first of all.
  std::uint64_t next_used(std::uint64_t offset) const;
  // Gives back all blocks, whatever is in use.
  void release_all();

  // Those that hold the pieces, used or not.
  std::vector<Block> blocks() const;

  std::uint64_t unit_bytes() const { return unit_bytes_; }
  std::uint64_t used_count() const { return used_; }
  std::uint64_t used_bytes() const { return used_ * unit_bytes_; }
  std::uint64_t free_bytes() const { return (capacity_ - used_) * unit_bytes_; }
  // Of all blocks, with what is too small for a piece.
  std::uint64_t block_bytes() const { return block_bytes_; }

 private:
  struct Run {
    std::uint64_t bytes = 0;
    std::uint64_t units = 0;
    std::uint64_t used = 0;
    std::uint64_t hint = 0;           // no free piece below
    std::vector<std::uint64_t> bits;  // 1 = handed out
  };
  using Runs = std::map<std::uint64_t, Run>;  // by offset
  Runs::const_iterator find(std::uint64_t offset) const;
  // How long the next block should be, and must be.
  std::uint64_t wanted_bytes() const;
  std::uint64_t least_bytes() const;
  bool add_run();

  Region& region_;
  std::uint64_t unit_bytes_;
  bool zeroed_;
  Runs runs_;
  std::set<std::uint64_t> open_;  // runs with a free piece
  std::uint64_t used_ = 0;
  std::uint64_t capacity_ = 0;
  std::uint64_t block_bytes_ = 0;
};

}  // namespace namdb::memory
