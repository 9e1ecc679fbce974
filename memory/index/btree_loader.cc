#include "memory/index/btree_loader.h"

#include <algorithm>
#include <utility>

#include "common/base/check.h"

namespace namdb::memory {
namespace {

Status no_room() {
  return Status(ErrorCode::out_of_memory, "the region has no room for the pages of an index");
}

}  // namespace

BTreeLoader::BTreeLoader(Region& region, BTree::Shape shape, std::uint32_t fill_percent)
    : tree_(new BTree(region, std::move(shape))),
      target_bytes_(std::size_t{tree_->shape().page_bytes} * fill_percent / 100) {
  NAMDB_CHECK(fill_percent >= 50 && fill_percent <= 100);
  const auto first = tree_->pages_.allocate();
  full_ = !first;
  if (first) levels_.push_back({*first, tree_->shape().range.low, {}, 0});
}

bool BTreeLoader::crowded(std::size_t level, std::string_view key) const {
  const Level& page = levels_[level];
  if (page.entries.size() < (level == 0 ? 1 : 2)) return false;
  const std::size_t count = page.entries.size() + 1;
  const std::size_t entry_bytes = layout::index_entry_bytes(static_cast<std::uint16_t>(level));
  const std::size_t saved_bytes = count * layout::common_prefix(page.low, key);
  return layout::kIndexPageHeader_bytes + page.low.size() + key.size() + count * entry_bytes +
             page.key_bytes + key.size() >
         target_bytes_ + saved_bytes;
}

Status BTreeLoader::add(std::string_view key) {
  if (full_) return no_room();
  if (keys_ != 0 && key == last_) return Status();
  if ((keys_ != 0 && key < last_) || key.size() > tree_->max_key_bytes() || !tree_->shape().range.covers(key))
    return Status(ErrorCode::corrupt_data, "a key of index " + std::to_string(tree_->shape().index) +
                                               " is too long, out of order, or in another part");
  last_ = key;
  ++keys_;
  full_ = !add_entry(0, {last_, 0});
  return full_ ? no_room() : Status();
}

bool BTreeLoader::add_entry(std::size_t level, layout::IndexPageEntry entry) {
  while (crowded(level, entry.key)) {
    if (!close_page(level, entry.key)) return false;
  }
  levels_[level].key_bytes += entry.key.size();
  levels_[level].entries.push_back(std::move(entry));
  return true;
}

bool BTreeLoader::link(std::size_t level, std::string low, std::uint64_t offset) {
  if (level == levels_.size()) {
    const auto page = tree_->pages_.allocate();
    if (!page) return false;
    levels_.push_back({*page, tree_->shape().range.low, {}, 0});
  }
  return add_entry(level, {std::move(low), offset});
}

bool BTreeLoader::close_page(std::size_t level, const std::string& next) {
  const auto right = tree_->pages_.allocate();
  if (!right) return false;
  Level& page = levels_[level];
  const std::span<const layout::IndexPageEntry> entries(page.entries);
  // All of them, unless a distant next key leaves the entries too little of a common prefix.
  std::size_t count = entries.size();
  std::string high = layout::index_separator(static_cast<std::uint16_t>(level), entries.back().key, next);
  auto image = tree_->built(page.offset,
                            {tree_->shape().index, static_cast<std::uint16_t>(level), *right, page.low, high},
                            entries);
  while (!image) {
    NAMDB_CHECK(--count > 0);
    high = layout::index_separator(static_cast<std::uint16_t>(level), entries[count - 1].key,
                                   entries[count].key);
    image = tree_->built(page.offset,
                         {tree_->shape().index, static_cast<std::uint16_t>(level), *right, page.low, high},
                         entries.first(count));
  }
  tree_->write(*image);
  std::string low = std::exchange(page.low, std::move(high));
  const std::uint64_t offset = std::exchange(page.offset, *right);
  page.entries.erase(page.entries.begin(), page.entries.begin() + static_cast<std::ptrdiff_t>(count));
  page.key_bytes = 0;
  for (const layout::IndexPageEntry& rest : page.entries) page.key_bytes += rest.key.size();
  return link(level + 1, std::move(low), offset);
}

bool BTreeLoader::close_last(std::size_t level) {
  while (true) {
    Level& page = levels_[level];
    auto image = tree_->built(
        page.offset,
        {tree_->shape().index, static_cast<std::uint16_t>(level), 0, page.low, tree_->shape().range.high},
        page.entries);
    if (image) {
      tree_->write(*image);
      return level + 1 == levels_.size() || link(level + 1, page.low, page.offset);
    }
    layout::IndexPageEntry last = std::move(page.entries.back());
    page.entries.pop_back();
    page.key_bytes -= last.key.size();
    const std::string next = last.key;
    if (!close_page(level, next)) return false;
    levels_[level].key_bytes += next.size();
    levels_[level].entries.push_back(std::move(last));
  }
}

std::unique_ptr<BTree> BTreeLoader::finish() {
  for (std::size_t level = 0; level < levels_.size() && !full_; ++level) full_ = !close_last(level);
  if (full_) return nullptr;
  tree_->root_offset_ = levels_.back().offset;
  tree_->height_ = static_cast<std::uint32_t>(levels_.size());
  tree_->entries_ = keys_;
  return std::move(tree_);
}

}  // namespace namdb::memory
