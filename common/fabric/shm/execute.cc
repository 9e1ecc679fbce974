#include "common/fabric/shm/execute.h"

#include <cstring>

#include "common/fabric/region_words.h"

namespace namdb::fabric::shm {
namespace {

constexpr std::size_t kCacheLine_bytes = 64;
// Of one operation; the processor fetches the rest ahead by itself.
constexpr std::size_t kPrefetched_bytes = 4 * kCacheLine_bytes;

void prefetch(const std::byte* address, std::size_t length_bytes) {
  const std::size_t end = length_bytes < kPrefetched_bytes ? length_bytes : kPrefetched_bytes;
  for (std::size_t i = 0; i < end; i += kCacheLine_bytes) __builtin_prefetch(address + i);
}

}  // namespace

void execute(std::byte* region, std::span<const Operation> operations) {
  // The misses of a batch overlap: this is what a batch gains on this transport.
  if (operations.size() > 1) {
    for (const Operation& operation : operations)
      prefetch(region + operation.remote_offset, operation.length_bytes);
  }
  bool stored = false;
  for (const Operation& operation : operations) {
    std::byte* const target = region + operation.remote_offset;
    switch (operation.kind) {
      case OperationKind::read:
        if (stored) {
          std::atomic_thread_fence(std::memory_order_seq_cst);
          stored = false;
        }
        copy_from_region(operation.local, target, operation.length_bytes);
        break;
      case OperationKind::write:
        copy_to_region(target, operation.local, operation.length_bytes);
        stored = true;
        break;
      case OperationKind::compare_and_swap: {
        std::uint64_t old_value = operation.expected;
        region_word(target).compare_exchange_strong(old_value, operation.operand, std::memory_order_seq_cst);
        std::memcpy(operation.local, &old_value, 8);
        stored = true;
        break;
      }
      case OperationKind::fetch_add: {
        const std::uint64_t old_value =
            region_word(target).fetch_add(operation.operand, std::memory_order_seq_cst);
        std::memcpy(operation.local, &old_value, 8);
        stored = true;
        break;
      }
    }
#if defined(__x86_64__)
    // A locked instruction has drained the store buffer.
    if (operation.kind >= OperationKind::compare_and_swap) stored = false;
#endif
  }
  if (stored) std::atomic_thread_fence(std::memory_order_seq_cst);
}

void execute_to_end(std::byte* region, std::uint64_t region_bytes, std::span<const Operation> operations) {
  for (const Operation& operation : operations) {
    if (operation_fits(operation, region_bytes)) {
      execute(region, {&operation, 1});
    } else {
      copy_from_growing_region(operation.local, region, region_bytes, operation.remote_offset,
                               operation.length_bytes);
    }
  }
}

}  // namespace namdb::fabric::shm
