// The name of a lock, and how a session has it.
//
//   space   key                           lock
//   0       the number                    pg_advisory_lock(bigint)
//   1       both numbers                  pg_advisory_lock(int, int)
//   2 + t   the hash of the row's key     a row of the table with id t: two rows may share a lock
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>

#include "compute/api/table.h"

namespace namdb::txn {

struct LockName {
  std::int64_t space = 0;
  std::int64_t key = 0;
  friend auto operator<=>(const LockName&, const LockName&) = default;
};

// Each one contains those before it.
enum class LockMode : std::uint8_t { none, shared, exclusive };

inline LockName row_lock_name(const storage::Table& table, std::span<const std::byte> key) {
  constexpr std::int64_t kFirstTable = 2;
  return {kFirstTable + table.id, static_cast<std::int64_t>(table.hash_of(key))};
}

}  // namespace namdb::txn
