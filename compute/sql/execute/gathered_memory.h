// The memory in which one clause of a running statement gathers rows. It is bounded by itself, and together
// with that of all clients.
#pragma once

#include <absl/container/flat_hash_set.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "common/base/error.h"
#include "compute/sql/system/memory_budget.h"

namespace namdb::sql {

// The most memory of one clause.
inline constexpr std::size_t kMaxGathered_bytes = 512 << 20;

class GatheredMemory {
 public:
  // For messages; they outlive it. `use`: "ORDER BY can sort". `hint`: how else it can be done.
  GatheredMemory(std::string_view use, std::string_view hint) : use_(use), hint_(hint) {}

  // Before so many bytes more are gathered. `budget`: of all clients; null: none. Error out_of_memory.
  Status add(MemoryBudget* budget, std::size_t bytes);
  // So many of the bytes are gathered no more. The budget gets them back when the clause ends.
  void give_back(std::size_t bytes) { bytes_ -= bytes; }

 private:
  std::string_view use_;
  std::string_view hint_;
  std::size_t bytes_ = 0;
  MemoryShare share_;  // for what goes beyond a few
};

// Adds a value (compute/sql/value/equal_bytes.h) to those that were seen; `is_new`: it was not among them.
// `budget`: as of GatheredMemory::add().
Status add_seen(absl::flat_hash_set<std::string>& seen, std::string value, GatheredMemory& memory,
                MemoryBudget* budget, bool& is_new);

}  // namespace namdb::sql
