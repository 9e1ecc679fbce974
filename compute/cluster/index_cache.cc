#include "compute/cluster/index_cache.h"

#include <algorithm>

namespace namdb::storage {
namespace {

// The memory that a key takes besides its bytes.
constexpr std::size_t kKeyOverhead_bytes = 48;

}  // namespace

std::vector<std::uint64_t> IndexCache::leaves(std::uint32_t index, std::string_view low,
                                              std::optional<std::string_view> high, bool descending,
                                              std::size_t most) const {
  std::vector<std::uint64_t> found;
  const auto known = indexes_.find(index);
  if (known == indexes_.end()) return found;
  const Pages& pages = known->second;
  const auto starts_below = [](std::string_view key, const Child& child) { return key < child.low; };
  if (!descending) {
    std::string_view from = low;
    auto page = pages.upper_bound(from);
    if (page == pages.begin()) return found;
    --page;
    while (true) {
      if (page->second.high && from >= *page->second.high) return found;
      const std::vector<Child>& children = page->second.children;
      auto child = std::upper_bound(children.begin(), children.end(), from, starts_below);
      if (child != children.begin()) --child;
      for (; child != children.end(); ++child) {
        if (found.size() == most || (high && !found.empty() && child->low >= *high)) return found;
        found.push_back(child->leaf_offset);
      }
      if (!page->second.high || ++page == pages.end() || page->first != *std::prev(page)->second.high)
        return found;
      from = page->first;
    }
  }
  auto page = high ? pages.lower_bound(*high) : pages.end();
  std::optional<std::string_view> end = high;
  while (page != pages.begin()) {
    --page;
    // The keys just below `end` must be this page's.
    if (page->second.high && (!end || *end > *page->second.high)) return found;
    const std::vector<Child>& children = page->second.children;
    auto child = children.end();
    if (end) {
      child = std::lower_bound(children.begin(), children.end(), *end,
                               [](const Child& one, std::string_view key) { return one.low < key; });
    }
    while (child != children.begin()) {
      --child;
      if (found.size() == most) return found;
      found.push_back(child->leaf_offset);
      if (child->low <= low) return found;
    }
    end = page->first;
  }
  return found;
}

void IndexCache::learn(const layout::IndexPageView& view) {
  Page page;
  if (view.high()) page.high = std::string(*view.high());
  for (std::size_t i = 0; i < view.count(); ++i) page.children.push_back({view.key(i), view.child(i)});
  insert(view.index(), std::string(view.low()), std::move(page));
}

void IndexCache::learn_leaf(std::uint32_t index, std::string_view low, std::optional<std::string_view> high,
                            std::uint64_t leaf_offset) {
  Page page;
  if (high) page.high = std::string(*high);
  page.children.push_back({std::string(low), leaf_offset});
  insert(index, std::string(low), std::move(page));
}

void IndexCache::insert(std::uint32_t index, std::string low, Page page) {
  if (page.children.empty()) return;
  page.bytes = low.size() + (page.high ? page.high->size() : 0) + 2 * kKeyOverhead_bytes;
  for (const Child& child : page.children) page.bytes += child.low.size() + kKeyOverhead_bytes;
  if (page.bytes > limit_bytes_) return;
  Pages& pages = indexes_[index];
  auto first = pages.upper_bound(low);
  if (first != pages.begin()) {
    const auto before = std::prev(first);
    if (!before->second.high || *before->second.high > low) first = before;
  }
  while (first != pages.end() && (!page.high || first->first < *page.high)) {
    used_bytes_ -= first->second.bytes;
    first = pages.erase(first);
  }
  if (used_bytes_ + page.bytes > limit_bytes_) {
    indexes_.clear();
    used_bytes_ = 0;
  }
  used_bytes_ += page.bytes;
  indexes_[index].emplace(std::move(low), std::move(page));
}

}  // namespace namdb::storage
