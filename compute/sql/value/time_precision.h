// Times with fewer digits of a second than the six that they are stored with: timestamp(3) and its like. The
// number of digits is the type's modifier, as PostgreSQL has it; -1: all. A column keeps it as its length,
// one higher; 0: all.
#pragma once

#include <cstdint>

#include "compute/sql/value/types.h"

namespace namdb::sql {

inline constexpr std::int32_t kMostTimeDigits = 6;

inline bool has_time_precision(TypeId id) {
  return id == TypeId::timestamp || id == TypeId::timestamptz || id == TypeId::time || id == TypeId::timetz;
}

// The value of such a type, rounded to the digits of the type; infinities stay.
std::int64_t at_precision(std::int64_t value, const Type& type);

}  // namespace namdb::sql
