// Lets the address sanitizer see into namdb's own pools: a freed buffer is poisoned, a handed-out one is
// addressable for exactly its length. No code without the sanitizer.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define NAMDB_ADDRESS_SANITIZER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define NAMDB_ADDRESS_SANITIZER
#endif
#endif

#ifdef NAMDB_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#endif

namespace namdb {

inline void poison([[maybe_unused]] const void* memory, [[maybe_unused]] std::size_t length_bytes) {
#ifdef NAMDB_ADDRESS_SANITIZER
  ASAN_POISON_MEMORY_REGION(memory, length_bytes);
#endif
}

inline void unpoison([[maybe_unused]] const void* memory, [[maybe_unused]] std::size_t length_bytes) {
#ifdef NAMDB_ADDRESS_SANITIZER
  ASAN_UNPOISON_MEMORY_REGION(memory, length_bytes);
#endif
}

}  // namespace namdb
