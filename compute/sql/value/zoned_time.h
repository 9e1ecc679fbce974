// Times of day with the offset of a time zone (timetz), as a datum and a column have them: in one integer, in
// which such times are in PostgreSQL's order. That is the order of their times in UTC, and of equal ones that
// of their offsets, those in the east first.
#pragma once

#include <cstdint>

#include "compute/sql/value/calendar.h"
#include "compute/sql/value/time_zone.h"

namespace namdb::sql {

struct ZonedTime {
  std::int64_t time_us = 0;   // since midnight; 24:00 is one, too
  std::int64_t offset_s = 0;  // east of UTC, less than kMostZoneOffset_s in either direction
};

inline constexpr std::int64_t kMostZoneOffset_s = 16 * 3600;

inline constexpr std::int64_t kZonedTimeUnit = 1 << 18;

inline std::int64_t packed(const ZonedTime& time) {
  const std::int64_t utc_us = time.time_us - time.offset_s * kSecond_us;
  return utc_us * kZonedTimeUnit + kZonedTimeUnit / 2 - time.offset_s;
}

inline ZonedTime zoned_time(std::int64_t packed_time) {
  const std::int64_t utc_us = packed_time >> 18;
  const std::int64_t offset_s = kZonedTimeUnit / 2 - (packed_time & (kZonedTimeUnit - 1));
  return {utc_us + offset_s * kSecond_us, offset_s};
}

// The time that the zone's clock shows at a moment.
inline ZonedTime zoned_time_at(std::int64_t utc_us, const absl::TimeZone& zone) {
  return {day_time_of(local_of_utc(utc_us, zone)).time_us, zone_offset_s(utc_us, zone)};
}

// A time of the zone's clock, with its offset on that day.
inline ZonedTime zoned_time_on(std::int64_t days, std::int64_t time_us, const absl::TimeZone& zone) {
  const std::int64_t local_us = days * kDay_us + time_us;
  return {time_us, (local_us - utc_of_local(local_us, zone)) / kSecond_us};
}

// With the offset of the zone today.
inline ZonedTime zoned_time_today(std::int64_t time_us, const TimeContext& context) {
  const std::int64_t today = day_time_of(local_of_utc(context.now_us, context.zone)).days;
  return zoned_time_on(today, time_us, context.zone);
}

}  // namespace namdb::sql
