#include "common/fabric/local_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>

#include "common/base/address_sanitizer.h"
#include "common/base/check.h"
#include "common/fabric/huge_memory.h"

namespace namdb::fabric {
namespace {

constexpr std::size_t kSmallest_bytes = 64;
constexpr std::size_t kChunk_bytes = 4U << 20;

std::size_t class_of(std::size_t length_bytes) {
  const std::size_t rounded = std::bit_ceil(std::max(length_bytes, kSmallest_bytes));
  return static_cast<std::size_t>(std::countr_zero(rounded) - std::countr_zero(kSmallest_bytes));
}

}  // namespace

LocalPool::LocalPool(RegisterChunk register_chunk) : register_chunk_(std::move(register_chunk)) {}

LocalPool::~LocalPool() {
  for (const Chunk& chunk : chunks_) {
    unpoison(chunk.base, chunk.length_bytes);
    unmap_memory(chunk.base, chunk.length_bytes);
  }
}

void LocalPool::add_chunk(std::size_t length_bytes) {
  next_ = map_memory(length_bytes);
  end_ = next_ + length_bytes;
  chunks_.push_back({next_, length_bytes});
  poison(next_, length_bytes);
  if (register_chunk_) register_chunk_(next_, length_bytes);
}

std::byte* LocalPool::allocate(std::size_t length_bytes) {
  const std::size_t size_class = class_of(length_bytes);
  NAMDB_CHECK(size_class < kClasses);
  const std::size_t block_bytes = kSmallest_bytes << size_class;
  used_bytes_ += block_bytes;
  if (FreeBuffer* head = free_[size_class]; head != nullptr) {
    unpoison(head, sizeof *head);
    free_[size_class] = head->next;
    __builtin_prefetch(head->next);  // the next one will be asked what is behind it
    unpoison(head, length_bytes);
    return reinterpret_cast<std::byte*>(head);
  }
  if (static_cast<std::size_t>(end_ - next_) < block_bytes) add_chunk(std::max(kChunk_bytes, block_bytes));
  unpoison(next_, length_bytes);
  return std::exchange(next_, next_ + block_bytes);
}

void LocalPool::free(std::byte* buffer, std::size_t length_bytes) {
  const std::size_t size_class = class_of(length_bytes);
  used_bytes_ -= kSmallest_bytes << size_class;
  auto* node = reinterpret_cast<FreeBuffer*>(buffer);
  unpoison(node, sizeof *node);
  node->next = std::exchange(free_[size_class], node);
  poison(buffer, kSmallest_bytes << size_class);
}

void LocalPool::discard() {
  for (const Chunk& chunk : chunks_) ::madvise(chunk.base, chunk.length_bytes, MADV_DONTNEED);
  free_.fill(nullptr);
}

bool LocalPool::contains(const std::byte* buffer, std::size_t length_bytes) const {
  return std::any_of(chunks_.begin(), chunks_.end(), [&](const Chunk& chunk) {
    return buffer >= chunk.base && buffer + length_bytes <= chunk.base + chunk.length_bytes;
  });
}

}  // namespace namdb::fabric
