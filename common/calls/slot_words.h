// Counters and leased slots among the words of binary calls.
#pragma once

#include <cstdint>
#include <string_view>

#include "common/calls/word_stream.h"
#include "common/layout/stamp.h"

namespace namdb::calls {

inline bool take_counter(std::string_view& in, std::uint32_t& counter) {
  std::uint64_t word = 0;
  if (!take_word(in, word) || word > layout::kMaxCounter) return false;
  counter = static_cast<std::uint32_t>(word);
  return true;
}

// Takes the number of a slot that can be leased; false if there is none.
inline bool take_slot(std::string_view& in, std::uint32_t& slot) {
  std::uint64_t word = 0;
  if (!take_word(in, word) || word < layout::kFirstLeasedSlot || word > layout::kMaxSlot) return false;
  slot = static_cast<std::uint32_t>(word);
  return true;
}

}  // namespace namdb::calls
