// Timestamps, dates and times of day as text. Timestamps are microseconds since 2000-01-01 00:00:00, dates
// are days since then, times of day microseconds since midnight.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/error.h"
#include "compute/sql/value/calendar.h"
#include "compute/sql/value/time_zone.h"
#include "compute/sql/value/zoned_time.h"

namespace namdb::sql {

// ISO: "2024-02-29 13:05:00.25".
void append_timestamp(std::string& out, std::int64_t timestamp_us);
// In the zone, with its offset: "2024-02-29 15:05:00.25+02".
void append_timestamp(std::string& out, std::int64_t utc_us, const absl::TimeZone& zone);
void append_date(std::string& out, std::int64_t days);
void append_time(std::string& out, std::int64_t time_us);

// ISO 8601 dates with an optional time, fraction and zone; epoch, infinity, -infinity, now, today. Errors
// invalid_datetime, datetime_out_of_range, invalid_zone_displacement.
// A zone in the text is ignored, as in PostgreSQL.
Result<std::int64_t> parse_timestamp(std::string_view text, const TimeContext& context);
// In UTC. Without a zone, the text is of the session's.
Result<std::int64_t> parse_timestamp_with_zone(std::string_view text, const TimeContext& context);
// A time in the text is ignored.
Result<std::int64_t> parse_date(std::string_view text, const TimeContext& context);
// "hh:mm[:ss[.ffffff]]", or what a timestamp has of it.
Result<std::int64_t> parse_time(std::string_view text, const TimeContext& context);

// The same with the offset of its zone: of the zone in the text, else of the session's, on the day that the
// text names, or today. A zone with other offsets at other times needs a day.
Result<ZonedTime> parse_time_with_zone(std::string_view text, const TimeContext& context);

// The midnight with which a day begins, and the day of a moment; infinities stay. Error
// datetime_out_of_range.
Result<std::int64_t> timestamp_of_date(std::int64_t days);
std::int64_t date_of_timestamp(std::int64_t timestamp_us);

// Errors datetime_out_of_range: PostgreSQL's types do not hold it.
Status check_timestamp(std::int64_t timestamp_us);
Status check_date(std::int64_t days);

}  // namespace namdb::sql
