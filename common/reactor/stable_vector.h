// Containers of a transaction, beside those of pooled_allocator.h: as a rule they have few elements, or none,
// and then no memory of their own. Their memory comes from the thread's free lists (frame_pool.h); the thread
// that adds elements removes them.
#pragma once

#include <absl/container/inlined_vector.h>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <iterator>
#include <new>
#include <type_traits>
#include <utility>

#include "common/reactor/frame_pool.h"
#include "common/reactor/pooled_allocator.h"

namespace namdb::reactor {

template <typename T, std::size_t few>
using PooledInlinedVector = absl::InlinedVector<T, few, PooledAllocator<T>>;

// Its elements stay where they are: each has memory of its own.
template <typename T>
class StableVector {
  static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);

  // Where the elements are.
  using Places = PooledInlinedVector<T*, 4>;

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
    explicit Iterator(T* const* place) : place_(place) {}
    template <typename Other>
      requires(std::is_const_v<Element> && std::is_same_v<Other, T>)
    Iterator(const Iterator<Other>& other) : place_(other.place()) {}  // NOLINT(google-explicit-constructor)
    T* const* place() const { return place_; }

    Element& operator*() const { return **place_; }
    Element* operator->() const { return *place_; }
    Element& operator[](difference_type i) const { return *place_[i]; }
    Iterator& operator++() { return *this += 1; }
    Iterator& operator--() { return *this -= 1; }
    Iterator operator++(int) { return Iterator(std::exchange(place_, place_ + 1)); }
    Iterator operator--(int) { return Iterator(std::exchange(place_, place_ - 1)); }
    Iterator& operator+=(difference_type count) {
      place_ += count;
      return *this;
    }
    Iterator& operator-=(difference_type count) { return *this += -count; }
    friend Iterator operator+(Iterator at, difference_type count) { return at += count; }
    friend Iterator operator+(difference_type count, Iterator at) { return at += count; }
    friend Iterator operator-(Iterator at, difference_type count) { return at -= count; }
    friend difference_type operator-(Iterator end, Iterator begin) { return end.place_ - begin.place_; }
    friend bool operator==(Iterator, Iterator) = default;
    friend auto operator<=>(Iterator, Iterator) = default;

   private:
    T* const* place_ = nullptr;
  };

 public:
  using value_type = T;
  using iterator = Iterator<T>;
  using const_iterator = Iterator<const T>;

  StableVector() = default;
  StableVector(StableVector&& other) noexcept : places_(std::exchange(other.places_, Places())) {}
  StableVector& operator=(StableVector&& other) noexcept {
    if (this == &other) return *this;
    clear();
    places_ = std::exchange(other.places_, Places());
    return *this;
  }
  ~StableVector() { clear(); }

  bool empty() const { return places_.empty(); }
  std::size_t size() const { return places_.size(); }
  T& operator[](std::size_t i) { return *places_[i]; }
  const T& operator[](std::size_t i) const { return *places_[i]; }
  T& front() { return *places_.front(); }
  T& back() { return *places_.back(); }
  const T& back() const { return *places_.back(); }
  iterator begin() { return iterator(places_.data()); }
  iterator end() { return iterator(places_.data() + places_.size()); }
  const_iterator begin() const { return const_iterator(places_.data()); }
  const_iterator end() const { return const_iterator(places_.data() + places_.size()); }

  template <typename... Arguments>
  T& emplace_back(Arguments&&... arguments) {
    T* const element = ::new (allocate_frame(sizeof(T))) T(std::forward<Arguments>(arguments)...);
    places_.push_back(element);
    return *element;
  }
  void push_back(T element) { emplace_back(std::move(element)); }
  void pop_front() {
    drop(places_.front());
    places_.erase(places_.begin());
  }
  void clear() {
    for (T* element : places_) drop(element);
    places_.clear();
  }
  // How many went.
  template <typename Predicate>
  std::size_t erase_if(const Predicate& predicate) {
    const auto rest = std::remove_if(places_.begin(), places_.end(), [&predicate](T* element) {
      const bool goes = predicate(std::as_const(*element));
      if (goes) drop(element);
      return goes;
    });
    const auto gone = static_cast<std::size_t>(places_.end() - rest);
    places_.erase(rest, places_.end());
    return gone;
  }

 private:
  static void drop(T* element) {
    element->~T();
    free_frame(element, sizeof(T));
  }

  Places places_;
};

}  // namespace namdb::reactor
