// A one-sided operation, as a batch holds it (fabric.h).
#pragma once

#include <cstddef>
#include <cstdint>

namespace namdb::fabric {

enum class OperationKind : std::uint8_t { read, write, compare_and_swap, fetch_add };

// One one-sided operation. Offsets and lengths are multiples of 8; an atomic has length 8.
struct Operation {
  OperationKind kind;
  bool fence;                   // wait for all earlier READs and atomics of this channel
  std::uint32_t length_bytes;   // READ and WRITE: multiple of 8, at least 8, at most kMaxOperation_bytes
  std::uint64_t remote_offset;  // within the server's region
  std::byte* local;        // registered. READ: destination; WRITE: source; atomics: receives the old value
  std::uint64_t operand;   // CAS: new value; FETCH-ADD: addend
  std::uint64_t expected;  // CAS only
};

}  // namespace namdb::fabric
