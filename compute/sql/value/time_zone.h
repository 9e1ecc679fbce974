// Time zones, by the rules of the system's database, and what the meaning of times in text depends on.
#pragma once

#include <absl/time/time.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace namdb::sql {

// Copied freely.
struct TimeContext {
  std::int64_t now_us = 0;                    // of the text "now": µs since 2000-01-01 in UTC
  absl::TimeZone zone = absl::UTCTimeZone();  // of the session
};

// "Europe/Berlin", "UTC", "+02", "-3.5" (hours east of UTC), "<+02>-02"; nullopt: there is none of that name.
std::optional<absl::TimeZone> find_time_zone(std::string_view name);
// The name under which a zone that was found by `name` is shown: the database's, or "<+02>-02".
std::string zone_name(const absl::TimeZone& zone, std::string_view name);

// The clock in that zone at a moment of UTC, and the moment of UTC at which the clock shows a time: both in
// µs since 2000-01-01. A time that the clock skips is taken by its offset before, one that it shows twice by
// its offset after the change, as in PostgreSQL. Infinities stay.
std::int64_t local_of_utc(std::int64_t utc_us, const absl::TimeZone& zone);
std::int64_t utc_of_local(std::int64_t local_us, const absl::TimeZone& zone);
// Seconds east of UTC.
std::int64_t zone_offset_s(std::int64_t utc_us, const absl::TimeZone& zone);
// "CET".
std::string zone_abbreviation(std::int64_t utc_us, const absl::TimeZone& zone);
// "+02", "-03:30", "+00:19:32".
void append_zone_offset(std::string& out, std::int64_t offset_s);

}  // namespace namdb::sql
