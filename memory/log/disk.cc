#include "memory/log/disk.h"

#include <cstring>
#include <new>

#include "common/base/check.h"

namespace namdb::memory {

PageBuffer::PageBuffer(std::uint64_t length_bytes) : length_bytes_(length_bytes) {
  NAMDB_CHECK(length_bytes % kDiskPage_bytes == 0);
  bytes_.reset(static_cast<std::byte*>(::operator new(length_bytes, std::align_val_t{kDiskPage_bytes})));
  std::memset(bytes_.get(), 0, length_bytes);
}

void PageBuffer::Free::operator()(std::byte* bytes) const {
  ::operator delete(bytes, std::align_val_t{kDiskPage_bytes});
}

}  // namespace namdb::memory
