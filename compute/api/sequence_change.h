// The definition of a sequence, and a change of it: the options of CREATE SEQUENCE and ALTER SEQUENCE.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

namespace namdb::txn {

struct SequenceDefinition {
  std::int64_t increment = 1;
  std::int64_t least = 1;
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
  std::int64_t start = 1;
  std::int64_t block_numbers = 1;  // that a worker takes at once
  std::uint32_t value_bytes = 8;   // of its type: smallint, integer or bigint
  bool cycles = false;
};

// Options that are not given stay as they are, or are as for any new sequence.
struct SequenceChange {
  std::optional<std::uint32_t> value_bytes;
  std::optional<std::int64_t> increment;
  std::optional<std::int64_t> least;
  std::optional<std::int64_t> most;
  bool least_is_default = false;  // NO MINVALUE
  bool most_is_default = false;   // NO MAXVALUE
  std::optional<std::int64_t> start;
  std::optional<bool> cycles;
  std::optional<std::int64_t> block_numbers;  // CACHE
  bool restarts = false;
  std::optional<std::int64_t> restart;  // none: where it starts
};

}  // namespace namdb::txn
