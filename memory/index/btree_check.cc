// Checks that a tree at rest is whole, for tests and for the checker of regions.
#include "memory/index/btree.h"

namespace namdb::memory {

using layout::IndexPageView;

std::string BTree::check_page(std::uint64_t offset, const KeyRange& range, std::uint32_t level,
                              std::vector<std::vector<std::uint64_t>>& levels) const {
  const std::string where = "index page " + std::to_string(offset);
  if (!pages_.used(offset)) return where + " is not one of the tree's";
  const IndexPageView page = view(offset);
  if (!page.certified(region_.address(offset))) return where + " does not certify";
  if (!page.valid()) return where + " is not valid";
  if (page.index() != shape_.index) return where + " belongs to another index";
  if (page.level() != level) return where + " stands on the wrong level";
  const auto high = page.high();
  if (page.low() != range.low || high.has_value() != range.high.has_value() ||
      (high && *high != *range.high)) {
    return where + " has other fences than its parent says";
  }
  levels[level].push_back(offset);
  if (page.leaf()) return {};
  for (std::size_t i = 0; i < page.count(); ++i) {
    const KeyRange part{page.key(i), i + 1 < page.count() ? std::optional(page.key(i + 1)) : range.high};
    if (std::string wrong = check_page(page.child(i), part, level - 1, levels); !wrong.empty()) return wrong;
  }
  return {};
}

std::string BTree::check() const {
  if (!pages_.used(root_offset_)) return "the root is not one of the tree's pages";
  std::vector<std::vector<std::uint64_t>> levels(height_);
  if (std::string wrong = check_page(root_offset_, shape_.range, height_ - 1, levels); !wrong.empty()) {
    return wrong;
  }
  std::uint64_t reached = 0;
  for (const auto& level : levels) {
    reached += level.size();
    for (std::size_t i = 0; i < level.size(); ++i) {
      const std::uint64_t right = i + 1 < level.size() ? level[i + 1] : 0;
      if (view(level[i]).right_offset() != right) {
        return "index page " + std::to_string(level[i]) + " has a wrong link to the right";
      }
    }
  }
  if (reached != pages_.used_count()) return "the tree has pages that its root does not lead to";
  std::uint64_t entries = 0;
  for (const std::uint64_t leaf : levels[0]) entries += view(leaf).count();
  if (entries != entries_) return "the tree counts " + std::to_string(entries_) + " entries";
  return {};
}

}  // namespace namdb::memory
