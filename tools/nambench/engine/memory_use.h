// Counts the memory that a thread takes and the bytes that it copies: for tests, into which it is linked with
// the options that its CMakeLists.txt names. Counts are exact, and do not depend on the machine or its load;
// which copies the compiler makes without a call of a function depends on the compiler.
#pragma once

#include <cstdint>

namespace namdb::nambench {

struct MemoryUse {
  std::uint64_t allocations = 0;   // from the heap, those that fill the pools included
  std::uint64_t pooled = 0;        // coroutine frames and containers of transactions (frame_pool.h)
  std::uint64_t buffers = 0;       // registered memory (local_pool.h)
  std::uint64_t copied_bytes = 0;  // by calls of memcpy() and memmove()

  MemoryUse operator-(const MemoryUse& before) const {
    return {allocations - before.allocations, pooled - before.pooled, buffers - before.buffers,
            copied_bytes - before.copied_bytes};
  }
};

// The memory use of the calling thread so far.
MemoryUse memory_use();

}  // namespace namdb::nambench
