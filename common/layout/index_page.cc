#include "common/layout/index_page.h"

#include <algorithm>
#include <cstring>

#include "common/base/check.h"
#include "common/base/checksum.h"

namespace namdb::layout {
namespace {

constexpr std::size_t kSlot_bytes = 2;
constexpr std::size_t kLength_bytes = 2;
constexpr std::size_t kChild_bytes = 8;

std::uint16_t load_half(const std::byte* at) {
  std::uint16_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

void store_half(std::byte* at, std::size_t value) {
  const auto half = static_cast<std::uint16_t>(value);
  std::memcpy(at, &half, sizeof half);
}

std::size_t entry_bytes(std::uint16_t level, std::size_t suffix_bytes) {
  return kLength_bytes + suffix_bytes + (level == 0 ? 0 : kChild_bytes);
}

std::uint64_t page_checksum(std::span<const std::byte> page, GlobalAddress address) {
  return checksum64(page.subspan(sizeof(std::uint64_t)), address.value);
}

void put(std::span<std::byte> page, std::size_t offset, std::string_view bytes) {
  if (!bytes.empty()) std::memcpy(page.data() + offset, bytes.data(), bytes.size());
}

}  // namespace

std::size_t common_prefix(std::string_view left, std::string_view right) {
  const std::size_t length = std::min(left.size(), right.size());
  return static_cast<std::size_t>(
      std::mismatch(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(length), right.begin()).first -
      left.begin());
}

std::size_t index_entry_bytes(std::uint16_t level) {
  return kSlot_bytes + entry_bytes(level, 0);
}

std::string index_separator(std::uint16_t level, std::string_view last, std::string_view first) {
  return std::string(level == 0 ? first.substr(0, common_prefix(first, last) + 1) : first);
}

bool IndexPageView::certified(GlobalAddress address) const {
  return header().index != 0 && header().checksum == page_checksum(page_, address);
}

std::string_view IndexPageView::low() const {
  return text(page_.size() - header().low_bytes, header().low_bytes);
}

std::optional<std::string_view> IndexPageView::high() const {
  const IndexPageHeader& head = header();
  if (head.high_bytes == kNoHighFence) return std::nullopt;
  return text(page_.size() - head.low_bytes - head.high_bytes, head.high_bytes);
}

bool IndexPageView::covers(std::string_view key) const {
  const auto bound = high();
  return key >= low() && (!bound || key < *bound);
}

std::size_t IndexPageView::slot(std::size_t i) const {
  return load_half(page_.data() + kIndexPageHeader_bytes + kSlot_bytes * i);
}

std::string_view IndexPageView::suffix(std::size_t i) const {
  const std::size_t at = slot(i);
  return text(at + kLength_bytes, load_half(page_.data() + at));
}

std::string IndexPageView::key(std::size_t i) const {
  std::string key(prefix());
  key += suffix(i);
  return key;
}

std::uint64_t IndexPageView::child(std::size_t i) const {
  const std::size_t at = slot(i);
  std::uint64_t child;
  std::memcpy(&child, page_.data() + at + kLength_bytes + load_half(page_.data() + at), sizeof child);
  return child;
}

std::size_t IndexPageView::lower_bound(std::string_view key) const {
  const std::string_view shared = prefix();
  const int order = key.substr(0, shared.size()).compare(shared);
  if (order != 0) return order < 0 ? 0 : count();
  key.remove_prefix(shared.size());
  std::size_t first = 0;
  std::size_t last = count();
  while (first < last) {
    const std::size_t middle = (first + last) / 2;
    if (suffix(middle) < key) {
      first = middle + 1;
    } else {
      last = middle;
    }
  }
  return first;
}

bool IndexPageView::holds(std::size_t i, std::string_view key) const {
  const std::string_view shared = prefix();
  return i < count() && key.starts_with(shared) && key.substr(shared.size()) == suffix(i);
}

std::size_t IndexPageView::child_of(std::string_view key) const {
  const std::size_t at = lower_bound(key);
  return holds(at, key) || at == 0 ? at : at - 1;
}

std::size_t IndexPageView::used_bytes() const {
  const IndexPageHeader& head = header();
  return kIndexPageHeader_bytes + kSlot_bytes * head.count + (page_.size() - head.heap_offset) -
         head.garbage_bytes;
}

bool IndexPageView::valid() const {
  const IndexPageHeader& head = header();
  const std::size_t high_bytes = head.high_bytes == kNoHighFence ? 0 : head.high_bytes;
  const std::size_t slots_end = kIndexPageHeader_bytes + kSlot_bytes * head.count;
  if (slots_end + head.low_bytes + high_bytes > page_.size()) return false;
  const std::size_t heap_end = page_.size() - head.low_bytes - high_bytes;
  if (head.heap_offset < slots_end || head.heap_offset > heap_end) return false;
  const auto bound = high();
  if (bound && *bound <= low()) return false;
  if (head.prefix_bytes != (bound ? common_prefix(low(), *bound) : 0)) return false;
  std::size_t in_entries = 0;
  for (std::size_t i = 0; i < head.count; ++i) {
    const std::size_t at = slot(i);
    if (at < head.heap_offset || at + kLength_bytes > heap_end) return false;
    const std::size_t bytes = entry_bytes(head.level, load_half(page_.data() + at));
    if (at + bytes > heap_end) return false;
    in_entries += bytes;
    if (i > 0 && suffix(i - 1) >= suffix(i)) return false;
  }
  if (in_entries + head.garbage_bytes != heap_end - head.heap_offset) return false;
  if (head.count == 0) return head.level == 0;
  if (head.level != 0 && key(0) != low()) return false;
  return covers(key(0)) && covers(key(head.count - 1U));
}

IndexPageFrame index_page_frame(const IndexPageView& page) {
  IndexPageFrame frame{page.index(), page.level(), page.right_offset(), std::string(page.low()), {}};
  if (const auto high = page.high()) frame.high = std::string(*high);
  return frame;
}

std::vector<IndexPageEntry> index_page_entries(const IndexPageView& page) {
  std::vector<IndexPageEntry> entries;
  entries.reserve(page.count() + 1);
  for (std::size_t i = 0; i < page.count(); ++i) {
    entries.push_back({page.key(i), page.leaf() ? 0 : page.child(i)});
  }
  return entries;
}

bool IndexPageWriter::build(const IndexPageFrame& frame, std::span<const IndexPageEntry> entries) {
  const std::size_t prefix_bytes = frame.high ? common_prefix(frame.low, *frame.high) : 0;
  std::size_t needed = kIndexPageHeader_bytes + frame.low.size() + (frame.high ? frame.high->size() : 0);
  for (const IndexPageEntry& entry : entries) {
    needed += kSlot_bytes + entry_bytes(frame.level, entry.key.size() - prefix_bytes);
  }
  if (needed > page_.size()) return false;
  std::ranges::fill(page_, std::byte{0});
  IndexPageHeader& head = header();
  head.index = frame.index;
  head.level = frame.level;
  head.right_offset = frame.right_offset;
  head.low_bytes = static_cast<std::uint16_t>(frame.low.size());
  head.high_bytes = frame.high ? static_cast<std::uint16_t>(frame.high->size()) : kNoHighFence;
  head.prefix_bytes = static_cast<std::uint16_t>(prefix_bytes);
  std::size_t at = page_.size() - frame.low.size();
  put(page_, at, frame.low);
  if (frame.high) put(page_, at -= frame.high->size(), *frame.high);
  head.heap_offset = static_cast<std::uint16_t>(at);
  for (const IndexPageEntry& entry : entries) {
    const bool fits = insert(head.count, entry.key, entry.child);
    NAMDB_CHECK(fits);
  }
  return true;
}

bool IndexPageWriter::insert(std::size_t position, std::string_view key, std::uint64_t child) {
  IndexPageHeader& head = header();
  const std::string_view suffix = key.substr(head.prefix_bytes);
  const std::size_t bytes = entry_bytes(head.level, suffix.size());
  const std::size_t slots_end = kIndexPageHeader_bytes + kSlot_bytes * (head.count + 1U);
  if (slots_end + bytes > head.heap_offset) {
    if (view().used_bytes() + kSlot_bytes + bytes > page_.size()) return false;
    const std::vector<IndexPageEntry> entries = index_page_entries(view());
    const bool fits = build(index_page_frame(view()), entries);
    NAMDB_CHECK(fits);
  }
  const std::size_t at = head.heap_offset - bytes;
  store_half(page_.data() + at, suffix.size());
  put(page_, at + kLength_bytes, suffix);
  if (head.level != 0) {
    std::memcpy(page_.data() + at + kLength_bytes + suffix.size(), &child, sizeof child);
  }
  std::byte* const slot = page_.data() + kIndexPageHeader_bytes + kSlot_bytes * position;
  std::memmove(slot + kSlot_bytes, slot, kSlot_bytes * (head.count - position));
  store_half(slot, at);
  head.heap_offset = static_cast<std::uint16_t>(at);
  ++head.count;
  return true;
}

void IndexPageWriter::erase(std::size_t position) {
  IndexPageHeader& head = header();
  std::byte* const slot = page_.data() + kIndexPageHeader_bytes + kSlot_bytes * position;
  head.garbage_bytes = static_cast<std::uint16_t>(
      head.garbage_bytes + entry_bytes(head.level, load_half(page_.data() + load_half(slot))));
  std::memmove(slot, slot + kSlot_bytes, kSlot_bytes * (head.count - position - 1));
  --head.count;
}

void IndexPageWriter::seal(GlobalAddress address) {
  header().checksum = page_checksum(page_, address);
}

}  // namespace namdb::layout
