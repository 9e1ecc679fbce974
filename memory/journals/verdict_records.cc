#include "memory/journals/verdict_records.h"

#include "common/layout/words.h"

namespace namdb::memory {

using layout::store_word;

std::vector<std::byte> counters_record(std::uint32_t slot, std::span<const std::uint32_t> counters) {
  std::vector<std::byte> bytes(8 + 8 * counters.size());
  store_word(bytes.data(), slot);
  for (std::size_t i = 0; i < counters.size(); ++i) store_word(bytes.data() + 8 + 8 * i, counters[i]);
  return bytes;
}

std::array<std::byte, 8> end_record(std::uint32_t slot, std::uint32_t through) {
  std::array<std::byte, 8> bytes{};
  store_word(bytes.data(), (std::uint64_t{slot} << 32) | through);
  return bytes;
}

}  // namespace namdb::memory
