// A worker's copies of the pages of secondary indexes that lead to leaves: which leaf held a key once. They
// may be out of date: a reader checks the fences of the leaf that it READs, and learns the page again where
// they do not fit.
//
// Not thread-safe; belongs to its worker. Dropped with the connection: addresses are of one epoch.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/layout/index_page.h"

namespace namdb::storage {

class IndexCache {
 public:
  // All cached pages are dropped when they would take more than `limit_bytes`.
  explicit IndexCache(std::size_t limit_bytes) : limit_bytes_(limit_bytes) {}

  // Offsets of the leaves that hold the keys of [low, high), in the order of the keys, or backwards from the
  // end if `descending`. At most `most` of them, up to the first gap in the cached pages.
  std::vector<std::uint64_t> leaves(std::uint32_t index, std::string_view low,
                                    std::optional<std::string_view> high, bool descending,
                                    std::size_t most) const;
  // A page of level 1 that certified as one of that index. Replaces what overlaps it.
  void learn(const layout::IndexPageView& page);
  // The whole of a part of the index is one leaf.
  void learn_leaf(std::uint32_t index, std::string_view low, std::optional<std::string_view> high,
                  std::uint64_t leaf_offset);

  std::size_t used_bytes() const { return used_bytes_; }

 private:
  struct Child {
    std::string low;
    std::uint64_t leaf_offset = 0;
  };
  struct Page {
    std::optional<std::string> high;
    std::vector<Child> children;  // not empty
    std::size_t bytes = 0;
  };
  using Pages = std::map<std::string, Page, std::less<>>;  // by low fence

  void insert(std::uint32_t index, std::string low, Page page);

  std::size_t limit_bytes_;
  std::size_t used_bytes_ = 0;
  std::map<std::uint32_t, Pages> indexes_;
};

}  // namespace namdb::storage
