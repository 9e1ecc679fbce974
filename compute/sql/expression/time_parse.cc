#include "compute/sql/expression/time_parse.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

#include "compute/sql/value/calendar.h"
#include "compute/sql/value/characters.h"

namespace namdb::sql {
namespace {

constexpr std::array<std::string_view, 12> kMonthNames = {"january",   "february", "march",    "april",
                                                          "may",       "june",     "july",     "august",
                                                          "september", "october",  "november", "december"};
constexpr std::array<std::string_view, 7> kDayNames = {"sunday",   "monday", "tuesday", "wednesday",
                                                       "thursday", "friday", "saturday"};

enum class PatternField : std::uint8_t {
  year,
  short_year,
  month,
  month_name,
  month_short,
  day,
  day_of_year,
  day_name,
  day_short,
  julian_day,
  hour,
  hour_of_12,
  half,
  minute,
  second,
  second_of_day,
  millisecond,
  microsecond,
  fraction,
  era,
  zone_hours,
  zone_minutes,
  refused
};

struct TemplateField {
  std::string_view name;
  PatternField field = PatternField::refused;
  std::size_t length = 0;  // digits
};

// A longer one comes before those with which it begins.
constexpr auto kFields = std::to_array<TemplateField>({
    {"Y,YYY"},
    {"SSSSS", PatternField::second_of_day, 5},
    {"MONTH", PatternField::month_name},
    {"YYYY", PatternField::year, 4},
    {"HH24", PatternField::hour, 2},
    {"HH12", PatternField::hour_of_12, 2},
    {"SSSS", PatternField::second_of_day, 5},
    {"IYYY"},
    {"IDDD"},
    {"A.D.", PatternField::era},
    {"B.C.", PatternField::era},
    {"A.M.", PatternField::half},
    {"P.M.", PatternField::half},
    {"YYY", PatternField::short_year, 3},
    {"DDD", PatternField::day_of_year, 3},
    {"DAY", PatternField::day_name},
    {"MON", PatternField::month_short},
    {"IYY"},
    {"TZH", PatternField::zone_hours, 2},
    {"TZM", PatternField::zone_minutes, 2},
    {"FF1", PatternField::fraction, 1},
    {"FF2", PatternField::fraction, 2},
    {"FF3", PatternField::fraction, 3},
    {"FF4", PatternField::fraction, 4},
    {"FF5", PatternField::fraction, 5},
    {"FF6", PatternField::fraction, 6},
    {"YY", PatternField::short_year, 2},
    {"MM", PatternField::month, 2},
    {"DD", PatternField::day, 2},
    {"DY", PatternField::day_short},
    {"HH", PatternField::hour_of_12, 2},
    {"MI", PatternField::minute, 2},
    {"SS", PatternField::second, 2},
    {"MS", PatternField::millisecond, 3},
    {"US", PatternField::microsecond, 6},
    {"AM", PatternField::half},
    {"PM", PatternField::half},
    {"AD", PatternField::era},
    {"BC", PatternField::era},
    {"IY"},
    {"ID"},
    {"IW"},
    {"WW"},
    {"CC"},
    {"RM"},
    {"FX"},
    {"TM"},
    {"TZ"},
    {"OF"},
    {"Y", PatternField::short_year, 1},
    {"J", PatternField::julian_day, 0},
    {"D"},
    {"I"},
    {"W"},
    {"Q"},
});

bool is_blank(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

bool is_separator(char c) {
  return c > ' ' && c < 0x7f && !is_digit(c) && !(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z');
}

// As of 2020: 70 is 1970, and 69 is 2069.
std::int64_t whole_year(std::int64_t year) {
  return year < 70 ? year + 2000 : year < 100 ? year + 1900 : year < 520 ? year + 2000 : year + 1000;
}

class TimeReader {
 public:
  TimeReader(std::string_view input, std::string_view pattern)
      : whole_(input), text_(input), pattern_(pattern) {}

  Result<ReadTime> run() {
    while (!pattern_.empty()) {
      if (pattern_.size() >= 2 && in_upper_case(pattern_.substr(0, 2)) == "FM") {
        pattern_.remove_prefix(2);
        continue;
      }
      const TemplateField* const field = find_field();
      if (field == nullptr) {
        pass_character();
        continue;
      }
      const std::string_view name = pattern_.substr(0, field->name.size());
      pattern_.remove_prefix(field->name.size());
      if (field->field == PatternField::refused)
        return Status(ErrorCode::feature_not_supported,
                      "pattern " + std::string(name) + " in to_date() and to_timestamp() is not supported");
      if (pattern_.size() >= 2 && in_upper_case(pattern_.substr(0, 2)) == "TH")
        return Status(ErrorCode::feature_not_supported,
                      "pattern TH in to_date() and to_timestamp() is not supported");
      skip_blanks();
      // The text may end before its template.
      if (text_.empty()) break;
      if (Status status = read(*field, name); !status.ok()) return status;
    }
    return result();
  }

 private:
  const TemplateField* find_field() const {
    const std::string upper = in_upper_case(pattern_.substr(0, 5));
    const auto found = std::ranges::find_if(kFields, [&upper](const TemplateField& field) {
      return std::string_view(upper).starts_with(field.name);
    });
    return found == kFields.end() ? nullptr : &*found;
  }

  void skip_blanks() {
    for (; !text_.empty() && is_blank(text_.front()); text_.remove_prefix(1)) ++skipped_;
  }

  // A character of the template that is not a field: a blank or a separator matches one of these or nothing,
  // any other matches one character. Characters in quotes are others.
  void pass_character() {
    const char c = pattern_.front();
    pattern_.remove_prefix(1);
    if (c == '"') {
      while (!pattern_.empty() && pattern_.front() != '"') {
        pass_other();
        pattern_.remove_prefix(1);
      }
      if (!pattern_.empty()) pattern_.remove_prefix(1);
      return;
    }
    if (!is_blank(c) && !is_separator(c)) return pass_other();
    --skipped_;
    if (text_.empty() || (!is_blank(text_.front()) && !is_separator(text_.front()))) return;
    text_.remove_prefix(1);
    ++skipped_;
  }

  void pass_other() {
    if (skipped_ > 0) {
      --skipped_;
    } else if (!text_.empty()) {
      text_.remove_prefix(prefix_bytes(text_, 1));
    }
  }

  // Whether digits of the text may go on behind the field's length: nothing of the template follows that
  // could be digits.
  bool ends_at_separator() const {
    if (pattern_.empty()) return true;
    const TemplateField* const next = find_field();
    if (next != nullptr) return next->length == 0 && next->field != PatternField::julian_day;
    return !is_digit(pattern_.front());
  }

  static Status invalid(std::string_view value, std::string_view name) {
    return Status(ErrorCode::invalid_datetime,
                  "invalid value \"" + std::string(value) + "\" for \"" + std::string(name) + "\"");
  }

  // `digits`: of the text that were read.
  Status number(const TemplateField& field, std::string_view name, std::int64_t& out, std::size_t& digits) {
    const bool open = field.length == 0 || ends_at_separator();
    std::string_view part = open ? text_ : text_.substr(0, field.length);
    if (!open && part.size() < field.length) {
      return Status(ErrorCode::invalid_datetime,
                    "source string too short for \"" + std::string(name) + "\" formatting field");
    }
    const bool plus = part.starts_with('+');
    if (plus) part.remove_prefix(1);
    std::int64_t value = 0;
    const auto [stop, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    const auto used = static_cast<std::size_t>(stop - part.data());
    if (error == std::errc::invalid_argument || (!open && used != part.size()))
      return invalid(text_.substr(0, open ? 4 : field.length), name);
    if (error != std::errc() || value != static_cast<std::int32_t>(value))
      return Status(ErrorCode::datetime_out_of_range,
                    "value for \"" + std::string(name) + "\" in source string is out of range");
    digits = used;
    out = value;
    text_.remove_prefix(used + (plus ? 1 : 0));
    return {};
  }

  template <std::size_t kCount>
  Status word(const std::array<std::string_view, kCount>& words, bool is_short, std::string_view name,
              std::int64_t& place) {
    const std::string lower = in_lower_case(text_.substr(0, 16));
    for (std::size_t i = 0; i < kCount; ++i) {
      const std::string_view wanted = is_short ? words[i].substr(0, 3) : words[i];
      if (!std::string_view(lower).starts_with(wanted)) continue;
      text_.remove_prefix(wanted.size());
      place = static_cast<std::int64_t>(i);
      return {};
    }
    const std::size_t end = std::min(text_.find_first_of(" \t\n"), text_.size());
    return invalid(text_.substr(0, end), name);
  }

  Status read_half_or_era(const TemplateField& field, std::string_view name) {
    const bool points = field.name.find('.') != std::string_view::npos;
    const std::string upper = in_upper_case(text_.substr(0, points ? 4 : 2));
    const std::string_view later =
        field.field == PatternField::half ? (points ? "P.M." : "PM") : (points ? "B.C." : "BC");
    const std::string_view earlier =
        field.field == PatternField::half ? (points ? "A.M." : "AM") : (points ? "A.D." : "AD");
    if (upper != later && upper != earlier) return invalid(text_.substr(0, upper.size()), name);
    text_.remove_prefix(upper.size());
    if (field.field == PatternField::half) {
      is_afternoon_ = upper == later;
      has_half_ = true;
    } else {
      before_christ_ = upper == later;
    }
    return {};
  }

  Status read(const TemplateField& field, std::string_view name) {
    std::int64_t value = 0;
    std::size_t digits = 0;
    switch (field.field) {
      case PatternField::half:
      case PatternField::era:
        return read_half_or_era(field, name);
      case PatternField::day_name:
      case PatternField::day_short:
        return word(kDayNames, field.field == PatternField::day_short, name, value);
      case PatternField::month_name:
      case PatternField::month_short: {
        Status status = word(kMonthNames, field.field == PatternField::month_short, name, value);
        month_ = value + 1;
        return status;
      }
      case PatternField::zone_hours: {
        is_west_ = text_.starts_with('-');
        if (is_west_ || text_.starts_with('+')) text_.remove_prefix(1);
        break;
      }
      default:
        break;
    }
    if (Status status = number(field, name, value, digits); !status.ok()) return status;
    switch (field.field) {
      case PatternField::year:
        year_ = value;
        break;
      case PatternField::short_year:
        year_ = digits < 4 ? whole_year(value) : value;
        break;
      case PatternField::month:
        month_ = value;
        break;
      case PatternField::day:
        day_ = value;
        break;
      case PatternField::day_of_year:
        in_year_ = value;
        break;
      case PatternField::julian_day:
        julian_ = value;
        break;
      case PatternField::hour_of_12:
        of_12_ = true;
        [[fallthrough]];
      case PatternField::hour:
        hour_ = value;
        break;
      case PatternField::minute:
        minute_ = value;
        break;
      case PatternField::second:
        second_ = value;
        break;
      case PatternField::second_of_day:
        hour_ = value / 3600;
        minute_ = value / 60 % 60;
        second_ = value % 60;
        break;
      case PatternField::millisecond:
      case PatternField::microsecond:
      case PatternField::fraction: {
        // They are digits behind the point.
        const std::size_t length = field.field == PatternField::millisecond ? 3 : 6;
        for (std::size_t i = digits; i < length; ++i) value *= 10;
        fraction_us_ = field.field == PatternField::millisecond ? value * 1000 : value;
        break;
      }
      case PatternField::zone_hours:
        zone_s_ = zone_s_.value_or(0) + value * 3600;
        break;
      case PatternField::zone_minutes:
        zone_s_ = zone_s_.value_or(0) + value * 60;
        break;
      default:
        break;
    }
    return {};
  }

  Status out_of_range() const {
    return Status(ErrorCode::datetime_out_of_range,
                  "date/time field value out of range: \"" + std::string(whole_) + "\"");
  }

  Result<ReadTime> result() {
    // As far as a zone may be from Greenwich.
    constexpr std::int64_t kMostOffset_s = 15 * 3600 + 59 * 60 + 59;
    if (zone_s_ && (*zone_s_ < -kMostOffset_s || *zone_s_ > kMostOffset_s)) return out_of_range();
    if (of_12_ && (hour_ < 1 || hour_ > 12)) {
      return Status(ErrorCode::invalid_datetime,
                    "hour \"" + std::to_string(hour_) + "\" is invalid for the 12-hour clock",
                    "Use the 24-hour clock, or give an hour between 1 and 12.");
    }
    if (has_half_ && is_afternoon_ && hour_ < 12) hour_ += 12;
    if (has_half_ && !is_afternoon_ && hour_ == 12) hour_ = 0;
    if (before_christ_ && year_ > 0) year_ = 1 - year_;
    std::int64_t days = 0;
    if (julian_) {
      days = *julian_ - kJulianDay;
    } else if (in_year_ != 0) {
      const std::int64_t first = days_of_date({year_, 1, 1});
      if (in_year_ < 1 || in_year_ > days_of_date({year_ + 1, 1, 1}) - first) return out_of_range();
      days = first + in_year_ - 1;
    } else {
      if (month_ < 1 || month_ > 12 || day_ < 1 || day_ > days_in_month(year_, month_)) return out_of_range();
      days = days_of_date({year_, month_, day_});
    }
    const bool in_day = hour_ >= 0 && hour_ < 24 && minute_ >= 0 && minute_ < 60 && second_ >= 0 &&
                        second_ < 60 && fraction_us_ >= 0 && fraction_us_ < kSecond_us;
    if (!in_day) return out_of_range();
    constexpr std::int64_t kMostDays = 106'000'000;
    if (days > kMostDays || days < -kJulianDay) return out_of_range();
    ReadTime read;
    read.clock_us =
        days * kDay_us + hour_ * kHour_us + minute_ * kMinute_us + second_ * kSecond_us + fraction_us_;
    if (zone_s_) read.offset_s = is_west_ ? -*zone_s_ : *zone_s_;
    return read;
  }

  std::string_view whole_;
  std::string_view text_;     // that is left
  std::string_view pattern_;  // likewise
  std::int64_t skipped_ = 0;  // blanks of the text beyond those of the template
  std::int64_t year_ = 0;
  std::int64_t month_ = 1;
  std::int64_t day_ = 1;
  std::int64_t in_year_ = 0;
  std::optional<std::int64_t> julian_;
  std::int64_t hour_ = 0;
  std::int64_t minute_ = 0;
  std::int64_t second_ = 0;
  std::int64_t fraction_us_ = 0;
  std::optional<std::int64_t> zone_s_;
  bool is_west_ = false;
  bool of_12_ = false;
  bool has_half_ = false;
  bool is_afternoon_ = false;
  bool before_christ_ = false;
};

}  // namespace

Result<ReadTime> read_time(std::string_view text, std::string_view pattern) {
  return TimeReader(text, pattern).run();
}

}  // namespace namdb::sql
