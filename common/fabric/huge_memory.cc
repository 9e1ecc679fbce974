#include "common/fabric/huge_memory.h"

#include <sys/mman.h>

#include <cstdint>

#include "common/base/check.h"

namespace namdb::fabric {
namespace {

constexpr std::size_t kHugePage_bytes = 2U << 20;

}  // namespace

std::byte* map_memory(std::size_t length_bytes) {
  // A mapping smaller than such a page cannot lie on one. All others have to begin where a page begins, which
  // the kernel does not ensure.
  const std::size_t spare_bytes = length_bytes < kHugePage_bytes ? 0 : kHugePage_bytes;
  void* mapped =
      ::mmap(nullptr, length_bytes + spare_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  NAMDB_CHECK(mapped != MAP_FAILED);
  auto* base = static_cast<std::byte*>(mapped);
  if (spare_bytes == 0) return base;
  const std::size_t before_bytes = -reinterpret_cast<std::uintptr_t>(base) % kHugePage_bytes;
  if (before_bytes != 0) ::munmap(base, before_bytes);
  base += before_bytes;
  if (before_bytes != spare_bytes) ::munmap(base + length_bytes, spare_bytes - before_bytes);
  ::madvise(base, length_bytes, MADV_HUGEPAGE);
  return base;
}

void unmap_memory(std::byte* base, std::size_t length_bytes) {
  ::munmap(base, length_bytes);
}

}  // namespace namdb::fabric
