#include "compute/txn/place_order.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>

namespace namdb::protocol {
namespace {

// So few are sorted by comparisons, at once.
constexpr std::size_t kFew = 4096;
constexpr std::size_t kInTurn = std::size_t{64} << 10;
constexpr unsigned kDigit_bits = 11;
constexpr std::size_t kDigits = std::size_t{1} << kDigit_bits;
// Records begin on cache lines.
constexpr unsigned kLine_bits = 6;

}  // namespace

// By digits of the distance to the highest address, the last digit first: places need no comparisons then,
// and each pass reads and writes memory in streams.
reactor::Task<void> sort_places(reactor::Executor* executor, std::vector<RecordPlace>* places) {
  const std::size_t count = places->size();
  if (count <= kFew) {
    std::ranges::sort(*places, std::ranges::greater(),
                      [](const RecordPlace& place) { return place.record.value; });
    co_return;
  }
  const auto [low, high] =
      std::ranges::minmax_element(*places, {}, [](const RecordPlace& place) { return place.record.value; });
  const std::uint64_t last = high->record.value;
  const auto bits = std::bit_width((last - low->record.value) >> kLine_bits);
  std::vector<RecordPlace> sorted(count);
  for (unsigned shift = 0; shift < bits; shift += kDigit_bits) {
    const auto digit = [last, shift](const RecordPlace& place) {
      return ((last - place.record.value) >> (kLine_bits + shift)) % kDigits;
    };
    std::array<std::uint32_t, kDigits> next{};
    for (const RecordPlace& place : *places) ++next[digit(place)];
    std::uint32_t before = 0;
    for (std::uint32_t& position : next) {
      const std::uint32_t of_digit = position;
      position = before;
      before += of_digit;
    }
    co_await executor->yield();
    for (std::size_t begin = 0; begin < count; begin += kInTurn) {
      const std::size_t end = std::min(count, begin + kInTurn);
      for (std::size_t i = begin; i < end; ++i) {
        const RecordPlace& place = (*places)[i];
        sorted[next[digit(place)]++] = place;
      }
      co_await executor->yield();
    }
    places->swap(sorted);
  }
}

}  // namespace namdb::protocol
