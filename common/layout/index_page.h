// Pages of a secondary index's B+-tree: fixed size, self-certifying, with fences and a link to the right.
//
//   0    checksum over 8..page_bytes, seeded with the page's address
//   8    index id (32 bits; 0 = the page is free), level (16 bits; 0 = leaf), number of entries (16 bits)
//   16   offset of the page to the right on the same level and server, 0 = none
//   24   lengths, 16 bits each: low fence; high fence (0xffff = there is none); prefix; offset where the heap
//        begins; bytes in the heap that no entry uses; then 6 zero bytes
//   40   offsets of the entries in the heap, 16 bits each, in key order
//   ..   unused
//   ..   heap: entries {length of the suffix (16 bits) | suffix | inner pages: offset of the child (64 bits)}
//   ..   high fence, low fence, up to the page's end
//
// A page holds the keys of [low fence, high fence); those begin with the common prefix of both fences, which
// entries leave out. In an inner page, entry i's child holds the keys from entry i's key up to the next one's
// or the high fence; entry 0's key is the low fence.
//
// Pages are WRITTEN by the memory server's thread alone, READ by anyone. A READ that certifies, for the index
// and a range that holds the wanted key, saw the page as it stood at some moment of that READ. Free pages do
// not certify, and their memory may be used again at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/layout/global_address.h"

namespace namdb::layout {

inline constexpr std::uint32_t kMinIndexPage_bytes = 512;
inline constexpr std::uint32_t kMaxIndexPage_bytes = 32 * 1024;

struct IndexPageHeader {
  std::uint64_t checksum;
  std::uint32_t index;
  std::uint16_t level;
  std::uint16_t count;
  std::uint64_t right_offset;
  std::uint16_t low_bytes;
  std::uint16_t high_bytes;
  std::uint16_t prefix_bytes;
  std::uint16_t heap_offset;
  std::uint16_t garbage_bytes;
  std::uint16_t zero[3];
};

inline constexpr std::uint32_t kIndexPageHeader_bytes = 40;
inline constexpr std::uint16_t kNoHighFence = 0xffff;

static_assert(sizeof(IndexPageHeader) == kIndexPageHeader_bytes);
static_assert(offsetof(IndexPageHeader, index) == 8);
static_assert(offsetof(IndexPageHeader, right_offset) == 16);
static_assert(offsetof(IndexPageHeader, low_bytes) == 24);
static_assert(offsetof(IndexPageHeader, zero) == 34);

// The longest key that an index with such pages takes: two fences and four entries fit, so that a split
// always leaves two pages that are within their size.
constexpr std::size_t max_index_key_bytes(std::uint32_t page_bytes) {
  return (page_bytes - kIndexPageHeader_bytes - 4 * 12) / 6;
}
static_assert(max_index_key_bytes(kMinIndexPage_bytes) >= 64);

// Reads a page whose bytes certify, or whose valid() was asked. The bytes stay; 8-byte aligned.
class IndexPageView {
 public:
  explicit IndexPageView(std::span<const std::byte> page) : page_(page) {}

  // True if the bytes are one image of the page at that address.
  bool certified(GlobalAddress address) const;
  // True if all offsets and lengths lie within the page and keys are in order, within the fences. Any bytes.
  bool valid() const;

  std::uint32_t index() const { return header().index; }
  std::uint16_t level() const { return header().level; }
  bool leaf() const { return level() == 0; }
  std::size_t count() const { return header().count; }
  std::uint64_t right_offset() const { return header().right_offset; }
  std::string_view low() const;
  std::optional<std::string_view> high() const;
  std::string_view prefix() const { return low().substr(0, header().prefix_bytes); }
  // True if the key lies between the fences.
  bool covers(std::string_view key) const;

  // Entry `i`'s key without the page's prefix, and with it.
  std::string_view suffix(std::size_t i) const;
  std::string key(std::size_t i) const;
  // Inner pages.
  std::uint64_t child(std::size_t i) const;
  // The first entry whose key is not below `key`; count() when there is none. Any key may be asked for.
  std::size_t lower_bound(std::string_view key) const;
  bool holds(std::size_t i, std::string_view key) const;
  // Inner pages: the entry whose child holds the key; the first one for a key below the low fence.
  std::size_t child_of(std::string_view key) const;

  // Bytes of header, fences, entries and their offsets.
  std::size_t used_bytes() const;

 private:
  const IndexPageHeader& header() const { return *reinterpret_cast<const IndexPageHeader*>(page_.data()); }
  std::size_t slot(std::size_t i) const;
  std::string_view text(std::size_t offset, std::size_t length) const {
    return {reinterpret_cast<const char*>(page_.data()) + offset, length};
  }
  std::span<const std::byte> page_;
};

struct IndexPageEntry {
  std::string key;
  std::uint64_t child = 0;
};

// The fields of a page besides its entries.
struct IndexPageFrame {
  std::uint32_t index = 0;
  std::uint16_t level = 0;
  std::uint64_t right_offset = 0;
  std::string low;
  std::optional<std::string> high;
};

IndexPageFrame index_page_frame(const IndexPageView& page);
std::vector<IndexPageEntry> index_page_entries(const IndexPageView& page);
// So many bytes have both keys in common at their beginnings.
std::size_t common_prefix(std::string_view left, std::string_view right);
// The bytes of an entry in a page of that level, without its key's suffix.
std::size_t index_entry_bytes(std::uint16_t level);
// The low fence of a page that begins with `first`, behind one that ends with `last`: of a leaf's key as much
// as tells it from the one before.
std::string index_separator(std::uint16_t level, std::string_view last, std::string_view first);

// Changes a page's image in private memory, 8-byte aligned; it certifies again once it is sealed.
class IndexPageWriter {
 public:
  explicit IndexPageWriter(std::span<std::byte> page) : page_(page) {}

  // Makes it a page with these entries, in key order. False when they do not fit; the bytes are then void.
  [[nodiscard]] bool build(const IndexPageFrame& frame, std::span<const IndexPageEntry> entries);
  // Puts an entry before entry `position`. False, with nothing changed, when it does not fit.
  [[nodiscard]] bool insert(std::size_t position, std::string_view key, std::uint64_t child = 0);
  void erase(std::size_t position);
  void seal(GlobalAddress address);

  IndexPageView view() const { return IndexPageView(page_); }

 private:
  IndexPageHeader& header() { return *reinterpret_cast<IndexPageHeader*>(page_.data()); }
  std::span<std::byte> page_;
};

}  // namespace namdb::layout
