// Where versions have timestamps, in the first page of every region, behind the region map:
//   1024  the forgotten timestamp: that of all rows and index entries which are not there any more
//   1032  floors, one for each table number modulo kTimestampFloors: a commit that writes to such a table
//         here, and does not have all its locks yet, gets a newer timestamp than this
// All are raised by CAS only.
#pragma once

#include <cstdint>

namespace namdb::layout {

inline constexpr std::uint64_t kForgottenTimestamp_offset = 1024;
inline constexpr std::size_t kTimestampFloors = 15;
// The length of all these words.
inline constexpr std::uint64_t kTimestampFloors_bytes = 8 * (1 + kTimestampFloors);

// Position of a table's floor among them; the forgotten timestamp is at 0.
inline constexpr std::uint32_t floor_of(std::uint32_t table) {
  return 1 + table % static_cast<std::uint32_t>(kTimestampFloors);
}
inline constexpr std::uint64_t timestamp_floor_offset(std::size_t position) {
  return kForgottenTimestamp_offset + 8 * position;
}

}  // namespace namdb::layout
