// Intervals in PostgreSQL's own style, and the fields that their types name.
#include <array>
#include <cstdio>
#include <string>
#include <utility>

#include "compute/sql/value/calendar.h"
#include "compute/sql/value/interval.h"
#include "compute/sql/value/types.h"

namespace namdb::sql {

Interval restricted(const Interval& interval, std::int32_t modifier) {
  if (modifier < 0) return interval;
  Interval out = interval;
  const std::int32_t fields = modifier >> 16 & kAllFields;
  const std::int32_t digits = modifier & kAnyDigits;
  if (fields != kAllFields) {
    if ((fields & kSecondField) == 0) {
      const std::int64_t unit_us = (fields & kMinuteField) != 0 ? kMinute_us
                                   : (fields & kHourField) != 0 ? kHour_us
                                                                : 0;
      out.time_us = unit_us == 0 ? 0 : out.time_us / unit_us * unit_us;
    }
    const bool of_months = (fields & (kDayField | kHourField | kMinuteField | kSecondField)) == 0;
    if (of_months) out.days = 0;
    if (of_months && (fields & kMonthField) == 0) out.months = out.months / 12 * 12;
  }
  if (digits < static_cast<std::int32_t>(kMaxInterval_digits)) {
    std::int64_t unit_us = kSecond_us;
    for (std::int32_t i = 0; i < digits; ++i) unit_us /= 10;
    const std::int64_t half_us = unit_us / 2;
    out.time_us = out.time_us >= 0 ? (out.time_us + half_us) / unit_us * unit_us
                                   : -((-out.time_us + half_us) / unit_us * unit_us);
  }
  return out;
}

std::string interval_fields(std::int32_t modifier) {
  if (modifier < 0) return {};
  const std::int32_t fields = modifier >> 16 & kAllFields;
  const std::int32_t digits = modifier & kAnyDigits;
  std::string text;
  if (fields != kAllFields) {
    constexpr std::array<std::pair<std::int32_t, std::string_view>, 6> kNames = {{{kYearField, "year"},
                                                                                  {kMonthField, "month"},
                                                                                  {kDayField, "day"},
                                                                                  {kHourField, "hour"},
                                                                                  {kMinuteField, "minute"},
                                                                                  {kSecondField, "second"}}};
    std::string_view first;
    std::string_view last;
    for (const auto& [field, name] : kNames) {
      if ((fields & field) == 0) continue;
      if (first.empty()) first = name;
      last = name;
    }
    text = " " + std::string(first);
    if (first != last) text += " to " + std::string(last);
  }
  if (digits != kAnyDigits) text += "(" + std::to_string(digits) + ")";
  return text;
}

void append_interval(std::string& out, const Interval& interval) {
  bool is_first = true;
  bool is_before = false;
  std::array<char, 96> buffer;
  const auto append_part = [&](std::int64_t value, std::string_view unit) {
    if (value == 0) return;
    const int length = std::snprintf(buffer.data(), buffer.size(), "%s%s%lld %s%s", is_first ? "" : " ",
                                     is_before && value > 0 ? "+" : "", static_cast<long long>(value),
                                     unit.data(), value == 1 ? "" : "s");
    out.append(buffer.data(), static_cast<std::size_t>(length));
    is_before = value < 0;
    is_first = false;
  };
  append_part(interval.months / 12, "year");
  append_part(interval.months % 12, "mon");
  append_part(interval.days, "day");
  if (!is_first && interval.time_us == 0) return;
  const bool minus = interval.time_us < 0;
  // The absolute value of the least number is one that only unsigned integers have.
  const std::uint64_t size_us = minus ? ~static_cast<std::uint64_t>(interval.time_us) + 1
                                      : static_cast<std::uint64_t>(interval.time_us);
  const std::uint64_t seconds = size_us / kSecond_us;
  int length = std::snprintf(buffer.data(), buffer.size(), "%s%s%02llu:%02u:%02u", is_first ? "" : " ",
                             minus       ? "-"
                             : is_before ? "+"
                                         : "",
                             static_cast<unsigned long long>(seconds / 3600),
                             static_cast<unsigned>(seconds / 60 % 60), static_cast<unsigned>(seconds % 60));
  out.append(buffer.data(), static_cast<std::size_t>(length));
  if (const auto fraction_us = static_cast<unsigned>(size_us % kSecond_us); fraction_us != 0) {
    length = std::snprintf(buffer.data(), buffer.size(), ".%06u", fraction_us);
    while (buffer[static_cast<std::size_t>(length) - 1] == '0') --length;
    out.append(buffer.data(), static_cast<std::size_t>(length));
  }
}

}  // namespace namdb::sql
