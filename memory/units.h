// Pieces of one size, carved from runs of extents: the records of a table, its indirect buckets, the
// overflow entries of one length. A run that has no piece in use goes back to the extents.
//
// Knows exactly which pieces are handed out, so that an offset from outside can be checked. Private memory.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "memory/region.h"

namespace namdb::memory {

class Units {
 public:
  // `unit_bytes` is a multiple of 8. With `zeroed`, pieces from extents that were used before are cleared
  // when the run is taken; a piece that comes back is cleared by whoever frees it.
  Units(Region& region, std::uint64_t unit_bytes, bool zeroed);
  Units(const Units&) = delete;
  Units& operator=(const Units&) = delete;
  ~Units() { release_all(); }

  // nullopt when the region is full.
  std::optional<std::uint64_t> allocate();
  // `offset` is used().
  void free(std::uint64_t offset);
  // True if a piece that is handed out begins there. Any offset may be asked for.
  bool used(std::uint64_t offset) const;
  // The first used piece behind `offset`; 0 when there is none. 0 asks for the first of all.
  std::uint64_t next_used(std::uint64_t offset) const;
  // Gives back all runs, whatever is in use.
  void release_all();

  // The runs of extents that hold the pieces, used or not.
  std::vector<ExtentRun> extent_runs() const;

  std::uint64_t unit_bytes() const { return unit_bytes_; }
  std::uint64_t used_count() const { return used_; }
  std::uint64_t used_bytes() const { return used_ * unit_bytes_; }
  std::uint64_t free_bytes() const { return (capacity_ - used_) * unit_bytes_; }
  // Extents taken, with what a run cannot use.
  std::uint64_t extent_bytes() const {
    return runs_.size() * run_extents_ * region_.extents().extent_bytes();
  }

 private:
  struct Run {
    std::uint64_t used = 0;
    std::uint64_t hint = 0;           // no free piece below
    std::vector<std::uint64_t> bits;  // 1 = handed out
  };
  using Runs = std::map<std::uint64_t, Run>;  // by offset
  Runs::const_iterator find(std::uint64_t offset) const;
  bool add_run();

  Region& region_;
  std::uint64_t unit_bytes_;
  bool zeroed_;
  std::uint64_t run_extents_;
  std::uint64_t units_per_run_;
  Runs runs_;
  std::set<std::uint64_t> open_;  // runs with a free piece
  std::uint64_t used_ = 0;
  std::uint64_t capacity_ = 0;
};

}  // namespace namdb::memory
