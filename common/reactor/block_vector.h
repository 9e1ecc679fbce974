// Many elements of a transaction, with stable addresses. They are added and dropped at the end, and lie in
// blocks of a fixed number; each block is one piece of memory of the thread's free lists (frame_pool.h). The
// thread that adds elements drops them. Where elements go from the middle as well: stable_vector.h.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <iterator>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "common/reactor/frame_pool.h"
#include "common/reactor/stable_vector.h"

namespace namdb::reactor {

template <typename T, std::size_t in_block>
class BlockVector {
  static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);

  using Blocks = PooledInlinedVector<T*, 4>;

  template <typename Element>
  class Iterator {
   public:
    using iterator_concept = std::random_access_iterator_tag;
    using iterator_category = std::random_access_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using reference = Element&;
    using pointer = Element*;

    Iterator() = default;
    Iterator(T* const* blocks, std::size_t at) : blocks_(blocks), at_(at) {}
    template <typename Other>
      requires(std::is_const_v<Element> && std::is_same_v<Other, T>)
    Iterator(const Iterator<Other>& other)  // NOLINT(google-explicit-constructor)
        : blocks_(other.blocks()), at_(other.at()) {}
    T* const* blocks() const { return blocks_; }
    std::size_t at() const { return at_; }

    Element& operator*() const { return blocks_[at_ / in_block][at_ % in_block]; }
    Element* operator->() const { return &**this; }
    Element& operator[](difference_type i) const { return *(*this + i); }
    Iterator& operator++() { return *this += 1; }
    Iterator& operator--() { return *this -= 1; }
    Iterator operator++(int) { return Iterator(blocks_, at_++); }
    Iterator operator--(int) { return Iterator(blocks_, at_--); }
    Iterator& operator+=(difference_type count) {
      at_ += static_cast<std::size_t>(count);
      return *this;
    }
    Iterator& operator-=(difference_type count) { return *this += -count; }
    friend Iterator operator+(Iterator at, difference_type count) { return at += count; }
    friend Iterator operator+(difference_type count, Iterator at) { return at += count; }
    friend Iterator operator-(Iterator at, difference_type count) { return at -= count; }
    friend difference_type operator-(Iterator end, Iterator begin) {
      return static_cast<difference_type>(end.at_) - static_cast<difference_type>(begin.at_);
    }
    friend bool operator==(Iterator left, Iterator right) { return left.at_ == right.at_; }
    friend auto operator<=>(Iterator left, Iterator right) { return left.at_ <=> right.at_; }

   private:
    T* const* blocks_ = nullptr;
    std::size_t at_ = 0;
  };

 public:
  using value_type = T;
  using iterator = Iterator<T>;
  using const_iterator = Iterator<const T>;

  BlockVector() = default;
  BlockVector(const BlockVector&) = delete;
  BlockVector& operator=(const BlockVector&) = delete;
  ~BlockVector() { clear(); }

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) { return blocks_[i / in_block][i % in_block]; }
  const T& operator[](std::size_t i) const { return blocks_[i / in_block][i % in_block]; }
  T& back() { return (*this)[size_ - 1]; }
  iterator begin() { return iterator(blocks_.data(), 0); }
  iterator end() { return iterator(blocks_.data(), size_); }
  const_iterator begin() const { return const_iterator(blocks_.data(), 0); }
  const_iterator end() const { return const_iterator(blocks_.data(), size_); }

  template <typename... Arguments>
  T& emplace_back(Arguments&&... arguments) {
    if (size_ == in_block * blocks_.size())
      blocks_.push_back(static_cast<T*>(allocate_frame(in_block * sizeof(T))));
    T* const element = ::new (&blocks_.back()[size_ % in_block]) T(std::forward<Arguments>(arguments)...);
    ++size_;
    return *element;
  }
  void pop_back() {
    std::destroy_at(&back());
    --size_;
    if (size_ % in_block == 0) drop_block();
  }
  void clear() {
    while (!empty()) pop_back();
  }
  // How many went. Those behind them take their places.
  template <typename Predicate>
  std::size_t erase_if(const Predicate& predicate) {
    const iterator rest = std::remove_if(begin(), end(), predicate);
    const auto gone = static_cast<std::size_t>(end() - rest);
    for (std::size_t i = 0; i < gone; ++i) pop_back();
    return gone;
  }

 private:
  void drop_block() {
    free_frame(blocks_.back(), in_block * sizeof(T));
    blocks_.pop_back();
  }

  // The last one has elements.
  Blocks blocks_;
  std::size_t size_ = 0;
};

}  // namespace namdb::reactor
