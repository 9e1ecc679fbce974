#include "memory/index/btree.h"

#include <algorithm>
#include <cstring>

#include "common/base/check.h"
#include "common/layout/record.h"

namespace namdb::memory {

using layout::IndexPageEntry;
using layout::IndexPageFrame;
using layout::IndexPageView;
using layout::IndexPageWriter;

BTree::BTree(Region& region, Shape shape)
    : region_(region), shape_(std::move(shape)), pages_(region, shape_.page_bytes, Pieces::zeroed) {}

std::unique_ptr<BTree> BTree::create(Region& region, Shape shape) {
  std::unique_ptr<BTree> tree(new BTree(region, std::move(shape)));
  const auto root = tree->pages_.allocate();
  if (!root) return nullptr;
  tree->root_offset_ = *root;
  const KeyRange& range = tree->shape_.range;
  auto image = tree->built(*root, {tree->shape_.index, 0, 0, range.low, range.high}, {});
  NAMDB_CHECK(image.has_value());
  tree->write(*image);
  return tree;
}

IndexPageView BTree::view(std::uint64_t offset) const {
  return IndexPageView({region_.at(offset), shape_.page_bytes});
}

IndexPageWriter BTree::writer(Image& image) const {
  return IndexPageWriter(std::as_writable_bytes(std::span(image.words)));
}

BTree::Image BTree::empty_image(std::uint64_t offset) const {
  return {offset, std::vector<std::uint64_t>(shape_.page_bytes / 8)};
}

BTree::Image BTree::copy_of(std::uint64_t offset) const {
  Image image = empty_image(offset);
  std::memcpy(image.words.data(), region_.at(offset), shape_.page_bytes);
  return image;
}

std::optional<BTree::Image> BTree::built(std::uint64_t offset, const IndexPageFrame& frame,
                                         std::span<const IndexPageEntry> entries) const {
  Image image = empty_image(offset);
  if (!writer(image).build(frame, entries)) return std::nullopt;
  return image;
}

void BTree::write(Image& image) {
  writer(image).seal(region_.address(image.offset));
  for (std::size_t i = 0; i < image.words.size(); ++i) {
    const std::uint64_t offset = image.offset + 8 * i;
    if (layout::load_word(region_.at(offset)) != image.words[i]) region_.store(offset, image.words[i]);
  }
}

void BTree::free_page(std::uint64_t offset) {
  region_.zero(offset, shape_.page_bytes);
  pages_.free(offset);
}

BTree::Path BTree::descend(std::string_view key) const {
  NAMDB_CHECK(!open_leaf_);
  Path path;
  std::uint64_t offset = root_offset_;
  for (IndexPageView page = view(offset); !page.leaf(); page = view(offset)) {
    path.push_back({offset, page.child_of(key)});
    offset = page.child(path.back().position);
  }
  path.push_back({offset, view(offset).lower_bound(key)});
  return path;
}

BTree::Change BTree::add(std::string_view key) {
  NAMDB_CHECK(shape_.range.covers(key) && key.size() <= max_key_bytes());
  if (open_leaf_ && open_leaf_covers(key)) {
    IndexPageWriter leaf = writer(*open_leaf_);
    const std::size_t position = leaf.view().lower_bound(key);
    if (leaf.view().holds(position, key)) return Change::unchanged;
    if (leaf.insert(position, key)) {
      ++entries_;
      return Change::made;
    }
  }
  write_open_leaf();
  const Path path = descend(key);
  const Step& leaf = path.back();
  if (view(leaf.offset).holds(leaf.position, key)) return Change::unchanged;
  Image image = copy_of(leaf.offset);
  if (!writer(image).insert(leaf.position, key)) return split(path, key);
  if (adding_) {
    open_leaf_ = std::move(image);
  } else {
    write(image);
  }
  ++entries_;
  return Change::made;
}

bool BTree::open_leaf_covers(std::string_view key) const {
  return IndexPageView(std::as_bytes(std::span(open_leaf_->words))).covers(key);
}

void BTree::write_open_leaf() {
  if (!open_leaf_) return;
  write(*open_leaf_);
  open_leaf_.reset();
}

void BTree::end_adding() {
  write_open_leaf();
  adding_ = false;
}

bool BTree::halve(const Step& step, const IndexPageFrame& frame, std::uint64_t right_offset,
                  std::span<const IndexPageEntry> entries, std::vector<Image>& images,
                  std::string& separator) const {
  const auto cut_at = [&](std::size_t cut) {
    separator = layout::index_separator(frame.level, entries[cut - 1].key, entries[cut].key);
    auto right = built(right_offset, {frame.index, frame.level, frame.right_offset, separator, frame.high},
                       entries.subspan(cut));
    auto left = built(step.offset, {frame.index, frame.level, right_offset, frame.low, separator},
                      entries.first(cut));
    if (!left || !right) return false;
    images.push_back(std::move(*right));
    images.push_back(std::move(*left));
    return true;
  };
  // Keys that come in ascending order leave full pages behind.
  if (step.position + 1 == entries.size() && cut_at(entries.size() - 1)) return true;
  // As near to the middle as entries allow: max_index_key_bytes() says why both halves fit.
  const std::size_t prefix_bytes = view(step.offset).prefix().size();
  const auto bytes_of = [&](std::size_t i) { return entries[i].key.size() - prefix_bytes + 12; };
  std::size_t total_bytes = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) total_bytes += bytes_of(i);
  std::size_t cut = 0;
  std::size_t left_bytes = 0;
  while (2 * left_bytes < total_bytes) left_bytes += bytes_of(cut++);
  if (2 * left_bytes - total_bytes > bytes_of(cut - 1)) --cut;
  return cut_at(std::clamp<std::size_t>(cut, 1, entries.size() - 1));
}

BTree::Change BTree::split(const Path& path, std::string_view key) {
  std::vector<Image> images;
  std::vector<std::uint64_t> taken;
  const auto take_page = [&] {
    const auto page = pages_.allocate();
    if (page) taken.push_back(*page);
    return page;
  };
  const auto give_up = [&] {
    for (const std::uint64_t page : taken) pages_.free(page);  // nothing was written there
    return Change::full;
  };
  IndexPageEntry added{std::string(key), 0};
  for (std::size_t depth = path.size(); depth > 0; --depth) {
    Step step = path[depth - 1];
    if (depth < path.size()) ++step.position;  // behind the child that was split
    Image image = copy_of(step.offset);
    if (writer(image).insert(step.position, added.key, added.child)) {
      images.push_back(std::move(image));
      break;
    }
    const IndexPageFrame frame = layout::index_page_frame(view(step.offset));
    auto entries = layout::index_page_entries(view(step.offset));
    entries.insert(entries.begin() + static_cast<std::ptrdiff_t>(step.position), std::move(added));
    const auto right = take_page();
    if (!right) return give_up();
    std::string separator;
    const bool halved = halve(step, frame, *right, entries, images, separator);
    NAMDB_CHECK(halved);
    added = {std::move(separator), *right};
    if (depth > 1) continue;
    const auto root = take_page();
    if (!root) return give_up();
    const std::vector<IndexPageEntry> children{{frame.low, step.offset}, std::move(added)};
    auto top =
        built(*root, {frame.index, static_cast<std::uint16_t>(frame.level + 1), 0, frame.low, frame.high},
              children);
    NAMDB_CHECK(top.has_value());
    images.push_back(std::move(*top));
    root_offset_ = *root;
    ++height_;
  }
  // From the leaves up, and of each pair the right page first: a page that leads to another leads to it
  // whole.
  for (Image& image : images) write(image);
  ++entries_;
  return Change::made;
}

bool BTree::remove(std::string_view key) {
  const Path path = descend(key);
  const Step& leaf = path.back();
  if (!view(leaf.offset).holds(leaf.position, key)) return false;
  Image image = copy_of(leaf.offset);
  writer(image).erase(leaf.position);
  write(image);
  --entries_;
  if (view(leaf.offset).count() == 0 && path.size() > 1) drop_leaf(path);
  return true;
}

bool BTree::contains(std::string_view key) const {
  const Path path = descend(key);
  return view(path.back().offset).holds(path.back().position, key);
}

void BTree::drop_leaf(const Path& path) {
  // The lowest page with another child besides the one that leads to the leaf.
  std::size_t fork = path.size() - 1;
  while (fork > 0 && view(path[fork - 1].offset).count() == 1) --fork;
  if (fork > 0) {
    const bool first = path[fork - 1].position == 0;
    if (!(first ? join_right(path, fork) : join_left(path, fork))) return;
  }
  lower_root();
}

bool BTree::join_left(const Path& path, std::size_t fork) {
  const Step& parent = path[fork - 1];
  std::vector<Image> images;
  std::uint64_t left = view(parent.offset).child(parent.position - 1);
  for (std::size_t depth = fork; depth < path.size(); ++depth) {
    const IndexPageView page = view(left);
    const IndexPageView gone = view(path[depth].offset);
    IndexPageFrame frame = layout::index_page_frame(page);
    frame.right_offset = gone.right_offset();
    frame.high = layout::index_page_frame(gone).high;
    auto image = built(left, frame, layout::index_page_entries(page));
    if (!image) return false;
    images.push_back(std::move(*image));
    if (!page.leaf()) left = page.child(page.count() - 1);
  }
  Image above = copy_of(parent.offset);
  writer(above).erase(parent.position);
  images.push_back(std::move(above));
  for (Image& image : images) write(image);
  for (std::size_t depth = fork; depth < path.size(); ++depth) free_page(path[depth].offset);
  return true;
}

bool BTree::join_right(const Path& path, std::size_t fork) {
  const Step& parent = path[fork - 1];
  std::vector<Image> images;
  std::vector<std::uint64_t> gone;
  std::uint64_t right = view(parent.offset).child(1);
  for (std::size_t depth = fork; depth < path.size(); ++depth) {
    // The page stays where its left neighbour's link finds it, and takes over the right one's contents.
    const IndexPageView page = view(right);
    IndexPageFrame frame = layout::index_page_frame(page);
    frame.low = std::string(view(path[depth].offset).low());
    auto entries = layout::index_page_entries(page);
    if (!page.leaf()) entries.front() = {frame.low, path[depth + 1].offset};
    auto image = built(path[depth].offset, frame, entries);
    if (!image) return false;
    images.push_back(std::move(*image));
    gone.push_back(right);
    if (!page.leaf()) right = page.child(0);
  }
  Image above = copy_of(parent.offset);
  writer(above).erase(1);
  images.push_back(std::move(above));
  for (Image& image : images) write(image);
  for (const std::uint64_t offset : gone) free_page(offset);
  return true;
}

void BTree::lower_root() {
  for (IndexPageView root = view(root_offset_); !root.leaf() && root.count() == 1;
       root = view(root_offset_)) {
    const std::uint64_t child = root.child(0);
    free_page(root_offset_);
    root_offset_ = child;
    --height_;
  }
}

BTree::Place BTree::scan(std::string_view low, std::optional<std::string_view> high, bool backward,
                         const std::function<bool(std::string_view)>& visit) const {
  NAMDB_CHECK(!open_leaf_);
  const auto place_of = [](const Path& path) {
    return Place{path.back().offset, path.size() > 1 ? path[path.size() - 2].offset : 0};
  };
  std::string key;
  const auto visit_entry = [&](const IndexPageView& page, std::size_t i) {
    key.assign(page.prefix());
    key += page.suffix(i);
    return visit(key);
  };
  if (!backward) {
    const Path path = descend(low);
    std::size_t i = path.back().position;
    for (std::uint64_t offset = path.back().offset; offset != 0; i = 0) {
      const IndexPageView page = view(offset);
      const std::size_t end = high ? page.lower_bound(*high) : page.count();
      for (; i < end; ++i) {
        if (!visit_entry(page, i)) return place_of(path);
      }
      const auto fence = page.high();
      if (!fence || (high && *high <= *fence)) break;
      offset = page.right_offset();
    }
    return place_of(path);
  }
  std::optional<Place> place;
  std::optional<std::string> bound;
  if (high) bound = std::string(*high);
  for (;;) {
    // The leaf of the greatest keys below the bound.
    Path path;
    std::uint64_t offset = root_offset_;
    for (IndexPageView page = view(offset); !page.leaf(); page = view(offset)) {
      const std::size_t below = bound ? page.lower_bound(*bound) : page.count();
      path.push_back({offset, below == 0 ? 0 : below - 1});
      offset = page.child(path.back().position);
    }
    path.push_back({offset, 0});
    if (!place) place = place_of(path);
    const IndexPageView page = view(offset);
    const std::size_t first = page.lower_bound(low);
    for (std::size_t i = bound ? page.lower_bound(*bound) : page.count(); i > first; --i) {
      if (!visit_entry(page, i - 1)) return *place;
    }
    if (page.low() <= low || page.low() <= shape_.range.low) return *place;
    bound = std::string(page.low());
  }
}

bool BTree::wipe(std::uint32_t pages) {
  for (; pages > 0; --pages) {
    wiped_ = pages_.next_used(wiped_);
    if (wiped_ == 0) return false;
    region_.zero(wiped_, shape_.page_bytes);
  }
  return true;
}

}  // namespace namdb::memory
