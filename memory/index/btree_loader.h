// Builds a B+-tree from keys in ascending order: pages are filled and written from left to right, each once,
// and the inner pages above them likewise. For a tree that no peer reads yet. Its pages, fences and links are
// those of any tree (btree.h), and it is changed like one afterwards.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "memory/index/btree.h"
#include "memory/region/region.h"

namespace namdb::memory {

class BTreeLoader {
 public:
  // A tenth of each page is left to keys that come later in between.
  static constexpr std::uint32_t kFill_percent = 90;

  // `fill_percent` of each page are filled, from 50 to 100.
  BTreeLoader(Region& region, BTree::Shape shape, std::uint32_t fill_percent = kFill_percent);

  // The next key; one that equals the last counts once. Errors out_of_memory; corrupt_data where it is below
  // the last one, too long, or not in the tree's range. After an error only destruction is left.
  Status add(std::string_view key);
  // The tree with all these keys; null when the region is full. Once.
  std::unique_ptr<BTree> finish();

 private:
  // The page of a level that is being filled.
  struct Level {
    std::uint64_t offset = 0;
    std::string low;
    std::vector<layout::IndexPageEntry> entries;
    std::size_t key_bytes = 0;
  };
  // The page would be fuller than it should with this key.
  bool crowded(std::size_t level, std::string_view key) const;
  bool add_entry(std::size_t level, layout::IndexPageEntry entry);
  // Writes a page with as many entries as fit and are below `next`, and begins another with the rest. False:
  // the region is full.
  bool close_page(std::size_t level, const std::string& next);
  bool close_last(std::size_t level);
  bool link(std::size_t level, std::string low, std::uint64_t offset);

  std::unique_ptr<BTree> tree_;
  std::size_t target_bytes_;
  std::deque<Level> levels_;
  std::string last_;
  std::uint64_t keys_ = 0;
  bool full_ = false;
};

}  // namespace namdb::memory
