#include "compute/sql/value/interval.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "compute/sql/value/calendar.h"
#include "compute/sql/value/characters.h"
#include "compute/sql/value/timestamp.h"

namespace namdb::sql {
namespace {

struct Unit {
  std::string_view name;  // without a plural's s
  std::int32_t months;
  std::int32_t days;
  std::int64_t time_us;
};

constexpr auto kUnits = std::to_array<Unit>({
    {"microsecond", 0, 0, 1},
    {"usec", 0, 0, 1},
    {"us", 0, 0, 1},
    {"millisecond", 0, 0, 1000},
    {"msec", 0, 0, 1000},
    {"ms", 0, 0, 1000},
    {"second", 0, 0, kSecond_us},
    {"sec", 0, 0, kSecond_us},
    {"s", 0, 0, kSecond_us},
    {"minute", 0, 0, kMinute_us},
    {"min", 0, 0, kMinute_us},
    {"m", 0, 0, kMinute_us},
    {"hour", 0, 0, kHour_us},
    {"hr", 0, 0, kHour_us},
    {"h", 0, 0, kHour_us},
    {"day", 0, 1, 0},
    {"d", 0, 1, 0},
    {"week", 0, 7, 0},
    {"w", 0, 7, 0},
    {"month", 1, 0, 0},
    {"mon", 1, 0, 0},
    {"year", 12, 0, 0},
    {"yr", 12, 0, 0},
    {"y", 12, 0, 0},
    {"decade", 120, 0, 0},
    {"century", 1200, 0, 0},
    {"centurie", 1200, 0, 0},
    {"millennium", 12'000, 0, 0},
    {"millennia", 12'000, 0, 0},
});

const Unit* find_unit(std::string_view word) {
  const auto find = [](std::string_view name) {
    const auto found = std::ranges::find(kUnits, name, &Unit::name);
    return found == kUnits.end() ? nullptr : &*found;
  };
  if (const Unit* exact = find(word)) return exact;
  return word.ends_with('s') ? find(word.substr(0, word.size() - 1)) : nullptr;
}

Status out_of_range() {
  return Status(ErrorCode::datetime_out_of_range, "interval out of range");
}

// The sum of parts, each bounded when all have been added: in a type that has room for more digits than a
// microsecond of the longest interval needs.
struct Sum {
  using Number = long double;
  Number months = 0;
  Number days = 0;
  Number time_us = 0;

  void add(Number count, const Unit& unit) {
    // Fractions go to the next smaller unit.
    const Number all_months = std::rint(count * unit.months * 1e6L) / 1e6L;
    if (unit.months >= 12) {
      months += std::rint(all_months);
    } else {
      months += std::trunc(all_months);
      add_days((all_months - std::trunc(all_months)) * 30);
    }
    add_days(count * unit.days);
    time_us += count * static_cast<Number>(unit.time_us);
  }
  void add_days(Number count) {
    const Number whole = std::trunc(std::rint(count * 1e9L) / 1e9L);
    days += whole;
    time_us += (count - whole) * static_cast<Number>(kDay_us);
  }
  Result<Interval> interval() const {
    const auto fits = [](Number value, Number bound) { return value >= -bound && value < bound; };
    if (!fits(months, 0x1p31L) || !fits(days, 0x1p31L) || !fits(std::rint(time_us), 0x1p63L))
      return out_of_range();
    return Interval{static_cast<std::int32_t>(months), static_cast<std::int32_t>(days),
                    static_cast<std::int64_t>(std::rint(time_us))};
  }
};

class Reader {
 public:
  Reader(std::string_view text, std::string_view unit)
      : whole_(text), lower_(in_lower_case(without_spaces_around(text))), rest_(lower_), unit_(unit) {}

  Result<Interval> read() {
    if (rest_.starts_with('p')) return read_iso();
    skip_spaces();
    if (rest_.starts_with('@')) rest_.remove_prefix(1);
    bool any = false;
    for (skip_spaces(); !rest_.empty(); skip_spaces()) {
      if (rest_ == "ago" && any) {
        sum_ = {-sum_.months, -sum_.days, -sum_.time_us};
        return sum_.interval();
      }
      if (!read_part()) return invalid();
      any = true;
    }
    if (!any) return invalid();
    return bounded();
  }

 private:
  Status invalid() const {
    return Status(ErrorCode::invalid_datetime,
                  "invalid input syntax for type interval: \"" + std::string(whole_) + "\"");
  }
  Result<Interval> bounded() const {
    Result<Interval> interval = sum_.interval();
    if (interval.ok()) return interval;
    return Status(ErrorCode::interval_overflow,
                  "interval field value out of range: \"" + std::string(whole_) + "\"");
  }

  void skip_spaces() {
    while (!rest_.empty() && is_space(rest_.front())) rest_.remove_prefix(1);
  }
  bool take(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  std::optional<double> number() {
    double value = 0;
    if (rest_.empty() || (!is_digit(rest_.front()) && rest_.front() != '.')) return std::nullopt;
    const auto [stop, error] =
        std::from_chars(rest_.data(), rest_.data() + rest_.size(), value, std::chars_format::fixed);
    if (error != std::errc()) return std::nullopt;
    rest_.remove_prefix(static_cast<std::size_t>(stop - rest_.data()));
    return value;
  }
  std::string_view word() {
    std::size_t length = 0;
    while (length < rest_.size() && is_letter(rest_[length])) ++length;
    const std::string_view taken = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return taken;
  }

  // A number with its unit, "hh:mm[:ss]", or "years-months".
  bool read_part() {
    const bool negative = take('-');
    if (!negative) take('+');
    skip_spaces();
    const Sum::Number sign = negative ? -1 : 1;
    const std::optional<double> first = number();
    if (!first) return false;
    if (take(':')) {
      const std::optional<double> second = number();
      if (!second || *second >= 60) return false;
      // "mm:ss.f" where the second number has a fraction.
      if (!take(':')) {
        const bool has_fraction = *second != std::trunc(*second);
        sum_.add(sign * *first, *find_unit(has_fraction ? "minute" : "hour"));
        sum_.add(sign * *second, *find_unit(has_fraction ? "second" : "minute"));
        return true;
      }
      const std::optional<double> third = number();
      if (!third || *third >= 61) return false;
      sum_.add(sign * *first, *find_unit("hour"));
      sum_.add(sign * *second, *find_unit("minute"));
      sum_.add(sign * *third, *find_unit("second"));
      return true;
    }
    if (rest_.size() > 1 && rest_.front() == '-' && is_digit(rest_[1])) {
      take('-');
      const std::optional<double> months = number();
      if (!months || *months >= 12) return false;
      sum_.add(sign * *first, *find_unit("year"));
      sum_.add(sign * *months, *find_unit("month"));
      return true;
    }
    skip_spaces();
    const std::string_view before = rest_;
    std::string_view name = word();
    if (name == "ago") rest_ = before;
    // "3 04:05": days before a time.
    const std::string_view following = rest_.substr(0, rest_.find(' '));
    if (name.empty() && following.find(':') != std::string_view::npos) name = "day";
    if (name.empty() || name == "ago") name = unit_;
    const Unit* const unit = find_unit(name);
    if (unit == nullptr) return false;
    sum_.add(sign * *first, *unit);
    return true;
  }

  Result<Interval> read_iso() {
    rest_.remove_prefix(1);
    bool in_time = false;
    bool any = false;
    while (!rest_.empty()) {
      if (take('t')) {
        in_time = true;
        continue;
      }
      const bool negative = take('-');
      if (!negative) take('+');
      const std::optional<double> count = number();
      if (!count || rest_.empty()) return invalid();
      const char letter = rest_.front();
      rest_.remove_prefix(1);
      const std::string_view name = letter == 'y' && !in_time   ? "year"
                                    : letter == 'm' && !in_time ? "month"
                                    : letter == 'w' && !in_time ? "week"
                                    : letter == 'd' && !in_time ? "day"
                                    : letter == 'h' && in_time  ? "hour"
                                    : letter == 'm' && in_time  ? "minute"
                                    : letter == 's' && in_time  ? "second"
                                                                : "";
      if (name.empty()) return invalid();
      sum_.add(negative ? -*count : *count, *find_unit(name));
      any = true;
    }
    if (!any) return invalid();
    return bounded();
  }

  std::string_view whole_;
  std::string lower_;
  std::string_view rest_;
  std::string_view unit_;
  Sum sum_;
};

// Months and days later; far outside of the range of timestamps, the years cannot be counted.
Result<std::int64_t> add_calendar(std::int64_t timestamp_us, const Interval& interval) {
  std::int64_t later_us = timestamp_us;
  if (interval.months != 0) {
    if (std::abs(std::int64_t{interval.months}) > std::int64_t{12} * 300'000)
      return Status(ErrorCode::datetime_out_of_range, "timestamp out of range");
    const DayTime parts = day_time_of(timestamp_us);
    CalendarDate date = date_of_days(parts.days);
    const std::int64_t month = date.year * 12 + date.month - 1 + interval.months;
    date.year = month >= 0 ? month / 12 : -((-month + 11) / 12);
    date.month = month - date.year * 12 + 1;
    date.day = std::min(date.day, days_in_month(date.year, date.month));
    if (date.year < -4713 || date.year > 294'276)
      return Status(ErrorCode::datetime_out_of_range, "timestamp out of range");
    later_us = days_of_date(date) * kDay_us + parts.time_us;
  }
  std::int64_t days_us = 0;
  if (__builtin_mul_overflow(std::int64_t{interval.days}, kDay_us, &days_us) ||
      __builtin_add_overflow(later_us, days_us, &later_us))
    return Status(ErrorCode::datetime_out_of_range, "timestamp out of range");
  if (Status status = check_timestamp(later_us); !status.ok()) return status;
  return later_us;
}

Result<std::int64_t> add_time(std::int64_t timestamp_us, std::int64_t time_us) {
  std::int64_t later_us = 0;
  if (__builtin_add_overflow(timestamp_us, time_us, &later_us))
    return Status(ErrorCode::datetime_out_of_range, "timestamp out of range");
  if (Status status = check_timestamp(later_us); !status.ok()) return status;
  return later_us;
}

}  // namespace

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

Result<Interval> parse_interval(std::string_view text, std::string_view unit) {
  return Reader(text, unit).read();
}

Int128 comparable_us(const Interval& interval) {
  return (Int128{interval.months} * 30 + interval.days) * kDay_us + interval.time_us;
}

Result<Interval> add(const Interval& left, const Interval& right) {
  Interval sum;
  if (__builtin_add_overflow(left.months, right.months, &sum.months) ||
      __builtin_add_overflow(left.days, right.days, &sum.days) ||
      __builtin_add_overflow(left.time_us, right.time_us, &sum.time_us))
    return out_of_range();
  return sum;
}

Result<Interval> negate(const Interval& interval) {
  Interval negated;
  if (__builtin_sub_overflow(0, interval.months, &negated.months) ||
      __builtin_sub_overflow(0, interval.days, &negated.days) ||
      __builtin_sub_overflow(std::int64_t{0}, interval.time_us, &negated.time_us))
    return out_of_range();
  return negated;
}

// As PostgreSQL's interval_mul(), which rounds what is carried to microseconds.
Result<Interval> multiply(const Interval& interval, double factor) {
  const auto rounded = [](double value) { return std::rint(value * 1e6) / 1e6; };
  const double months = interval.months * factor;
  const double days = interval.days * factor;
  if (!(std::abs(months) < 0x1p31) || !(std::abs(days) < 0x1p31)) return out_of_range();
  Interval product{static_cast<std::int32_t>(months), static_cast<std::int32_t>(days), 0};
  const double month_days = rounded((months - product.months) * 30);
  double seconds = rounded((days - product.days + month_days - std::trunc(month_days)) * 86'400);
  double whole_days = std::trunc(month_days);
  if (std::abs(seconds) >= 86'400) {
    whole_days += std::trunc(seconds / 86'400);
    seconds -= std::trunc(seconds / 86'400) * 86'400;
  }
  const double time_us = std::rint(static_cast<double>(interval.time_us) * factor + seconds * 1e6);
  if (!(std::abs(time_us) < 0x1p63) || !(std::abs(product.days + whole_days) < 0x1p31)) return out_of_range();
  product.days += static_cast<std::int32_t>(whole_days);
  product.time_us = static_cast<std::int64_t>(time_us);
  return product;
}

Interval with_days(std::int64_t time_us) {
  return {0, static_cast<std::int32_t>(time_us / kDay_us), time_us % kDay_us};
}

Result<std::int64_t> add_interval(std::int64_t timestamp_us, const Interval& interval) {
  if (is_infinite_timestamp(timestamp_us)) return timestamp_us;
  const Result<std::int64_t> day_us = add_calendar(timestamp_us, interval);
  return day_us.ok() ? add_time(*day_us, interval.time_us) : day_us;
}

Result<std::int64_t> add_interval(std::int64_t utc_us, const Interval& interval, const absl::TimeZone& zone) {
  if (is_infinite_timestamp(utc_us)) return utc_us;
  if (interval.months == 0 && interval.days == 0) return add_time(utc_us, interval.time_us);
  const Result<std::int64_t> clock_us = add_calendar(local_of_utc(utc_us, zone), interval);
  return clock_us.ok() ? add_time(utc_of_local(*clock_us, zone), interval.time_us) : clock_us;
}

Interval age(std::int64_t left_us, std::int64_t right_us) {
  const bool negative = left_us < right_us;
  const DayTime later = day_time_of(negative ? right_us : left_us);
  const DayTime earlier = day_time_of(negative ? left_us : right_us);
  const CalendarDate to = date_of_days(later.days);
  const CalendarDate from = date_of_days(earlier.days);
  std::int64_t months = (to.year - from.year) * 12 + to.month - from.month;
  std::int64_t days = to.day - from.day;
  std::int64_t time_us = later.time_us - earlier.time_us;
  if (time_us < 0) {
    time_us += kDay_us;
    --days;
  }
  if (days < 0) {
    days += days_in_month(from.year, from.month);
    --months;
  }
  const std::int64_t sign = negative ? -1 : 1;
  return {static_cast<std::int32_t>(sign * months), static_cast<std::int32_t>(sign * days), sign * time_us};
}

}  // namespace namdb::sql
