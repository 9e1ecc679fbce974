// Timestamps as text: microseconds since 2000-01-01 00:00:00, in the proleptic Gregorian calendar, without
// leap seconds. The one time zone is UTC.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "common/base/error.h"

namespace namdb::sql {

inline constexpr std::int64_t kTimestampInfinity = std::numeric_limits<std::int64_t>::max();
inline constexpr std::int64_t kTimestampMinusInfinity = std::numeric_limits<std::int64_t>::min();
// 1970-01-01 in microseconds since 2000-01-01.
inline constexpr std::int64_t kUnixEpoch_us = -946'684'800'000'000;

// ISO: "2024-02-29 13:05:00.25", with "+00" behind it for timestamptz.
void append_timestamp(std::string& out, std::int64_t timestamp_us, bool with_zone);

// ISO 8601 dates with an optional time, fraction and zone; epoch, infinity, -infinity, now, today. A zone is
// ignored for timestamp, as in PostgreSQL, and applied for timestamptz. invalid_datetime otherwise.
Result<std::int64_t> parse_timestamp(std::string_view text, bool with_zone, std::int64_t now_us);

}  // namespace namdb::sql
