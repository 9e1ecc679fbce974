// Memory that the system zeroes when it is touched: a region of which little is used costs little.
#pragma once

#include <sys/mman.h>

#include <cstdint>
#include <new>
#include <vector>

namespace namdb::sim {

template <typename T>
struct ZeroedAllocator {
  using value_type = T;
  ZeroedAllocator() = default;
  template <typename U>
  explicit ZeroedAllocator(const ZeroedAllocator<U>&) {}

  T* allocate(std::size_t count) {
    void* const memory =
        ::mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t count) { ::munmap(memory, count * sizeof(T)); }
  // The memory is zero already.
  template <typename U>
  void construct(U*) {}
  friend bool operator==(const ZeroedAllocator&, const ZeroedAllocator&) { return true; }
};

// Sized once.
using ZeroedWords = std::vector<std::uint64_t, ZeroedAllocator<std::uint64_t>>;

}  // namespace namdb::sim
