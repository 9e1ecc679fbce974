// Dates that are compared with timestamps.
#pragma once

namespace namdb::sql {

// The `op` of the cast: a date beyond the range of timestamps comes behind all of them, and raises no error.
inline constexpr char kComparedDate = 'd';

}  // namespace namdb::sql
