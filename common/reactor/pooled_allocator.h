// A standard allocator over the thread's free lists of coroutine frames (frame_pool.h): for the containers
// that a transaction makes and drops, so that one in steady state allocates nothing. As with frames, the
// thread that took memory gives it back.
#pragma once

#include <cstddef>
#include <deque>
#include <vector>

#include "common/reactor/frame_pool.h"

namespace namdb::reactor {

template <typename T>
struct PooledAllocator {
  static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
  using value_type = T;

  PooledAllocator() = default;
  template <typename U>
  PooledAllocator(const PooledAllocator<U>& /*other*/) noexcept {}  // NOLINT(google-explicit-constructor)

  T* allocate(std::size_t count) { return static_cast<T*>(allocate_frame(count * sizeof(T))); }
  void deallocate(T* place, std::size_t count) noexcept { free_frame(place, count * sizeof(T)); }

  friend bool operator==(const PooledAllocator& /*left*/, const PooledAllocator& /*right*/) { return true; }
};

template <typename T>
using PooledVector = std::vector<T, PooledAllocator<T>>;
template <typename T>
using PooledDeque = std::deque<T, PooledAllocator<T>>;

}  // namespace namdb::reactor
