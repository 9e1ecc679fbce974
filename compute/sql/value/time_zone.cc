#include "compute/sql/value/time_zone.h"

#include <absl/strings/ascii.h>
#include <absl/time/civil_time.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "compute/sql/value/calendar.h"
#include "compute/sql/value/characters.h"

namespace namdb::sql {
namespace {

constexpr std::int64_t kMostOffset_s = 168 * 3600;  // as PostgreSQL's SET TIME ZONE

std::int64_t seconds_of(std::int64_t timestamp_us) {
  const DayTime parts = day_time_of(timestamp_us);
  return parts.days * (kDay_us / kSecond_us) + parts.time_us / kSecond_us;
}

absl::Time moment_of(std::int64_t utc_us) {
  return absl::FromUnixSeconds(seconds_of(utc_us) - kUnixEpoch_us / kSecond_us);
}

std::optional<absl::TimeZone> fixed_zone(double hours) {
  const double offset_s = std::rint(hours * 3600);
  if (!(std::abs(offset_s) <= kMostOffset_s)) return std::nullopt;
  return absl::FixedTimeZone(static_cast<int>(offset_s));
}

// "hh[:mm[:ss]]" as seconds.
std::optional<std::int64_t> clock_seconds(std::string_view text) {
  std::int64_t total_s = 0;
  std::int64_t unit_s = 3600;
  while (unit_s != 0) {
    std::int64_t number = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || number < 0 || number > 168) return std::nullopt;
    total_s += number * unit_s;
    unit_s /= 60;
    text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
    if (text.empty()) return total_s;
    if (text.front() != ':') return std::nullopt;
    text.remove_prefix(1);
  }
  return std::nullopt;
}

// "<+02>-02": the name, then the hours west of UTC.
std::optional<absl::TimeZone> posix_zone(std::string_view name) {
  const std::size_t end = name.find('>');
  if (end == std::string_view::npos) return std::nullopt;
  std::string_view offset = name.substr(end + 1);
  const bool east = offset.starts_with('-');
  if (east || offset.starts_with('+')) offset.remove_prefix(1);
  const std::optional<std::int64_t> west_s = clock_seconds(offset);
  if (!west_s || *west_s > kMostOffset_s) return std::nullopt;
  return absl::FixedTimeZone(static_cast<int>(east ? *west_s : -*west_s));
}

// "america/new_york" as the database spells it: "America/New_York".
std::string with_capitals(std::string name) {
  bool begins = true;
  for (char& c : name) {
    if (begins) c = in_upper_case({&c, 1})[0];
    begins = c == '/' || c == '_' || c == '-';
  }
  return name;
}

}  // namespace

std::optional<absl::TimeZone> find_time_zone(std::string_view name) {
  if (name.empty()) return std::nullopt;
  if (name.front() == '<') return posix_zone(name);
  if (name.front() == '+' || name.front() == '-' || (name.front() >= '0' && name.front() <= '9')) {
    double hours = 0;
    const std::string_view digits = name.front() == '+' ? name.substr(1) : name;
    const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), hours);
    if (error == std::errc() && stop == digits.data() + digits.size()) return fixed_zone(hours);
    const bool west = name.front() == '-';
    const std::optional<std::int64_t> offset_s = clock_seconds(west ? name.substr(1) : digits);
    if (!offset_s || *offset_s > kMostOffset_s) return std::nullopt;
    // With minutes it is POSIX's, and counts west of UTC; without them it counts east.
    return absl::FixedTimeZone(static_cast<int>(west ? *offset_s : -*offset_s));
  }
  const std::string lower = in_lower_case(name);
  if (lower == "utc" || lower == "gmt" || lower == "z" || lower == "zulu" || lower == "default")
    return absl::UTCTimeZone();
  // Names of files below a directory, not paths.
  if (name.front() == '/' || name.find("..") != std::string_view::npos ||
      name.find(':') != std::string_view::npos || lower.starts_with("fixed/") || lower == "localtime")
    return std::nullopt;
  absl::TimeZone zone;
  if (absl::LoadTimeZone(std::string(name), &zone) || absl::LoadTimeZone(with_capitals(lower), &zone) ||
      absl::LoadTimeZone(in_upper_case(lower), &zone))
    return zone;
  return std::nullopt;
}

std::string zone_name(const absl::TimeZone& zone, std::string_view name) {
  if (zone == absl::UTCTimeZone()) {
    const std::string upper = in_upper_case(name);
    return upper == "GMT" ? upper : "UTC";
  }
  if (zone.name().find('/') != std::string::npos && !zone.name().starts_with("Fixed/")) return zone.name();
  if (is_letter(name.front())) return zone.name();
  if (name.front() != '<' && name.find(':') != std::string_view::npos) return std::string(name);
  const std::int64_t offset_s = zone.At(absl::UnixEpoch()).offset;
  std::string shown = "<";
  append_zone_offset(shown, offset_s);
  shown += '>';
  append_zone_offset(shown, -offset_s);
  return shown;
}

std::int64_t zone_offset_s(std::int64_t utc_us, const absl::TimeZone& zone) {
  if (is_infinite_timestamp(utc_us) || zone == absl::UTCTimeZone()) return 0;
  return zone.At(moment_of(utc_us)).offset;
}

std::int64_t local_of_utc(std::int64_t utc_us, const absl::TimeZone& zone) {
  if (is_infinite_timestamp(utc_us)) return utc_us;
  return utc_us + zone_offset_s(utc_us, zone) * kSecond_us;
}

std::int64_t utc_of_local(std::int64_t local_us, const absl::TimeZone& zone) {
  if (is_infinite_timestamp(local_us) || zone == absl::UTCTimeZone()) return local_us;
  const DayTime parts = day_time_of(local_us);
  const CalendarDate date = date_of_days(parts.days);
  const std::int64_t second = parts.time_us / kSecond_us;
  const absl::CivilSecond civil(date.year, date.month, date.day, second / 3600, second / 60 % 60,
                                second % 60);
  const absl::TimeZone::TimeInfo info = zone.At(civil);
  const absl::Time moment = info.kind == absl::TimeZone::TimeInfo::REPEATED ? info.post : info.pre;
  // The last timestamps count too many microseconds since 1970.
  const std::int64_t second_since_2000 = absl::ToUnixSeconds(moment) + kUnixEpoch_us / kSecond_us;
  return second_since_2000 * kSecond_us + parts.time_us % kSecond_us;
}

std::string zone_abbreviation(std::int64_t utc_us, const absl::TimeZone& zone) {
  return is_infinite_timestamp(utc_us) ? std::string() : std::string(zone.At(moment_of(utc_us)).zone_abbr);
}

void append_zone_offset(std::string& out, std::int64_t offset_s) {
  const std::int64_t size_s = std::abs(offset_s);
  std::array<char, 32> buffer;
  int length = std::snprintf(buffer.data(), buffer.size(), "%c%02d", offset_s < 0 ? '-' : '+',
                             static_cast<int>(size_s / 3600));
  out.append(buffer.data(), static_cast<std::size_t>(length));
  for (std::int64_t rest_s = size_s % 3600, unit_s = 60; rest_s != 0; rest_s %= unit_s, unit_s /= 60) {
    length = std::snprintf(buffer.data(), buffer.size(), ":%02d", static_cast<int>(rest_s / unit_s));
    out.append(buffer.data(), static_cast<std::size_t>(length));
  }
}

}  // namespace namdb::sql
