#include "memory/reclaim/server_locks.h"

namespace namdb::memory {

reactor::Task<void> swap_words(fabric::Channel& loopback, std::vector<WordSwap>& swaps) {
  if (swaps.empty()) co_return;
  fabric::LocalBuffer old_values(loopback.pool(), 8 * swaps.size());
  fabric::Batch batch;
  for (std::size_t i = 0; i < swaps.size(); ++i) {
    batch.compare_and_swap(swaps[i].offset, swaps[i].expected, swaps[i].desired, old_values.data() + 8 * i);
  }
  loopback.post(batch);
  co_await batch.done();
  for (std::size_t i = 0; i < swaps.size(); ++i) {
    swaps[i].done = batch.status().ok() && old_values.word(i) == swaps[i].expected;
  }
}

reactor::Task<bool> swap_word(fabric::Channel& loopback, std::uint64_t offset, std::uint64_t expected,
                              std::uint64_t desired) {
  std::vector<WordSwap> swaps = {{offset, expected, desired}};
  co_await swap_words(loopback, swaps);
  co_return swaps.front().done;
}

}  // namespace namdb::memory
