// The locks that the memory server takes itself, as ⟨kCollectorSlot, fresh counter⟩: on bucket chains and
// records, by CAS through the loopback channel, in the atomicity domain of the compute servers' CASes. All
// users of these locks share one counter, so that no lock word ever has a value a second time.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/fabric/fabric.h"
#include "common/layout/stamp.h"
#include "common/reactor/task.h"

namespace namdb::memory {

class ServerLocks {
 public:
  // A stamp that no lock word had before; nullopt when the counters are used up.
  std::optional<layout::Stamp> next() {
    if (counter_ == layout::kMaxCounter) return std::nullopt;
    return layout::Stamp{layout::kCollectorSlot, ++counter_};
  }

 private:
  std::uint32_t counter_ = 0;
};

struct WordSwap {
  std::uint64_t offset = 0;
  std::uint64_t expected = 0;
  std::uint64_t desired = 0;
  bool done = false;  // the word was `expected` and is `desired` now
};

// All in one batch. Nothing is done when the loopback channel has failed.
reactor::Task<void> swap_words(fabric::Channel& loopback, std::vector<WordSwap>& swaps);
// True if the word was `expected` and is `desired` now.
reactor::Task<bool> swap_word(fabric::Channel& loopback, std::uint64_t offset, std::uint64_t expected,
                              std::uint64_t desired);

}  // namespace namdb::memory
