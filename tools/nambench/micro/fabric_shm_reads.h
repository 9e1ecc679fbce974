// `nambench fabric`, shared memory: the cost of a READ over the transport next to a plain copy. Both copy the
// same number of bytes from the same random places of the same region and pages. Everything runs in one
// process on one thread: on this transport the memory server's CPU has no part in a READ.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/base/error.h"

namespace namdb::nambench {

struct FabricReadOptions {
  std::size_t region_bytes = std::size_t{1} << 30;
  std::uint32_t length_bytes = 64;  // of one READ; a multiple of 8
  std::uint64_t reads = 4'000'000;
  int repetitions = 7;  // of each, alternating; the median counts
  std::uint64_t seed = 1;
};

// One way to read, in nanoseconds for each READ; the median.
struct FabricReadResult {
  double plain_ns = 0;
  double single_ns = 0;   // a batch of one, awaited
  double batched_ns = 0;  // batches of 16
  // A hash of the bytes that were read: equal for all three ways, and for equal options.
  std::uint64_t hash = 0;
};

Result<FabricReadResult> measure_shm_reads(const FabricReadOptions& options);

}  // namespace namdb::nambench
