// A small log of no database in particular, for tests that fill it.
#pragma once

#include "memory/log/log.h"

namespace namdb::memory::testing {

inline constexpr LogIdentity kIdentity{77, {1234, 0}};

inline LogOptions small_log_options() {
  LogOptions options;
  options.segment_bytes = 32U << 10;
  options.max_bytes = 512U << 10;
  options.max_block_bytes = 8U << 10;
  options.reserve_bytes = 8U << 10;
  return options;
}

}  // namespace namdb::memory::testing
