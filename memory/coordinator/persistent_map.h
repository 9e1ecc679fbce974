// An ordered map whose copies share what they have in common. A copy costs nothing. A change of a copy makes
// new nodes on the path to the entry, as many as the tree is high. So a draft of the catalog costs what it
// changes, however large the catalog is.
//
// The interface follows std::map, but no entry changes in place: put() and edit() make another entry. A
// change of a map ends its iterators and references; a change of a copy does not. One thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/base/check.h"

namespace namdb::memory {

// An AVL tree.
template <typename Key, typename Value>
class PersistentMap {
 public:
  using value_type = std::pair<const Key, Value>;

 private:
  // Small entries lie in the nodes, others are shared by them.
  struct Inline {
    value_type value;
    const value_type& get() const { return value; }
  };
  struct Shared {
    std::shared_ptr<const value_type> value;
    const value_type& get() const { return *value; }
  };
  static constexpr bool kInline =
      std::is_trivially_copy_constructible_v<value_type> && sizeof(value_type) <= 24;
  using Entry = std::conditional_t<kInline, Inline, Shared>;
  struct Node;
  using Pointer = std::shared_ptr<const Node>;
  struct Node {
    Node(Entry node_entry, Pointer left_nodes, Pointer right_nodes)
        : entry(std::move(node_entry)), left(std::move(left_nodes)), right(std::move(right_nodes)) {
      height = 1 + std::max(height_of(left), height_of(right));
      size = 1 + size_of(left) + size_of(right);
    }
    const Key& key() const { return entry.get().first; }
    Entry entry;
    Pointer left;
    Pointer right;
    std::uint32_t height = 1;
    std::uint32_t size = 1;
  };

 public:
  class Iterator {
   public:
    using value_type = PersistentMap::value_type;
    using difference_type = std::ptrdiff_t;
    using pointer = const value_type*;
    using reference = const value_type&;
    using iterator_category = std::forward_iterator_tag;

    Iterator() = default;
    reference operator*() const { return path_.back()->entry.get(); }
    pointer operator->() const { return &path_.back()->entry.get(); }
    Iterator& operator++() {
      const Node* const node = path_.back();
      path_.pop_back();
      descend(node->right.get());
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++*this;
      return before;
    }
    friend bool operator==(const Iterator& left, const Iterator& right) {
      if (left.path_.empty() || right.path_.empty()) return left.path_.empty() == right.path_.empty();
      return left.path_.back() == right.path_.back();
    }

   private:
    friend class PersistentMap;
    // The entry, and above it those nodes whose own entries are still to come.
    void descend(const Node* node) {
      for (; node != nullptr; node = node->left.get()) path_.push_back(node);
    }
    std::vector<const Node*> path_;
  };
  using const_iterator = Iterator;

  bool empty() const { return root_ == nullptr; }
  std::size_t size() const { return size_of(root_); }
  Iterator begin() const {
    Iterator first;
    first.descend(root_.get());
    return first;
  }
  Iterator end() const { return {}; }
  // The first entry behind the key.
  Iterator upper_bound(const Key& key) const {
    Iterator found;
    for (const Node* node = root_.get(); node != nullptr;) {
      const bool is_behind = key < node->key();
      if (is_behind) found.path_.push_back(node);
      node = is_behind ? node->left.get() : node->right.get();
    }
    return found;
  }
  Iterator find(const Key& key) const {
    Iterator found;
    for (const Node* node = root_.get(); node != nullptr;) {
      if (node->key() < key) {
        node = node->right.get();
        continue;
      }
      found.path_.push_back(node);
      if (!(key < node->key())) return found;
      node = node->left.get();
    }
    return {};
  }
  // Null: there is none.
  const Value* get(const Key& key) const {
    for (const Node* node = root_.get(); node != nullptr;) {
      if (key < node->key()) {
        node = node->left.get();
      } else if (node->key() < key) {
        node = node->right.get();
      } else {
        return &node->entry.get().second;
      }
    }
    return nullptr;
  }
  bool contains(const Key& key) const { return get(key) != nullptr; }
  // The key exists.
  const Value& at(const Key& key) const {
    const Value* const found = get(key);
    NAMDB_CHECK(found != nullptr);
    return *found;
  }

  // A new entry, or in the place of the one with the key.
  void put(Key key, Value value) {
    if constexpr (kInline) {
      root_ = with(root_, Entry{{std::move(key), std::move(value)}});
    } else {
      root_ = with(root_, Entry{std::make_shared<const value_type>(std::move(key), std::move(value))});
    }
  }
  // False: it is not there.
  bool erase(const Key& key) {
    // Without the key's own node, which the caller's reference may be a part of.
    const Pointer before = root_;
    bool erased = false;
    root_ = without(root_, key, &erased);
    return erased;
  }
  void clear() { root_ = nullptr; }

 private:
  static std::uint32_t height_of(const Pointer& node) { return node == nullptr ? 0 : node->height; }
  static std::uint32_t size_of(const Pointer& node) { return node == nullptr ? 0 : node->size; }
  static Pointer make(Entry entry, Pointer left, Pointer right) {
    return std::make_shared<const Node>(std::move(entry), std::move(left), std::move(right));
  }
  // The heights of both sides differ by two at most.
  static Pointer balanced(const Entry& entry, Pointer left, Pointer right) {
    if (height_of(left) > height_of(right) + 1) {
      const Pointer inner = left->right;
      if (height_of(left->left) >= height_of(inner))
        return make(left->entry, left->left, make(entry, inner, std::move(right)));
      return make(inner->entry, make(left->entry, left->left, inner->left),
                  make(entry, inner->right, std::move(right)));
    }
    if (height_of(right) > height_of(left) + 1) {
      const Pointer inner = right->left;
      if (height_of(right->right) >= height_of(inner))
        return make(right->entry, make(entry, std::move(left), inner), right->right);
      return make(inner->entry, make(entry, std::move(left), inner->left),
                  make(right->entry, inner->right, right->right));
    }
    return make(entry, std::move(left), std::move(right));
  }
  static Pointer with(const Pointer& node, Entry added) {
    if (node == nullptr) return make(std::move(added), nullptr, nullptr);
    const Key& key = added.get().first;
    if (key < node->key()) return balanced(node->entry, with(node->left, std::move(added)), node->right);
    if (node->key() < key) return balanced(node->entry, node->left, with(node->right, std::move(added)));
    return make(std::move(added), node->left, node->right);
  }
  static Pointer without(const Pointer& node, const Key& key, bool* erased) {
    if (node == nullptr) return nullptr;
    if (key < node->key()) {
      Pointer left = without(node->left, key, erased);
      return *erased ? balanced(node->entry, std::move(left), node->right) : node;
    }
    if (node->key() < key) {
      Pointer right = without(node->right, key, erased);
      return *erased ? balanced(node->entry, node->left, std::move(right)) : node;
    }
    *erased = true;
    if (node->left == nullptr) return node->right;
    if (node->right == nullptr) return node->left;
    const Node* first = node->right.get();
    while (first->left != nullptr) first = first->left.get();
    bool moved = false;
    return balanced(first->entry, node->left, without(node->right, first->key(), &moved));
  }

  Pointer root_;
};

}  // namespace namdb::memory
