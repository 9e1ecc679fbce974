#include "compute/sql/value/timestamp.h"

#include <array>
#include <cstdio>

#include "compute/sql/value/calendar.h"
#include "compute/sql/value/characters.h"

namespace namdb::sql {
namespace {

// A cursor over the text that takes numbers and single characters.
struct Cursor {
  std::string_view rest;

  bool take(char c) {
    if (rest.empty() || rest.front() != c) return false;
    rest.remove_prefix(1);
    return true;
  }
  void skip_spaces() {
    while (!rest.empty() && is_space(rest.front())) rest.remove_prefix(1);
  }
  // Between `least` and `most` digits; -1 when it is not a number of that length. `more`: further digits may
  // follow.
  std::int64_t number(std::size_t least, std::size_t most, bool more = false) {
    std::size_t length = 0;
    std::int64_t value = 0;
    while (length < rest.size() && is_digit(rest[length])) {
      if (length == most && more) break;
      if (length == most) return -1;
      value = value * 10 + (rest[length++] - '0');
    }
    if (length < least) return -1;
    rest.remove_prefix(length);
    return value;
  }
};

enum class Parsed { ok, invalid, out_of_range, zone_out_of_range, unknown_zone };

// The parts of a text.
struct Fields {
  CalendarDate date;
  std::int64_t time_us = 0;
  bool has_time = false;
  // Of the zone that the text names: an offset, or one with rules.
  bool has_zone = false;
  std::int64_t offset_s = 0;
  absl::TimeZone zone;
  bool has_rules = false;
};

bool begins_with_digit(std::string_view text) {
  return !text.empty() && is_digit(text.front());
}

// "+hh", "-hh:mm", "+hhmm", or the name of a zone.
Parsed take_zone(Cursor& cursor, Fields& fields) {
  const bool west = !cursor.rest.empty() && cursor.rest.front() == '-';
  fields.has_zone = true;
  if (!cursor.take('+') && !cursor.take('-')) {
    const std::size_t end = std::min(cursor.rest.find(' '), cursor.rest.size());
    const std::optional<absl::TimeZone> zone = find_time_zone(cursor.rest.substr(0, end));
    if (!zone && cursor.rest.substr(0, end).find('/') != std::string_view::npos) return Parsed::unknown_zone;
    if (!zone || begins_with_digit(cursor.rest)) return Parsed::invalid;
    fields.zone = *zone;
    fields.has_rules = true;
    cursor.rest.remove_prefix(end);
    return Parsed::ok;
  }
  std::int64_t hours = cursor.number(1, 4);
  std::int64_t minutes = 0;
  std::int64_t seconds = 0;
  if (hours < 0) return Parsed::invalid;
  if (cursor.take(':')) {
    minutes = cursor.number(2, 2);
    if (cursor.take(':')) seconds = cursor.number(2, 2);
  } else if (hours > 99) {
    minutes = hours % 100;
    hours /= 100;
  }
  if (minutes < 0 || seconds < 0) return Parsed::invalid;
  if (minutes > 59 || seconds > 59 || hours > 15) return Parsed::zone_out_of_range;
  fields.offset_s = ((hours * 60 + minutes) * 60 + seconds) * (west ? -1 : 1);
  return Parsed::ok;
}

// "yyyy-mm-dd" or "yyyymmdd".
Parsed take_date(Cursor& cursor, CalendarDate& date) {
  std::size_t digits = 0;
  while (digits < cursor.rest.size() && begins_with_digit(cursor.rest.substr(digits))) ++digits;
  if (digits == 8 && (cursor.rest.size() == 8 || cursor.rest[8] != '-')) {
    date.year = cursor.number(8, 8);
    date.day = date.year % 100;
    date.month = date.year / 100 % 100;
    date.year /= 10'000;
    return Parsed::ok;
  }
  date.year = cursor.number(4, 7);
  if (date.year < 0 || !cursor.take('-')) return Parsed::invalid;
  date.month = cursor.number(1, 2);
  if (date.month < 0 || !cursor.take('-')) return Parsed::invalid;
  date.day = cursor.number(1, 2);
  return date.day < 0 ? Parsed::invalid : Parsed::ok;
}

// Six digits count; the seventh rounds.
std::int64_t take_fraction(Cursor& cursor) {
  std::int64_t fraction_us = 0;
  std::int64_t unit_us = 100'000;
  bool first_dropped = true;
  while (begins_with_digit(cursor.rest)) {
    const int digit = cursor.rest.front() - '0';
    if (unit_us > 0) {
      fraction_us += digit * unit_us;
      unit_us /= 10;
    } else if (first_dropped) {
      if (digit >= 5) ++fraction_us;
      first_dropped = false;
    }
    cursor.rest.remove_prefix(1);
  }
  return fraction_us;
}

// "hh:mm[:ss[.ffffff]]" or "hhmm[ss[.ffffff]]".
Parsed take_time(Cursor& cursor, std::int64_t& time_us) {
  std::size_t digits = 0;
  while (digits < cursor.rest.size() && is_digit(cursor.rest[digits])) ++digits;
  const bool compact = digits == 4 || digits == 6;
  const auto separated = [&cursor, compact] { return compact || cursor.take(':'); };
  const std::int64_t hour = cursor.number(compact ? 2 : 1, 2, compact);
  if (hour < 0 || !separated()) return Parsed::invalid;
  const std::int64_t minute = cursor.number(compact ? 2 : 1, 2, compact);
  if (minute < 0) return Parsed::invalid;
  std::int64_t second = 0;
  std::int64_t fraction_us = 0;
  if (compact ? digits == 6 : cursor.take(':')) {
    second = cursor.number(2, 2);
    if (second < 0) return Parsed::invalid;
    if (cursor.take('.')) fraction_us = take_fraction(cursor);
  }
  if (minute > 59 || second > 60) return Parsed::out_of_range;
  if (hour > 24 || (hour == 24 && (minute > 0 || second > 0 || fraction_us > 0))) return Parsed::out_of_range;
  time_us = ((hour * 60 + minute) * 60 + second) * kSecond_us + fraction_us;
  return Parsed::ok;
}

Parsed parse_fields(Cursor cursor, Fields& fields) {
  if (const Parsed date = take_date(cursor, fields.date); date != Parsed::ok) return date;
  const bool letter = cursor.take('T') || cursor.take('t');
  const std::size_t before_spaces = cursor.rest.size();
  cursor.skip_spaces();
  if (letter || (cursor.rest.size() < before_spaces && begins_with_digit(cursor.rest))) {
    if (const Parsed time = take_time(cursor, fields.time_us); time != Parsed::ok) return time;
    fields.has_time = true;
    cursor.skip_spaces();
  }
  const auto era = [&cursor] {
    return in_upper_case(cursor.rest.substr(0, 2)) == "BC" && cursor.rest.size() == 2;
  };
  if (in_upper_case(cursor.rest) == "AD") cursor.rest = {};
  if (!cursor.rest.empty() && !era()) {
    if (const Parsed zone = take_zone(cursor, fields); zone != Parsed::ok) return zone;
    cursor.skip_spaces();
  }
  if (fields.date.year == 0 || fields.date.month < 1 || fields.date.month > 12 || fields.date.day < 1)
    return Parsed::out_of_range;
  if (era()) {
    fields.date.year = 1 - fields.date.year;
    cursor.rest = {};
  }
  if (!cursor.rest.empty()) return Parsed::invalid;
  return fields.date.day > days_in_month(fields.date.year, fields.date.month) ? Parsed::out_of_range
                                                                              : Parsed::ok;
}

Status not_parsed(Parsed why, std::string_view type, std::string_view text) {
  const std::string quoted = "\"" + std::string(text) + "\"";
  if (why == Parsed::out_of_range)
    return Status(ErrorCode::datetime_out_of_range, "date/time field value out of range: " + quoted);
  if (why == Parsed::zone_out_of_range)
    return Status(ErrorCode::invalid_zone_displacement, "time zone displacement out of range: " + quoted);
  if (why == Parsed::unknown_zone) {
    const std::string_view name =
        text.substr(text.find_first_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"));
    return Status(ErrorCode::invalid_parameter_value,
                  "time zone \"" + in_lower_case(without_spaces_around(name)) + "\" not recognized");
  }
  return Status(ErrorCode::invalid_datetime,
                "invalid input syntax for type " + std::string(type) + ": " + quoted);
}

Cursor trimmed(std::string_view text) {
  return Cursor{without_spaces_around(text)};
}

// A moment for timestamptz, and for the others the day that it is in UTC.
bool is_epoch(std::string_view text) {
  return in_lower_case(text.substr(0, 6)) == "epoch";
}

// The moments that have names; the result is of the session's zone.
std::optional<std::int64_t> named_moment(std::string_view text, const TimeContext& context) {
  const std::string word = in_lower_case(text.substr(0, 16));
  if (word == "infinity") return kTimestampInfinity;
  if (word == "-infinity") return kTimestampMinusInfinity;
  if (word == "epoch") return local_of_utc(kUnixEpoch_us, context.zone);
  const std::int64_t now_us = local_of_utc(context.now_us, context.zone);
  if (word == "now") return now_us;
  const std::int64_t today_us = day_time_of(now_us).days * kDay_us;
  if (word == "today") return today_us;
  if (word == "tomorrow") return today_us + kDay_us;
  if (word == "yesterday") return today_us - kDay_us;
  return std::nullopt;
}

void append_clock(std::string& out, std::int64_t time_us) {
  const std::int64_t seconds = time_us / kSecond_us;
  std::array<char, 64> buffer;
  int length = std::snprintf(buffer.data(), buffer.size(), "%02d:%02d:%02d", static_cast<int>(seconds / 3600),
                             static_cast<int>(seconds / 60 % 60), static_cast<int>(seconds % 60));
  out.append(buffer.data(), static_cast<std::size_t>(length));
  if (const int fraction_us = static_cast<int>(time_us % kSecond_us); fraction_us != 0) {
    length = std::snprintf(buffer.data(), buffer.size(), ".%06d", fraction_us);
    while (buffer[static_cast<std::size_t>(length) - 1] == '0') --length;
    out.append(buffer.data(), static_cast<std::size_t>(length));
  }
}

// Without the era.
void append_calendar_date(std::string& out, const CalendarDate& date) {
  std::array<char, 64> buffer;
  const int length = std::snprintf(buffer.data(), buffer.size(), "%04lld-%02d-%02d",
                                   static_cast<long long>(date.year <= 0 ? 1 - date.year : date.year),
                                   static_cast<int>(date.month), static_cast<int>(date.day));
  out.append(buffer.data(), static_cast<std::size_t>(length));
}

bool append_infinity(std::string& out, bool positive, bool negative) {
  if (positive) out += "infinity";
  if (negative) out += "-infinity";
  return positive || negative;
}

// `offset_s`: behind the time; null: nothing.
void append_moment(std::string& out, std::int64_t local_us, const std::int64_t* offset_s) {
  if (append_infinity(out, local_us == kTimestampInfinity, local_us == kTimestampMinusInfinity)) return;
  const DayTime parts = day_time_of(local_us);
  const CalendarDate date = date_of_days(parts.days);
  append_calendar_date(out, date);
  out += ' ';
  append_clock(out, parts.time_us);
  if (offset_s != nullptr) append_zone_offset(out, *offset_s);
  if (date.year <= 0) out += " BC";
}

constexpr CalendarDate kFirstDay = {-4713, 11, 24};  // PostgreSQL's first Julian day

}  // namespace

void append_timestamp(std::string& out, std::int64_t timestamp_us) {
  append_moment(out, timestamp_us, nullptr);
}

void append_timestamp(std::string& out, std::int64_t utc_us, const absl::TimeZone& zone) {
  const std::int64_t offset_s = zone_offset_s(utc_us, zone);
  append_moment(out, local_of_utc(utc_us, zone), &offset_s);
}

void append_date(std::string& out, std::int64_t days) {
  if (append_infinity(out, days == kDateInfinity, days == kDateMinusInfinity)) return;
  const CalendarDate date = date_of_days(days);
  append_calendar_date(out, date);
  if (date.year <= 0) out += " BC";
}

void append_time(std::string& out, std::int64_t time_us) {
  append_clock(out, time_us);
}

Result<std::int64_t> timestamp_of_date(std::int64_t days) {
  if (is_infinite_date(days)) return days == kDateInfinity ? kTimestampInfinity : kTimestampMinusInfinity;
  std::int64_t timestamp_us = 0;
  if (__builtin_mul_overflow(days, kDay_us, &timestamp_us) || !check_timestamp(timestamp_us).ok())
    return Status(ErrorCode::datetime_out_of_range, "date out of range for timestamp");
  return timestamp_us;
}

std::int64_t date_of_timestamp(std::int64_t timestamp_us) {
  if (is_infinite_timestamp(timestamp_us))
    return timestamp_us == kTimestampInfinity ? kDateInfinity : kDateMinusInfinity;
  return day_time_of(timestamp_us).days;
}

Status check_timestamp(std::int64_t timestamp_us) {
  static const std::int64_t first_us = days_of_date(kFirstDay) * kDay_us;
  static const std::int64_t end_us = days_of_date({294'277, 1, 1}) * kDay_us;
  if (timestamp_us >= first_us && timestamp_us < end_us) return {};
  return Status(ErrorCode::datetime_out_of_range, "timestamp out of range");
}

Status check_date(std::int64_t days) {
  if (days >= days_of_date(kFirstDay) && days < days_of_date({5'874'898, 1, 1})) return {};
  return Status(ErrorCode::datetime_out_of_range, "date out of range");
}

namespace {

// Of the clock that the text shows, without regard to a zone.
Result<std::int64_t> clock_of(const Fields& fields, std::string_view text) {
  const auto too_far = [text] {
    return Status(ErrorCode::datetime_out_of_range, "timestamp out of range: \"" + std::string(text) + "\"");
  };
  if (fields.date.year < -4713 || fields.date.year > 294'276) return too_far();
  const std::int64_t clock_us = days_of_date(fields.date) * kDay_us + fields.time_us;
  if (!check_timestamp(clock_us).ok()) return too_far();
  return clock_us;
}

}  // namespace

Result<std::int64_t> parse_timestamp(std::string_view text, const TimeContext& context) {
  const Cursor cursor = trimmed(text);
  if (is_epoch(cursor.rest)) return kUnixEpoch_us;
  if (const auto named = named_moment(cursor.rest, context)) return *named;
  Fields fields;
  const Parsed parsed = parse_fields(cursor, fields);
  if (parsed != Parsed::ok) return not_parsed(parsed, "timestamp", text);
  return clock_of(fields, text);
}

Result<std::int64_t> parse_timestamp_with_zone(std::string_view text, const TimeContext& context) {
  const Cursor cursor = trimmed(text);
  if (const auto named = named_moment(cursor.rest, context)) return utc_of_local(*named, context.zone);
  Fields fields;
  const Parsed parsed = parse_fields(cursor, fields);
  if (parsed != Parsed::ok) return not_parsed(parsed, "timestamp with time zone", text);
  const Result<std::int64_t> clock_us = clock_of(fields, text);
  if (!clock_us.ok()) return clock_us;
  const std::int64_t utc_us = fields.has_zone && !fields.has_rules
                                  ? *clock_us - fields.offset_s * kSecond_us
                                  : utc_of_local(*clock_us, fields.has_rules ? fields.zone : context.zone);
  if (!check_timestamp(utc_us).ok())
    return Status(ErrorCode::datetime_out_of_range, "timestamp out of range: \"" + std::string(text) + "\"");
  return utc_us;
}

Result<std::int64_t> parse_date(std::string_view text, const TimeContext& context) {
  const Cursor cursor = trimmed(text);
  if (is_epoch(cursor.rest)) return date_of_timestamp(kUnixEpoch_us);
  if (const auto named = named_moment(cursor.rest, context)) return date_of_timestamp(*named);
  Fields fields;
  const Parsed parsed = parse_fields(cursor, fields);
  if (parsed != Parsed::ok) return not_parsed(parsed, "date", text);
  const std::int64_t days = days_of_date(fields.date);
  if (!check_date(days).ok())
    return Status(ErrorCode::datetime_out_of_range, "date out of range: \"" + std::string(text) + "\"");
  return days;
}

namespace {

Parsed parse_time_fields(Cursor cursor, Fields& fields, bool& has_date) {
  Parsed parsed = parse_fields(cursor, fields);
  has_date = parsed == Parsed::ok && fields.has_time;
  if (has_date) return parsed;
  // A time alone.
  fields = {};
  parsed = take_time(cursor, fields.time_us);
  cursor.skip_spaces();
  if (parsed == Parsed::ok && !cursor.rest.empty()) parsed = take_zone(cursor, fields);
  if (parsed == Parsed::ok && !cursor.rest.empty()) parsed = Parsed::invalid;
  if (parsed == Parsed::ok && fields.time_us > kDay_us) return Parsed::out_of_range;
  return parsed;
}

bool has_one_offset(const absl::TimeZone& zone) {
  absl::TimeZone::CivilTransition change;
  return !zone.NextTransition(absl::InfinitePast(), &change);
}

}  // namespace

Result<std::int64_t> parse_time(std::string_view text, const TimeContext& context) {
  const Cursor cursor = trimmed(text);
  if (in_lower_case(cursor.rest) == "now")
    return day_time_of(local_of_utc(context.now_us, context.zone)).time_us;
  Fields fields;
  bool has_date = false;
  const Parsed parsed = parse_time_fields(cursor, fields, has_date);
  if (parsed != Parsed::ok) return not_parsed(parsed, "time", text);
  return fields.time_us;
}

Result<ZonedTime> parse_time_with_zone(std::string_view text, const TimeContext& context) {
  const Cursor cursor = trimmed(text);
  if (in_lower_case(cursor.rest) == "now") return zoned_time_at(context.now_us, context.zone);
  Fields fields;
  bool has_date = false;
  Parsed parsed = parse_time_fields(cursor, fields, has_date);
  if (parsed == Parsed::ok && fields.has_rules && !has_date && !has_one_offset(fields.zone))
    parsed = Parsed::invalid;
  if (parsed != Parsed::ok) return not_parsed(parsed, "time with time zone", text);
  if (fields.has_zone && !fields.has_rules) return ZonedTime{fields.time_us, fields.offset_s};
  const TimeContext here{context.now_us, fields.has_rules ? fields.zone : context.zone};
  return has_date ? zoned_time_on(days_of_date(fields.date), fields.time_us, here.zone)
                  : zoned_time_today(fields.time_us, here);
}

}  // namespace namdb::sql
