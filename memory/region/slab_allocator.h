// A slab allocator: pieces of one size, carved from blocks. Pieces are the records of a table, its indirect
// buckets, the overflow entries of one length, an index's pages. The first block is small. Each later block
// is as large as all before it together, at most an extent, and smaller if the region has no such block left.
// A block without a piece in use goes back.
//
// Knows exactly which pieces are handed out, so that an offset from outside can be checked. Of places of
// records it also knows the *life* (grant_numbers.h): 8 bytes a place. Private memory; one executor's thread.
#pragma once

#include <absl/container/btree_map.h>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "memory/region/grant_numbers.h"
#include "memory/region/region.h"

namespace namdb::memory {

enum class Pieces : std::uint8_t {
  plain,    // whatever bytes they have
  zeroed,   // the caller clears a piece before it gives it back
  records,  // zeroed, and granted under numbers
};

class SlabAllocator {
 public:
  // `unit_bytes` is a multiple of 8. `table`: of records.
  SlabAllocator(Region& region, std::uint64_t unit_bytes, Pieces pieces, std::uint32_t table = 0);
  SlabAllocator(const SlabAllocator&) = delete;
  SlabAllocator& operator=(const SlabAllocator&) = delete;
  ~SlabAllocator() { release_all(); }

  // nullopt when the region is full. Records get a grant number: greater than that of any earlier call,
  // except calls for the same reply.
  std::optional<std::uint64_t> allocate(std::uint64_t grant = 0);
  // `offset` is used().
  void free(std::uint64_t offset);
  // True if a piece that is handed out begins there. Any offset may be asked for.
  bool used(std::uint64_t offset) const;
  // The first used piece behind `offset`; 0 when there is none. 0 asks for the first of all.
  std::uint64_t next_used(std::uint64_t offset) const;
  // The same for the first used pieces behind it, in ascending order: as many as there is room for, or all.
  std::size_t used_behind(std::uint64_t offset, std::span<std::uint64_t> pieces) const;
  // Gives back all blocks, whatever is in use.
  void release_all();

  // The blocks that hold the pieces, used or not.
  std::vector<Block> blocks() const;

  std::uint64_t unit_bytes() const { return unit_bytes_; }
  std::uint64_t used_count() const { return used_; }
  std::uint64_t used_bytes() const { return used_ * unit_bytes_; }
  std::uint64_t free_bytes() const { return (capacity_ - used_) * unit_bytes_; }
  // The bytes of all blocks, with rests that are too small for a piece.
  std::uint64_t block_bytes() const { return block_bytes_; }

  // --- lives of places of records ---
  // The number under which the place was granted last; 0 if never in its block, or if it is not a place.
  std::uint64_t last_grant(std::uint64_t offset) const;
  // A birth there, an entry that creates a record, is news only under a greater number. That is the last
  // grant, or one less while the place is handed out and still empty: its birth may be on the way. Where the
  // block never granted it, lives from before the block was taken are over. 0 where no place is.
  std::uint64_t life(std::uint64_t offset) const;
  struct Place {
    RecordBlock block;
    std::uint64_t offset = 0;
    std::uint64_t last_grant = 0;
    bool used = false;
  };
  // The first place at or behind `offset`, and before `end`, that was ever granted.
  std::optional<Place> next_granted(std::uint64_t offset, std::uint64_t end) const;
  std::vector<RecordBlock> record_blocks() const;

  // --- a region that opens: blocks and places are as they were before ---
  // Takes the block, with all places free and never granted. Its bytes are zero. False where something else
  // is, or if no such block can be.
  bool claim_block(const RecordBlock& block);
  // Gives back the block that begins there, whatever is in use; its places cease to exist.
  void release_block(std::uint64_t offset);
  // The block that holds the place; nullopt if no place begins there.
  std::optional<RecordBlock> block_of(std::uint64_t offset) const;
  // A place of block_of(). The caller fills in its bytes.
  void restore(std::uint64_t offset, std::uint64_t grant, bool in_use);

 private:
  struct Run {
    std::uint64_t bytes = 0;
    std::uint64_t units = 0;
    std::uint64_t used = 0;
    std::uint64_t hint = 0;            // no free piece below
    std::uint64_t taken = 0;           // RecordBlock::taken
    std::uint64_t granted = 0;         // no piece from here on was ever handed out
    std::vector<std::uint64_t> bits;   // 1 = handed out
    std::vector<std::uint64_t> lives;  // of records: last grants
  };
  using Runs = absl::btree_map<std::uint64_t, Run>;  // by offset; a new run moves others
  Runs::const_iterator find(std::uint64_t offset) const;
  std::uint64_t index_of(Runs::const_iterator run, std::uint64_t offset) const {
    return (offset - run->first) / unit_bytes_;
  }
  static bool bit(const Run& run, std::uint64_t index) {
    return (run.bits[index / 64] >> (index % 64) & 1) != 0;
  }
  RecordBlock block_of(Runs::const_iterator run) const {
    return {table_, run->first, run->second.bytes, run->second.taken};
  }
  // How long the next block should be, and must be.
  std::uint64_t wanted_bytes() const;
  std::uint64_t least_bytes() const;
  bool add_run(std::uint64_t grant);
  void add_block(const Block& block, std::uint64_t taken);
  void set_used(Runs::iterator found, std::uint64_t index, bool in_use);
  void give_back(Runs::iterator run);

  Region& region_;
  std::uint64_t unit_bytes_;
  Pieces pieces_;
  std::uint32_t table_;
  Runs runs_;
  std::set<std::uint64_t> open_;  // runs with a free piece
  std::uint64_t used_ = 0;
  std::uint64_t capacity_ = 0;
  std::uint64_t block_bytes_ = 0;
};

}  // namespace namdb::memory
