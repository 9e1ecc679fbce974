// A B+-tree of byte strings in the region's pages (layout/index_page.h): one index's part on this server.
//
// The memory server's thread alone changes it and never suspends meanwhile, so every call is one step. Peers
// READ pages at any moment, also between the WRITEs of one change. The WRITEs are ordered so that every
// certified leaf holds all keys of its range that finished changes left there. A change that needs pages
// takes them all before it writes anything: a full region leaves the tree whole.
//
// An empty leaf is freed and its range goes to a neighbour, unless the neighbour's page cannot hold the new
// fences. Pages are not merged otherwise.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/layout/index_page.h"
#include "memory/region/region.h"
#include "memory/region/slab_allocator.h"

namespace namdb::memory {

// [low, high); no high: to the end.
struct KeyRange {
  std::string low;
  std::optional<std::string> high;
  bool covers(std::string_view key) const { return key >= low && (!high || key < *high); }
};

class BTree {
 public:
  struct Shape {
    std::uint32_t index = 0;
    std::uint32_t page_bytes = 0;  // a power of two, kMinIndexPage_bytes .. kMaxIndexPage_bytes
    KeyRange range;                // the keys that may be added
  };
  enum class Change : std::uint8_t { made, unchanged, full };
  // The last pages of a search: hints for peers that READ pages themselves.
  struct Place {
    std::uint64_t leaf_offset = 0;
    std::uint64_t parent_offset = 0;  // the inner page above it, 0 = there is none
  };

  // An empty tree; null when the region is full.
  static std::unique_ptr<BTree> create(Region& region, Shape shape);

  const Shape& shape() const { return shape_; }
  std::size_t max_key_bytes() const { return layout::max_index_key_bytes(shape_.page_bytes); }

  // Adds a key that is not there. It lies in the range and is at most max_key_bytes() long.
  Change add(std::string_view key);
  // From begin_adding() to end_adding(), which are in one step, keys are only added: keys that follow each
  // other in a leaf are written there together. A page is as it was until another leaf is needed, or the
  // end.
  void begin_adding() { adding_ = true; }
  void end_adding();
  // False when it was not there.
  bool remove(std::string_view key);
  bool contains(std::string_view key) const;
  // Calls `visit` for the keys of the range in ascending or descending order until it returns false. The
  // place is where the search began. `visit` changes nothing.
  Place scan(std::string_view low, std::optional<std::string_view> high, bool backward,
             const std::function<bool(std::string_view key)>& visit) const;
  // Wipes at most so many pages, so that no READ certifies there; false once none is left. Afterwards the
  // tree may only be destroyed; the destructor gives all memory back.
  bool wipe(std::uint32_t pages);

  std::uint64_t entries() const { return entries_; }
  std::uint32_t height() const { return height_; }  // 1: the root is a leaf
  std::uint64_t page_count() const { return pages_.used_count(); }
  const SlabAllocator& pages() const { return pages_; }
  // Describes the first fault of the tree; empty when it is consistent, every page certifies, and no page is
  // outside of it. Reads every page.
  std::string check() const;

 private:
  friend class BTreeLoader;
  struct Step {
    std::uint64_t offset = 0;
    std::size_t position = 0;  // of the child, or in the leaf of the first key that is not below
  };
  using Path = std::vector<Step>;  // from the root down
  struct Image {
    std::uint64_t offset = 0;
    std::vector<std::uint64_t> words;
  };

  BTree(Region& region, Shape shape);
  layout::IndexPageView view(std::uint64_t offset) const;
  layout::IndexPageWriter writer(Image& image) const;
  Image copy_of(std::uint64_t offset) const;
  Image empty_image(std::uint64_t offset) const;
  std::optional<Image> built(std::uint64_t offset, const layout::IndexPageFrame& frame,
                             std::span<const layout::IndexPageEntry> entries) const;
  Path descend(std::string_view key) const;
  // Seals the image and changes those words of the region that differ.
  void write(Image& image);
  // Whether the key has its place in the leaf that keys are added to.
  bool open_leaf_covers(std::string_view key) const;
  void write_open_leaf();
  void free_page(std::uint64_t offset);
  Change split(const Path& path, std::string_view key);
  // Splits `entries`, which do not fit the page, into two images.
  bool halve(const Step& step, const layout::IndexPageFrame& frame, std::uint64_t right_offset,
             std::span<const layout::IndexPageEntry> entries, std::vector<Image>& images,
             std::string& separator) const;
  // Gives the range of the empty leaf at the path's end to a neighbour, if that has room.
  void drop_leaf(const Path& path);
  bool join_left(const Path& path, std::size_t fork);
  bool join_right(const Path& path, std::size_t fork);
  void lower_root();
  std::string check_page(std::uint64_t offset, const KeyRange& range, std::uint32_t level,
                         std::vector<std::vector<std::uint64_t>>& levels) const;

  Region& region_;
  Shape shape_;
  SlabAllocator pages_;
  std::uint64_t root_offset_ = 0;
  std::uint32_t height_ = 1;
  std::uint64_t entries_ = 0;
  std::uint64_t wiped_ = 0;
  bool adding_ = false;
  std::optional<Image> open_leaf_;  // not written yet
};

}  // namespace namdb::memory
