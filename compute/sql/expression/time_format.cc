#include "compute/sql/expression/time_format.h"

#include <array>
#include <cstdlib>
#include <optional>

#include "compute/sql/value/calendar.h"
#include "compute/sql/value/characters.h"
#include "compute/sql/value/time_zone.h"

namespace namdb::sql {
namespace {

constexpr std::array<std::string_view, 12> kMonths = {"January",   "February", "March",    "April",
                                                      "May",       "June",     "July",     "August",
                                                      "September", "October",  "November", "December"};
constexpr std::array<std::string_view, 7> kDays = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                   "Thursday", "Friday", "Saturday"};
constexpr std::array<std::string_view, 12> kRoman = {"I",   "II",   "III", "IV", "V",  "VI",
                                                     "VII", "VIII", "IX",  "X",  "XI", "XII"};

enum class Case : std::uint8_t { upper, title, lower };

// A longer pattern comes before those with which it begins.
constexpr auto kPatterns = std::to_array<std::string_view>(
    {"SSSSS", "Y,YYY", "MONTH", "Month", "month", "HH24", "HH12", "SSSS", "YYYY", "IYYY", "IDDD",
     "A.D.",  "a.d.",  "B.C.",  "b.c.",  "A.M.",  "a.m.", "P.M.", "p.m.", "DDD",  "DAY",  "Day",
     "day",   "MON",   "Mon",   "mon",   "YYY",   "IYY",  "TZH",  "TZM",  "tzh",  "tzm",  "FF1",
     "FF2",   "FF3",   "FF4",   "FF5",   "FF6",   "HH",   "MI",   "SS",   "MS",   "US",   "AM",
     "am",    "PM",    "pm",    "AD",    "ad",    "BC",   "bc",   "YY",   "IY",   "MM",   "DD",
     "DY",    "Dy",    "dy",    "ID",    "IW",    "WW",   "CC",   "RM",   "rm",   "TZ",   "tz",
     "OF",    "D",     "Y",     "I",     "W",     "J",    "Q"});

class Formatter {
 public:
  Formatter(std::string_view pattern, const ShownTime& time)
      : rest_(pattern), time_(time), parts_(day_time_of(time.clock_us)), date_(date_of_days(parts_.days)) {}

  Result<std::string> run() {
    while (!rest_.empty()) {
      if (take_quoted()) continue;
      fills_ = !take("FM") && !take("fm");
      if (rest_.starts_with("TM") || rest_.starts_with("tm"))
        return Status(ErrorCode::feature_not_supported, "pattern TM in to_char() is not supported");
      if (take("FX") || take("fx")) continue;
      const std::optional<std::string_view> found = find_pattern();
      if (!found) {
        out_ += rest_.front();
        rest_.remove_prefix(1);
        continue;
      }
      rest_.remove_prefix(found->size());
      const std::size_t begin = out_.size();
      append(*found);
      if (take("TH")) append_ordinal(begin, Case::upper);
      if (take("th")) append_ordinal(begin, Case::lower);
    }
    return std::move(out_);
  }

 private:
  bool take(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  // Text between quotes, and a character behind a backslash, stands for itself.
  bool take_quoted() {
    if (rest_.starts_with("\\\"")) {
      out_ += '"';
      rest_.remove_prefix(2);
      return true;
    }
    if (!take("\"")) return false;
    while (!rest_.empty() && rest_.front() != '"') {
      if (rest_.front() == '\\' && rest_.size() > 1) rest_.remove_prefix(1);
      out_ += rest_.front();
      rest_.remove_prefix(1);
    }
    take("\"");
    return true;
  }

  std::optional<std::string_view> find_pattern() const {
    for (const std::string_view pattern : kPatterns) {
      if (rest_.starts_with(pattern)) return pattern;
    }
    // Numbers may be written in lower case.
    const std::string upper = in_upper_case(rest_.substr(0, 5));
    for (const std::string_view pattern : kPatterns) {
      const bool has_letters = pattern == in_upper_case(pattern);
      if (has_letters && std::string_view(upper).starts_with(pattern)) return pattern;
    }
    return std::nullopt;
  }

  void number(std::int64_t value, std::size_t digits) {
    std::string text = std::to_string(std::abs(value));
    if (fills_ && text.size() < digits) text.insert(0, digits - text.size(), '0');
    if (value < 0) out_ += '-';
    out_ += text;
  }

  void name(std::string_view name, std::string_view pattern, std::size_t width) {
    std::string text = pattern == in_upper_case(pattern)   ? in_upper_case(name)
                       : pattern == in_lower_case(pattern) ? in_lower_case(name)
                                                           : std::string(name);
    if (fills_ && text.size() < width) text.resize(width, ' ');
    out_ += text;
  }

  void append_ordinal(std::size_t begin, Case letters) {
    const std::string_view text = std::string_view(out_).substr(begin);
    if (text.empty() || !is_digit(text.back())) return;
    const bool teen = text.size() > 1 && text[text.size() - 2] == '1';
    const char last = text.back();
    const std::string_view ending = teen || last < '1' || last > '3' ? "th"
                                    : last == '1'                    ? "st"
                                    : last == '2'                    ? "nd"
                                                                     : "rd";
    out_ += letters == Case::upper ? in_upper_case(ending) : std::string(ending);
  }

  std::int64_t shown_year(std::int64_t year) const { return year <= 0 ? 1 - year : year; }

  void year(std::int64_t full, std::size_t digits) {
    std::int64_t modulus = 1;
    for (std::size_t i = 0; i < digits; ++i) modulus *= 10;
    number(digits == 4 ? shown_year(full) : shown_year(full) % modulus, digits);
  }

  // Whether the pattern is of the clock, and has been appended.
  bool append_clock(std::string_view p) {
    const std::int64_t second = parts_.time_us / kSecond_us;
    const std::int64_t hour = second / 3600;
    const std::int64_t fraction_us = parts_.time_us % kSecond_us;
    if (p == "HH24") {
      number(hour, 2);
    } else if (p == "HH12" || p == "HH") {
      number(hour % 12 == 0 ? 12 : hour % 12, 2);
    } else if (p == "MI") {
      number(second / 60 % 60, 2);
    } else if (p == "SS") {
      number(second % 60, 2);
    } else if (p == "SSSS" || p == "SSSSS") {
      number(second, 1);
    } else if (p == "MS" || p == "FF3") {
      number(fraction_us / 1000, 3);
    } else if (p == "US" || p == "FF6") {
      number(fraction_us, 6);
    } else if (p.starts_with("FF")) {
      const auto digits = static_cast<std::size_t>(p[2] - '0');
      std::int64_t unit_us = kSecond_us;
      for (std::size_t i = 0; i < digits; ++i) unit_us /= 10;
      number(fraction_us / unit_us, digits);
    } else if (p == "AM" || p == "PM") {
      out_ += hour < 12 ? "AM" : "PM";
    } else if (p == "am" || p == "pm") {
      out_ += hour < 12 ? "am" : "pm";
    } else if (p == "A.M." || p == "P.M.") {
      out_ += hour < 12 ? "A.M." : "P.M.";
    } else if (p == "a.m." || p == "p.m.") {
      out_ += hour < 12 ? "a.m." : "p.m.";
    } else {
      return append_zone(p);
    }
    return true;
  }

  bool append_zone(std::string_view p) {
    if (p == "TZ") {
      out_ += time_.zone;
    } else if (p == "tz") {
      out_ += in_lower_case(time_.zone);
    } else if (p == "TZH" || p == "tzh") {
      out_ += time_.offset_s < 0 ? '-' : '+';
      number(std::abs(time_.offset_s) / 3600, 2);
    } else if (p == "TZM" || p == "tzm") {
      number(std::abs(time_.offset_s) / 60 % 60, 2);
    } else if (p == "OF") {
      append_zone_offset(out_, time_.offset_s);
    } else {
      return false;
    }
    return true;
  }

  void append(std::string_view p) {
    if (append_clock(p)) return;
    constexpr std::size_t kNameWidth = 9;
    const IsoWeek week = iso_week_of(parts_.days);
    const std::int64_t weekday = day_of_week(parts_.days);
    const bool before_christ = date_.year <= 0;
    const std::string_view month = kMonths[static_cast<std::size_t>(date_.month - 1)];
    const std::string_view day = kDays[static_cast<std::size_t>(weekday)];
    const std::int64_t in_year = day_of_year(date_);
    if (p == "Y,YYY") {
      const std::int64_t shown = shown_year(date_.year);
      out_ += std::to_string(shown / 1000) + ",";
      const std::string rest = std::to_string(shown % 1000);
      out_.append(3 - rest.size(), '0').append(rest);
    } else if (p[0] == 'Y') {
      year(date_.year, p.size());
    } else if (p == "I" || p == "IY" || p == "IYY" || p == "IYYY") {
      year(week.year, p.size());
    } else if (p == "MM") {
      number(date_.month, 2);
    } else if (in_lower_case(p) == "month") {
      name(month, p, kNameWidth);
    } else if (in_lower_case(p) == "mon") {
      name(month.substr(0, 3), p, 0);
    } else if (in_lower_case(p) == "day") {
      name(day, p, kNameWidth);
    } else if (in_lower_case(p) == "dy") {
      name(day.substr(0, 3), p, 0);
    } else if (p == "DD") {
      number(date_.day, 2);
    } else if (p == "DDD") {
      number(in_year, 3);
    } else if (p == "IDDD") {
      number((week.week - 1) * 7 + (weekday + 6) % 7 + 1, 3);
    } else if (p == "D") {
      number(weekday + 1, 1);
    } else if (p == "ID") {
      number((weekday + 6) % 7 + 1, 1);
    } else if (p == "W") {
      number((date_.day - 1) / 7 + 1, 1);
    } else if (p == "WW") {
      number((in_year - 1) / 7 + 1, 2);
    } else if (p == "IW") {
      number(week.week, 2);
    } else if (p == "CC") {
      number(century_of(date_.year), 2);
    } else if (p == "J") {
      number(parts_.days + kJulianDay, 1);
    } else if (p == "Q") {
      number((date_.month - 1) / 3 + 1, 1);
    } else if (in_lower_case(p) == "rm") {
      name(kRoman[static_cast<std::size_t>(date_.month - 1)], p, 4);
    } else {
      // An era, with points or without.
      const bool points = p.find('.') != std::string_view::npos;
      name(before_christ ? (points ? "B.C." : "BC") : (points ? "A.D." : "AD"), p, 0);
    }
  }

  std::string_view rest_;
  const ShownTime& time_;
  DayTime parts_;
  CalendarDate date_;
  bool fills_ = true;
  std::string out_;
};

}  // namespace

Result<std::string> format_time(std::string_view pattern, const ShownTime& time) {
  return Formatter(pattern, time).run();
}

}  // namespace namdb::sql
