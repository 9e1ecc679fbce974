// One-sided operations on mapped memory: where the contract's order comes from on this transport.
//
// WRITEs are release stores, READs acquire loads, atomics locked instructions. On x86, and everywhere by the
// C++ memory model, release stores of one thread become visible in their order, and loads are not reordered
// with later accesses. The contract asks for both. One case is left: a later READ (or any action after a
// completion) may overtake an earlier WRITE in the store buffer. So a full fence stands between a WRITE and
// any later READ or completion; a locked instruction is a full fence.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "common/base/error.h"
#include "common/fabric/fabric.h"

namespace namdb::fabric::shm {

// True if the operation is one that may be carried out on a region of that length.
inline bool operation_fits(const Operation& operation, std::uint64_t region_bytes) {
  const std::uint64_t length_bytes = operation.length_bytes;
  // One comparison for the usual mistake; the rest is cheap as well.
  return ((operation.remote_offset | length_bytes) & 7) == 0 && length_bytes != 0 &&
         length_bytes <= kMaxOperation_bytes && operation.remote_offset <= region_bytes &&
         length_bytes <= region_bytes - operation.remote_offset &&
         (operation.kind <= OperationKind::write || length_bytes == 8);
}

// The same for a READ of what the region has or may still get.
inline bool reads_growth(const Operation& operation, std::uint64_t capacity_bytes) {
  return operation.kind == OperationKind::read && operation_fits(operation, capacity_bytes);
}

// Carries the operations out, in order, and fences. All of them fit.
void execute(std::byte* region, std::span<const Operation> operations);
// The same when some only read growth.
void execute_to_end(std::byte* region, std::uint64_t region_bytes, std::span<const Operation> operations);

}  // namespace namdb::fabric::shm
