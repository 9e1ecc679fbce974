// The linker passes the calls of other files to functions here (--wrap), which count them and pass them on.
#include "tools/nambench/engine/memory_use.h"

#include <cstddef>
#include <cstdlib>
#include <new>

#include "common/fabric/local_pool.h"

namespace namdb::nambench {
namespace {

constinit thread_local MemoryUse use;

}  // namespace

MemoryUse memory_use() {
  return use;
}

}  // namespace namdb::nambench

// NOLINTBEGIN(bugprone-reserved-identifier): the linker's names.
extern "C" {

void* __real_memcpy(void* to, const void* from, std::size_t length_bytes);
void* __real_memmove(void* to, const void* from, std::size_t length_bytes);
// namdb::reactor::allocate_frame(std::size_t)
void* __real__ZN5namdb7reactor14allocate_frameEm(std::size_t bytes);
// namdb::fabric::LocalPool::allocate(std::size_t)
std::byte* __real__ZN5namdb6fabric9LocalPool8allocateEm(namdb::fabric::LocalPool* pool, std::size_t bytes);

void* __wrap_memcpy(void* to, const void* from, std::size_t length_bytes) {
  namdb::nambench::use.copied_bytes += length_bytes;
  return __real_memcpy(to, from, length_bytes);
}

void* __wrap_memmove(void* to, const void* from, std::size_t length_bytes) {
  namdb::nambench::use.copied_bytes += length_bytes;
  return __real_memmove(to, from, length_bytes);
}

void* __wrap__ZN5namdb7reactor14allocate_frameEm(std::size_t bytes) {
  ++namdb::nambench::use.pooled;
  return __real__ZN5namdb7reactor14allocate_frameEm(bytes);
}

std::byte* __wrap__ZN5namdb6fabric9LocalPool8allocateEm(namdb::fabric::LocalPool* pool, std::size_t bytes) {
  ++namdb::nambench::use.buffers;
  return __real__ZN5namdb6fabric9LocalPool8allocateEm(pool, bytes);
}

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier)

void* operator new(std::size_t bytes) {
  ++namdb::nambench::use.allocations;
  void* const memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void operator delete(void* memory) noexcept {
  std::free(memory);
}

void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
