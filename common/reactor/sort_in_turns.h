// Sorts many values without a turn that takes long: other coroutines have their turns in between.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

#include "common/reactor/executor.h"
#include "common/reactor/task.h"

namespace namdb::reactor {

// The number of values that a turn sorts or moves. So few are sorted at once, without a turn of others.
inline constexpr std::size_t kSortedInTurn = 8192;

// Sorts the values, a vector or a deque, so that none comes before the one in front of it. Nothing else
// touches them meanwhile.
template <typename Values, typename ComesBefore>
Task<void> sort_in_turns(Executor* executor, Values* values, ComesBefore comes_before) {
  const auto at = [values](std::size_t i) { return values->begin() + static_cast<std::ptrdiff_t>(i); };
  const std::size_t count = values->size();
  for (std::size_t begin = 0; begin < count; begin += kSortedInTurn) {
    std::sort(at(begin), at(std::min(count, begin + kSortedInTurn)), comes_before);
    if (count > kSortedInTurn) co_await executor->yield();
  }
  // Merges runs of doubling length.
  for (std::size_t width = kSortedInTurn; width < count; width *= 2) {
    Values merged;
    for (std::size_t begin = 0; begin < count; begin += 2 * width) {
      const std::size_t middle = std::min(count, begin + width);
      const std::size_t end = std::min(count, middle + width);
      std::size_t left = begin;
      std::size_t right = middle;
      while (left < middle || right < end) {
        const bool from_right = left == middle || (right < end && comes_before(*at(right), *at(left)));
        merged.push_back(std::move(*at(from_right ? right++ : left++)));
        if (merged.size() % kSortedInTurn == 0) co_await executor->yield();
      }
    }
    values->swap(merged);
  }
}

}  // namespace namdb::reactor
