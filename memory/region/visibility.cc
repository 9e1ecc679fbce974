#include "memory/region/visibility.h"

#include <algorithm>
#include <vector>

#include "common/layout/record.h"

namespace namdb::memory {

bool CopiedVisibility::learn(std::string_view vector_words) {
  if (vector_words.size() % 8 != 0) return false;
  std::vector<layout::Stamp> copy;
  for (std::size_t i = 0; i < vector_words.size(); i += 8) {
    const layout::HeaderWord word(
        layout::load_word(reinterpret_cast<const std::byte*>(vector_words.data()) + i));
    if (word.value() == 0) continue;
    if (word.locked() || word.moved() || word.deleted()) return false;
    copy.push_back(word.stamp());
  }
  last_copy_.clear();
  last_slot_ = 0;
  for (const layout::Stamp& stamp : copy) {
    std::uint32_t& known = counters_[stamp.slot];
    known = std::max(known, stamp.counter);
    last_copy_.insert(stamp.slot);
    last_slot_ = std::max(last_slot_, stamp.slot);
  }
  return true;
}

bool CopiedVisibility::published(layout::Stamp stamp) const {
  if (stamp.slot < layout::kFirstLeasedSlot) return true;
  const auto known = counters_.find(stamp.slot);
  if (known != counters_.end() && stamp.counter <= known->second) return true;
  return last_slot_ > stamp.slot && !last_copy_.contains(stamp.slot);
}

}  // namespace namdb::memory
