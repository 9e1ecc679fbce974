// PostgreSQL's forms of intervals as input.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <vector>

#include "compute/sql/value/calendar.h"
#include "compute/sql/value/characters.h"
#include "compute/sql/value/interval.h"
#include "compute/sql/value/types.h"

namespace namdb::sql {
namespace {

enum class Unit : std::uint8_t {
  none,
  microsecond,
  millisecond,
  second,
  minute,
  hour,
  day,
  week,
  month,
  year,
  decade,
  century,
  millennium,
  ago,
  other,  // one that intervals do not have
};

struct UnitName {
  std::string_view name;
  Unit unit;
};

// Only the first ten letters of a word count.
constexpr std::size_t kWord_letters = 10;
constexpr auto kUnitNames = std::to_array<UnitName>({
    {"ago", Unit::ago},
    {"c", Unit::century},
    {"cent", Unit::century},
    {"centuries", Unit::century},
    {"century", Unit::century},
    {"d", Unit::day},
    {"day", Unit::day},
    {"days", Unit::day},
    {"dec", Unit::decade},
    {"decade", Unit::decade},
    {"decades", Unit::decade},
    {"decs", Unit::decade},
    {"h", Unit::hour},
    {"hour", Unit::hour},
    {"hours", Unit::hour},
    {"hr", Unit::hour},
    {"hrs", Unit::hour},
    {"m", Unit::minute},
    {"microsecon", Unit::microsecond},
    {"mil", Unit::millennium},
    {"millennia", Unit::millennium},
    {"millennium", Unit::millennium},
    {"millisecon", Unit::millisecond},
    {"mils", Unit::millennium},
    {"min", Unit::minute},
    {"mins", Unit::minute},
    {"minute", Unit::minute},
    {"minutes", Unit::minute},
    {"mon", Unit::month},
    {"mons", Unit::month},
    {"month", Unit::month},
    {"months", Unit::month},
    {"ms", Unit::millisecond},
    {"msec", Unit::millisecond},
    {"mseconds", Unit::millisecond},
    {"msecs", Unit::millisecond},
    {"qtr", Unit::other},
    {"quarter", Unit::other},
    {"s", Unit::second},
    {"sec", Unit::second},
    {"second", Unit::second},
    {"seconds", Unit::second},
    {"secs", Unit::second},
    {"us", Unit::microsecond},
    {"usec", Unit::microsecond},
    {"usecond", Unit::microsecond},
    {"useconds", Unit::microsecond},
    {"usecs", Unit::microsecond},
    {"w", Unit::week},
    {"week", Unit::week},
    {"weeks", Unit::week},
    {"y", Unit::year},
    {"year", Unit::year},
    {"years", Unit::year},
    {"yr", Unit::year},
    {"yrs", Unit::year},
});

std::optional<Unit> unit_named(std::string_view word) {
  const auto found = std::ranges::find(kUnitNames, word.substr(0, kWord_letters), &UnitName::name);
  return found == kUnitNames.end() ? std::nullopt : std::optional(found->unit);
}

enum class Outcome : std::uint8_t { ok, malformed, out_of_range };

// The sum of the parts that have been read.
class Sum {
 public:
  Outcome add(Unit unit, std::int64_t whole, double fraction) {
    switch (unit) {
      case Unit::microsecond:
        return add_time(whole, 1, fraction);
      case Unit::millisecond:
        return add_time(whole, 1000, fraction);
      case Unit::second:
        return add_time(whole, kSecond_us, fraction);
      case Unit::minute:
        return add_time(whole, kMinute_us, fraction);
      case Unit::hour:
        return add_time(whole, kHour_us, fraction);
      case Unit::day:
        return add_days(whole, 1, fraction);
      case Unit::week:
        return add_days(whole, 7, fraction);
      case Unit::month: {
        const Outcome outcome = add_to(interval_.months, whole, 1);
        return outcome == Outcome::ok ? add_days(0, 30, fraction) : outcome;
      }
      case Unit::year:
        return add_years(whole, 1, fraction);
      case Unit::decade:
        return add_years(whole, 10, fraction);
      case Unit::century:
        return add_years(whole, 100, fraction);
      case Unit::millennium:
        return add_years(whole, 1000, fraction);
      default:
        return Outcome::malformed;
    }
  }
  // "01:02:03.4"; `negative` turns all of it. It takes the place of the time that larger units behind it
  // left.
  Outcome add_clock(std::int64_t hours, std::int64_t minutes, std::int64_t seconds, double fraction,
                    bool negative) {
    interval_.time_us = 0;
    const std::int64_t sign = negative ? -1 : 1;
    Outcome outcome = add_time(sign * hours, kHour_us, 0);
    if (outcome == Outcome::ok) outcome = add_time(sign * minutes, kMinute_us, 0);
    const double sign_of_fraction = negative ? -1 : 1;
    return outcome == Outcome::ok ? add_time(sign * seconds, kSecond_us, sign_of_fraction * fraction)
                                  : outcome;
  }
  // The other way round. False: some number has no opposite.
  bool turn() {
    const Result<Interval> negated = negate(interval());
    std::int32_t years = 0;
    if (!negated.ok() || __builtin_sub_overflow(0, years_, &years)) return false;
    interval_ = *negated;
    years_ = years;
    return true;
  }
  const Interval& interval() const { return interval_; }
  // Years and months together; nullopt: too many.
  std::optional<Interval> whole() const {
    const std::int64_t months = std::int64_t{years_} * 12 + interval_.months;
    if (months != static_cast<std::int32_t>(months)) return std::nullopt;
    return Interval{static_cast<std::int32_t>(months), interval_.days, interval_.time_us};
  }

 private:
  static Outcome add_to(std::int32_t& sum, std::int64_t count, std::int32_t factor) {
    std::int32_t product = 0;
    const bool overflow = count != static_cast<std::int32_t>(count) ||
                          __builtin_mul_overflow(static_cast<std::int32_t>(count), factor, &product) ||
                          __builtin_add_overflow(sum, product, &sum);
    return overflow ? Outcome::out_of_range : Outcome::ok;
  }
  Outcome add_time(std::int64_t whole, std::int64_t unit_us, double fraction) {
    std::int64_t product_us = 0;
    if (__builtin_mul_overflow(whole, unit_us, &product_us) ||
        __builtin_add_overflow(interval_.time_us, product_us, &interval_.time_us))
      return Outcome::out_of_range;
    // Rounded half toward zero.
    const double part_us = fraction * static_cast<double>(unit_us);
    std::int64_t rounded_us = static_cast<std::int64_t>(part_us);
    const double rest_us = part_us - static_cast<double>(rounded_us);
    if (rest_us > 0.5) ++rounded_us;
    if (rest_us < -0.5) --rounded_us;
    return __builtin_add_overflow(interval_.time_us, rounded_us, &interval_.time_us) ? Outcome::out_of_range
                                                                                     : Outcome::ok;
  }
  Outcome add_days(std::int64_t whole, std::int32_t days, double fraction) {
    if (const Outcome outcome = add_to(interval_.days, whole, days); outcome != Outcome::ok) return outcome;
    const double part = fraction * days;
    const auto extra = static_cast<std::int32_t>(part);
    if (const Outcome outcome = add_to(interval_.days, extra, 1); outcome != Outcome::ok) return outcome;
    return add_time(0, kDay_us, part - extra);
  }
  Outcome add_years(std::int64_t whole, std::int32_t years, double fraction) {
    if (const Outcome outcome = add_to(years_, whole, years); outcome != Outcome::ok) return outcome;
    return add_to(interval_.months, static_cast<std::int64_t>(std::rint(fraction * years * 12)), 1);
  }

  std::int32_t years_ = 0;
  Interval interval_;
};

std::size_t digits_at(std::string_view text) {
  std::size_t length = 0;
  while (length < text.size() && is_digit(text[length])) ++length;
  return length;
}

// Takes a number of digits off the front; nullopt: there is none, or it is too long.
std::optional<std::int64_t> take_digits(std::string_view& text) {
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + digits_at(text), value);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  return value;
}

// ".5" at the front; none is 0.
std::optional<double> take_fraction(std::string_view& text) {
  if (!text.starts_with('.')) return 0.0;
  const std::size_t length = 1 + digits_at(text.substr(1));
  double value = 0;
  if (length > 1) std::from_chars(text.data(), text.data() + length, value, std::chars_format::fixed);
  text.remove_prefix(length);
  return value;
}

// The unit of a number without one.
Unit last_unit(std::int32_t fields) {
  if (fields == kAllFields || (fields & kSecondField) != 0) return Unit::second;
  if ((fields & kMinuteField) != 0) return Unit::minute;
  if ((fields & kHourField) != 0) return Unit::hour;
  if ((fields & kDayField) != 0) return Unit::day;
  if ((fields & kMonthField) != 0) return Unit::month;
  return (fields & kYearField) != 0 ? Unit::year : Unit::second;
}

struct Token {
  enum class Kind : std::uint8_t { number, clock, word };
  Kind kind = Kind::number;
  char sign = ' ';
  std::string_view text;
};

// Words, and numbers with their signs: "1", "1.5", "1-2", "01:02:03".
bool split(std::string_view text, std::vector<Token>& tokens) {
  while (!text.empty()) {
    const char c = text.front();
    if (is_space(c)) {
      text.remove_prefix(1);
      continue;
    }
    Token token;
    if (c == '+' || c == '-') {
      token.sign = c;
      text.remove_prefix(1);
      while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
      if (text.empty() || (!is_digit(text.front()) && text.front() != '.')) return false;
    }
    if (is_letter(text.front())) {
      std::size_t length = 0;
      while (length < text.size() && is_letter(text[length])) ++length;
      token.kind = Token::Kind::word;
      token.text = text.substr(0, length);
      const std::string_view rest = text.substr(length);
      if (rest.starts_with('-') || rest.starts_with('/') || rest.starts_with('.')) return false;
    } else if (is_digit(text.front()) || text.front() == '.') {
      std::size_t length = 0;
      while (length < text.size() &&
             (is_digit(text[length]) || text[length] == ':' || text[length] == '.' || text[length] == '-'))
        ++length;
      token.text = text.substr(0, length);
      if (token.text.find(':') != std::string_view::npos) token.kind = Token::Kind::clock;
    } else {
      // Other signs only part the words.
      if (!std::ispunct(static_cast<unsigned char>(c))) return false;
      text.remove_prefix(1);
      continue;
    }
    text.remove_prefix(token.text.size());
    tokens.push_back(token);
  }
  return true;
}

class Reader {
 public:
  Reader(std::string_view text, std::int32_t fields) : lower_(in_lower_case(text)), fields_(fields) {}

  // From the last word to the first one, since a unit stands behind its number.
  Outcome read(Sum& sum) {
    std::vector<Token> tokens;
    if (!split(lower_, tokens)) return Outcome::malformed;
    bool ago = false;
    Unit unit = Unit::none;
    for (std::size_t i = tokens.size(); i > 0; --i) {
      const Token& token = tokens[i - 1];
      if (token.kind == Token::Kind::word) {
        const std::optional<Unit> named = unit_named(token.text);
        if (!named || *named == Unit::other) return Outcome::malformed;
        if (*named == Unit::ago) ago = true;
        unit = *named;
        continue;
      }
      Outcome outcome =
          token.kind == Token::Kind::clock ? read_clock(token, sum, unit) : read_number(token, sum, unit);
      // With a sign it might be something else than a time.
      if (outcome == Outcome::out_of_range && token.kind == Token::Kind::clock && token.sign != ' ')
        outcome = Outcome::malformed;
      if (outcome != Outcome::ok) return outcome;
    }
    if (seen_ == 0) return Outcome::malformed;
    return ago && !sum.turn() ? Outcome::out_of_range : Outcome::ok;
  }

 private:
  // No unit twice.
  Outcome see(Unit unit) {
    const std::uint32_t bit = 1U << static_cast<unsigned>(unit);
    if ((seen_ & bit) != 0) return Outcome::malformed;
    seen_ |= bit;
    return Outcome::ok;
  }

  Outcome read_clock(const Token& token, Sum& sum, Unit& unit) {
    std::string_view rest = token.text;
    const auto first = take_digits(rest);
    if (!first) return Outcome::out_of_range;
    std::int64_t hours = *first;
    std::int64_t minutes = 0;
    std::int64_t seconds = 0;
    rest.remove_prefix(rest.starts_with(':') ? 1 : 0);
    if (digits_at(rest) > 0) {
      const auto second = take_digits(rest);
      if (!second) return Outcome::out_of_range;
      minutes = *second;
    }
    if (rest.starts_with(':')) {
      rest.remove_prefix(1);
      const auto third = take_digits(rest);
      if (!third) return Outcome::malformed;
      seconds = *third;
    } else if (rest.starts_with('.') || fields_ == (kMinuteField | kSecondField)) {
      seconds = minutes;
      minutes = hours;
      hours = 0;
    }
    const auto fraction = take_fraction(rest);
    if (!fraction || !rest.empty()) return Outcome::malformed;
    if (minutes > 59 || seconds > 60) return Outcome::out_of_range;
    for (const Unit part : {Unit::hour, Unit::minute, Unit::second, Unit::millisecond, Unit::microsecond}) {
      if (see(part) != Outcome::ok) return Outcome::malformed;
    }
    unit = Unit::day;  // of a number before it
    return sum.add_clock(hours, minutes, seconds, *fraction, token.sign == '-');
  }

  Outcome read_number(const Token& token, Sum& sum, Unit& unit) {
    if (unit == Unit::none) unit = last_unit(fields_);
    std::string_view rest = token.text;
    std::int64_t whole = 0;
    if (!rest.starts_with('.')) {
      const auto digits = take_digits(rest);
      if (!digits) return Outcome::out_of_range;
      whole = *digits;
    }
    double fraction = 0;
    if (rest.starts_with('-')) {
      // "years-months".
      rest.remove_prefix(1);
      const auto months = take_digits(rest);
      if (!months || !rest.empty()) return Outcome::malformed;
      if (*months >= 12 || __builtin_mul_overflow(whole, std::int64_t{12}, &whole) ||
          __builtin_add_overflow(whole, *months, &whole))
        return Outcome::out_of_range;
      unit = Unit::month;
    } else {
      const auto part = take_fraction(rest);
      if (!part || !rest.empty()) return Outcome::malformed;
      fraction = *part;
    }
    if (see(unit) != Outcome::ok) return Outcome::malformed;
    if (unit == Unit::second && fraction != 0) {
      // Its fraction is smaller units.
      if (see(Unit::millisecond) != Outcome::ok || see(Unit::microsecond) != Outcome::ok)
        return Outcome::malformed;
    }
    const bool negative = token.sign == '-';
    const Outcome outcome = sum.add(unit, negative ? -whole : whole, negative ? -fraction : fraction);
    if (unit == Unit::hour) unit = Unit::day;
    return outcome;
  }

  std::string lower_;
  std::int32_t fields_;
  std::uint32_t seen_ = 0;
};

// "P1Y2M3DT4H5M6S", "P0001-02-03T04:05:06" and "P00010203T040506".
class IsoReader {
 public:
  explicit IsoReader(std::string_view text) : rest_(text) {}

  Outcome read(Sum& sum) {
    if (rest_.size() < 2 || !take('P')) return Outcome::malformed;
    bool in_time = false;
    bool any = false;  // a field of the date, or of the time
    while (!rest_.empty()) {
      if (!in_time && take('T')) {
        in_time = true;
        any = false;
        continue;
      }
      if (!number()) return Outcome::malformed;
      const char unit = rest_.empty() ? '\0' : rest_.front();
      if (unit == '\0' || unit == (in_time ? ':' : '-') || unit == 'T') {
        if (any) return Outcome::malformed;
        const Outcome outcome = in_time ? read_time(sum) : read_date(sum);
        if (outcome != Outcome::ok || rest_.empty()) return outcome;
        if (in_time || !take('T')) return Outcome::malformed;
        in_time = true;
        continue;
      }
      rest_.remove_prefix(1);
      const Unit named = in_time       ? unit == 'H'   ? Unit::hour
                                         : unit == 'M' ? Unit::minute
                                         : unit == 'S' ? Unit::second
                                                       : Unit::none
                         : unit == 'Y' ? Unit::year
                         : unit == 'M' ? Unit::month
                         : unit == 'W' ? Unit::week
                         : unit == 'D' ? Unit::day
                                       : Unit::none;
      if (const Outcome outcome = sum.add(named, whole_, fraction_); outcome != Outcome::ok) return outcome;
      any = true;
    }
    return Outcome::ok;
  }

 private:
  bool take(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool number() {
    const std::string_view before = rest_;
    const bool negative = take('-');
    width_ = digits_at(rest_);
    if (width_ == 0 && !rest_.starts_with('.')) return false;
    std::optional<std::int64_t> digits = 0;
    if (width_ > 0) digits = take_digits(rest_);
    const auto part = take_fraction(rest_);
    if (!digits || !part) return false;
    whole_ = negative ? -*digits : *digits;
    fraction_ = negative ? -*part : *part;
    if (before.starts_with('-')) width_ = 0;
    return true;
  }
  // The parts of a date whose first number has been read.
  Outcome read_date(Sum& sum) {
    if (width_ == 8 && !rest_.starts_with('-')) {
      Outcome outcome = sum.add(Unit::year, whole_ / 10'000, 0);
      if (outcome == Outcome::ok) outcome = sum.add(Unit::month, whole_ / 100 % 100, 0);
      return outcome == Outcome::ok ? sum.add(Unit::day, whole_ % 100, fraction_) : outcome;
    }
    return read_parts(sum, '-', {Unit::year, Unit::month, Unit::day});
  }
  Outcome read_time(Sum& sum) {
    if (width_ == 6 && rest_.empty())
      return sum.add_clock(whole_ / 10'000, whole_ / 100 % 100, whole_ % 100, fraction_, false);
    return read_parts(sum, ':', {Unit::hour, Unit::minute, Unit::second});
  }
  Outcome read_parts(Sum& sum, char separator, std::initializer_list<Unit> units) {
    bool first = true;
    for (const Unit unit : units) {
      if (!std::exchange(first, false)) {
        if (rest_.empty() || rest_.front() == 'T') return Outcome::ok;
        if (!take(separator) || !number()) return Outcome::malformed;
      }
      if (const Outcome outcome = sum.add(unit, whole_, fraction_); outcome != Outcome::ok) return outcome;
    }
    return Outcome::ok;
  }

  std::string_view rest_;
  std::int64_t whole_ = 0;
  double fraction_ = 0;
  std::size_t width_ = 0;  // digits of the last number
};

}  // namespace

Result<Interval> parse_interval(std::string_view text, std::int32_t fields) {
  Sum sum;
  Outcome outcome = Reader(text, fields).read(sum);
  if (outcome == Outcome::malformed) {
    sum = {};
    outcome = IsoReader(text).read(sum);
  }
  if (outcome == Outcome::malformed) {
    return Status(ErrorCode::invalid_datetime,
                  "invalid input syntax for type interval: \"" + std::string(text) + "\"");
  }
  if (outcome == Outcome::out_of_range) {
    return Status(ErrorCode::interval_overflow,
                  "interval field value out of range: \"" + std::string(text) + "\"");
  }
  const std::optional<Interval> interval = sum.whole();
  if (!interval) return Status(ErrorCode::datetime_out_of_range, "interval out of range");
  return *interval;
}

}  // namespace namdb::sql
