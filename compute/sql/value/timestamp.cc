#include "compute/sql/value/timestamp.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>

namespace namdb::sql {
namespace {

constexpr std::int64_t kSecond_us = 1'000'000;
constexpr std::int64_t kDay_us = 86'400 * kSecond_us;

// Days since 2000-01-01 of a proleptic Gregorian date, by counting years from March: the leap day is last.
std::int64_t days_of_date(std::int64_t year, std::int64_t month, std::int64_t day) {
  if (month <= 2) --year;
  const std::int64_t era = (year >= 0 ? year : year - 399) / 400;
  const std::int64_t year_of_era = year - era * 400;
  const std::int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  const std::int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * 146'097 + day_of_era - 730'425;
}

struct Date {
  std::int64_t year;
  std::int64_t month;
  std::int64_t day;
};

Date date_of_days(std::int64_t days) {
  days += 730'425;
  const std::int64_t era = (days >= 0 ? days : days - 146'096) / 146'097;
  const std::int64_t day_of_era = days - era * 146'097;
  const std::int64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
  const std::int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::int64_t shifted_month = (5 * day_of_year + 2) / 153;
  const std::int64_t month = shifted_month < 10 ? shifted_month + 3 : shifted_month - 9;
  return {year_of_era + era * 400 + (month <= 2 ? 1 : 0), month,
          day_of_year - (153 * shifted_month + 2) / 5 + 1};
}

bool is_leap(std::int64_t year) {
  return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

std::int64_t days_in_month(std::int64_t year, std::int64_t month) {
  constexpr std::array<int, 12> kDays = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return month == 2 && is_leap(year) ? 29 : kDays[static_cast<std::size_t>(month - 1)];
}

// A cursor over the text that takes numbers and single characters.
struct Cursor {
  std::string_view rest;

  bool take(char c) {
    if (rest.empty() || rest.front() != c) return false;
    rest.remove_prefix(1);
    return true;
  }
  void skip_spaces() {
    while (!rest.empty() && std::isspace(static_cast<unsigned char>(rest.front()))) rest.remove_prefix(1);
  }
  // Between `least` and `most` digits; -1 when it is not a number of that length.
  std::int64_t number(std::size_t least, std::size_t most) {
    std::size_t length = 0;
    std::int64_t value = 0;
    while (length < rest.size() && std::isdigit(static_cast<unsigned char>(rest[length]))) {
      if (length == most) return -1;
      value = value * 10 + (rest[length++] - '0');
    }
    if (length < least) return -1;
    rest.remove_prefix(length);
    return value;
  }
};

enum class Parsed { ok, invalid, out_of_range, zone_out_of_range };

// "Z", "UTC", "+hh", "-hh:mm", "+hhmm": seconds east of UTC.
Parsed parse_zone(Cursor& cursor, std::int64_t& offset_s) {
  offset_s = 0;
  if (cursor.rest == "Z" || cursor.rest == "z" || cursor.rest == "UTC" || cursor.rest == "GMT") {
    cursor.rest = {};
    return Parsed::ok;
  }
  const bool west = !cursor.rest.empty() && cursor.rest.front() == '-';
  if (!cursor.take('+') && !cursor.take('-')) return Parsed::invalid;
  std::int64_t hours = cursor.number(1, 4);
  std::int64_t minutes = 0;
  if (hours < 0) return Parsed::invalid;
  if (cursor.take(':')) {
    minutes = cursor.number(2, 2);
  } else if (hours > 99) {
    minutes = hours % 100;
    hours /= 100;
  }
  if (minutes < 0) return Parsed::invalid;
  if (minutes > 59 || hours > 15) return Parsed::zone_out_of_range;
  offset_s = (hours * 60 + minutes) * 60 * (west ? -1 : 1);
  return Parsed::ok;
}

Parsed parse_fields(Cursor cursor, bool with_zone, std::int64_t& result_us) {
  const std::int64_t year = cursor.number(4, 6);
  if (year < 0 || !cursor.take('-')) return Parsed::invalid;
  const std::int64_t month = cursor.number(1, 2);
  if (month < 0 || !cursor.take('-')) return Parsed::invalid;
  const std::int64_t day = cursor.number(1, 2);
  if (day < 0) return Parsed::invalid;
  std::int64_t hour = 0;
  std::int64_t minute = 0;
  std::int64_t second = 0;
  std::int64_t fraction_us = 0;
  std::int64_t zone_s = 0;
  bool before_christ = false;
  const bool letter = cursor.take('T') || cursor.take('t');
  const std::size_t before_spaces = cursor.rest.size();
  cursor.skip_spaces();
  const bool time_follows = letter || (cursor.rest.size() < before_spaces && !cursor.rest.empty() &&
                                       std::isdigit(static_cast<unsigned char>(cursor.rest.front())));
  if (time_follows) {
    hour = cursor.number(1, 2);
    if (hour < 0 || !cursor.take(':')) return Parsed::invalid;
    minute = cursor.number(1, 2);
    if (minute < 0) return Parsed::invalid;
    if (cursor.take(':')) {
      second = cursor.number(2, 2);
      if (second < 0) return Parsed::invalid;
      if (cursor.take('.')) {
        // Six digits count; the seventh rounds.
        std::int64_t unit = 100'000;
        bool first_dropped = true;
        while (!cursor.rest.empty() && std::isdigit(static_cast<unsigned char>(cursor.rest.front()))) {
          const int digit = cursor.rest.front() - '0';
          if (unit > 0) {
            fraction_us += digit * unit;
            unit /= 10;
          } else if (first_dropped) {
            if (digit >= 5) ++fraction_us;
            first_dropped = false;
          }
          cursor.rest.remove_prefix(1);
        }
      }
    }
    cursor.skip_spaces();
  }
  if (cursor.rest == "BC" || cursor.rest == "bc") {
    before_christ = true;
  } else if (cursor.rest == "AD" || cursor.rest == "ad") {
  } else if (!cursor.rest.empty()) {
    if (const Parsed zone = parse_zone(cursor, zone_s); zone != Parsed::ok) return zone;
    if (!cursor.rest.empty()) return Parsed::invalid;
  }
  if (month < 1 || month > 12 || day < 1 || year == 0) return Parsed::out_of_range;
  const std::int64_t astronomical_year = before_christ ? 1 - year : year;
  if (astronomical_year < -4713 || astronomical_year > 294'276) return Parsed::out_of_range;
  if (day > days_in_month(astronomical_year, month) || minute > 59 || second > 60)
    return Parsed::out_of_range;
  if (hour > 24 || (hour == 24 && (minute > 0 || second > 0 || fraction_us > 0))) return Parsed::out_of_range;
  result_us = days_of_date(astronomical_year, month, day) * kDay_us +
              ((hour * 60 + minute) * 60 + second) * kSecond_us + fraction_us;
  if (with_zone) result_us -= zone_s * kSecond_us;
  // Years that PostgreSQL's timestamps hold: from the beginning of its Julian days.
  const std::int64_t days = result_us / kDay_us;
  if (result_us < days_of_date(-4713, 11, 24) * kDay_us || days >= days_of_date(294'277, 1, 1))
    return Parsed::out_of_range;
  return Parsed::ok;
}

}  // namespace

void append_timestamp(std::string& out, std::int64_t timestamp_us, bool with_zone) {
  if (timestamp_us == kTimestampInfinity || timestamp_us == kTimestampMinusInfinity) {
    out += timestamp_us == kTimestampInfinity ? "infinity" : "-infinity";
    return;
  }
  std::int64_t days = timestamp_us / kDay_us;
  std::int64_t rest_us = timestamp_us % kDay_us;
  if (rest_us < 0) {
    rest_us += kDay_us;
    --days;
  }
  const Date date = date_of_days(days);
  const bool before_christ = date.year <= 0;
  const auto seconds = rest_us / kSecond_us;
  std::array<char, 64> buffer;
  int length = std::snprintf(buffer.data(), buffer.size(), "%04lld-%02d-%02d %02d:%02d:%02d",
                             static_cast<long long>(before_christ ? 1 - date.year : date.year),
                             static_cast<int>(date.month), static_cast<int>(date.day),
                             static_cast<int>(seconds / 3600), static_cast<int>(seconds / 60 % 60),
                             static_cast<int>(seconds % 60));
  out.append(buffer.data(), static_cast<std::size_t>(length));
  if (int fraction = static_cast<int>(rest_us % kSecond_us); fraction != 0) {
    length = std::snprintf(buffer.data(), buffer.size(), ".%06d", fraction);
    while (buffer[static_cast<std::size_t>(length) - 1] == '0') --length;
    out.append(buffer.data(), static_cast<std::size_t>(length));
  }
  if (with_zone) out += "+00";
  if (before_christ) out += " BC";
}

Result<std::int64_t> parse_timestamp(std::string_view text, bool with_zone, std::int64_t now_us) {
  Cursor cursor{text};
  cursor.skip_spaces();
  while (!cursor.rest.empty() && std::isspace(static_cast<unsigned char>(cursor.rest.back())))
    cursor.rest.remove_suffix(1);
  std::string word(cursor.rest.substr(0, 16));
  std::ranges::transform(word, word.begin(), [](unsigned char c) { return std::tolower(c); });
  if (word == "infinity") return kTimestampInfinity;
  if (word == "-infinity") return kTimestampMinusInfinity;
  if (word == "epoch") return kUnixEpoch_us;
  if (word == "now") return now_us;
  const std::int64_t today_us = now_us - ((now_us % kDay_us) + kDay_us) % kDay_us;
  if (word == "today") return today_us;
  if (word == "tomorrow") return today_us + kDay_us;
  if (word == "yesterday") return today_us - kDay_us;
  std::int64_t result_us = 0;
  switch (parse_fields(cursor, with_zone, result_us)) {
    case Parsed::ok:
      return result_us;
    case Parsed::out_of_range:
      return Status(ErrorCode::datetime_out_of_range,
                    "date/time field value out of range: \"" + std::string(text) + "\"");
    case Parsed::zone_out_of_range:
      return Status(ErrorCode::invalid_zone_displacement,
                    "time zone displacement out of range: \"" + std::string(text) + "\"");
    case Parsed::invalid:
      break;
  }
  return Status(ErrorCode::invalid_datetime, std::string("invalid input syntax for type timestamp") +
                                                 (with_zone ? " with time zone" : "") + ": \"" +
                                                 std::string(text) + "\"");
}

}  // namespace namdb::sql
