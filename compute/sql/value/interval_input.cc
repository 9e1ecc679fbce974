// PostgreSQL's forms of intervals as input.
#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <vector>

#include "compute/sql/value/calendar.h"
#include "compute/sql/value/characters.h"
#include "compute/sql/value/interval.h"
#include "compute/sql/value/interval_sum.h"
#include "compute/sql/value/types.h"

namespace namdb::sql {
namespace {

struct UnitName {
  std::string_view name;
  IntervalUnit unit;
};

// Only the first ten letters of a word count.
constexpr std::size_t kWord_letters = 10;
constexpr auto kUnitNames = std::to_array<UnitName>({
    {"ago", IntervalUnit::ago},
    {"c", IntervalUnit::century},
    {"cent", IntervalUnit::century},
    {"centuries", IntervalUnit::century},
    {"century", IntervalUnit::century},
    {"d", IntervalUnit::day},
    {"day", IntervalUnit::day},
    {"days", IntervalUnit::day},
    {"dec", IntervalUnit::decade},
    {"decade", IntervalUnit::decade},
    {"decades", IntervalUnit::decade},
    {"decs", IntervalUnit::decade},
    {"h", IntervalUnit::hour},
    {"hour", IntervalUnit::hour},
    {"hours", IntervalUnit::hour},
    {"hr", IntervalUnit::hour},
    {"hrs", IntervalUnit::hour},
    {"m", IntervalUnit::minute},
    {"microsecon", IntervalUnit::microsecond},
    {"mil", IntervalUnit::millennium},
    {"millennia", IntervalUnit::millennium},
    {"millennium", IntervalUnit::millennium},
    {"millisecon", IntervalUnit::millisecond},
    {"mils", IntervalUnit::millennium},
    {"min", IntervalUnit::minute},
    {"mins", IntervalUnit::minute},
    {"minute", IntervalUnit::minute},
    {"minutes", IntervalUnit::minute},
    {"mon", IntervalUnit::month},
    {"mons", IntervalUnit::month},
    {"month", IntervalUnit::month},
    {"months", IntervalUnit::month},
    {"ms", IntervalUnit::millisecond},
    {"msec", IntervalUnit::millisecond},
    {"mseconds", IntervalUnit::millisecond},
    {"msecs", IntervalUnit::millisecond},
    {"qtr", IntervalUnit::other},
    {"quarter", IntervalUnit::other},
    {"s", IntervalUnit::second},
    {"sec", IntervalUnit::second},
    {"second", IntervalUnit::second},
    {"seconds", IntervalUnit::second},
    {"secs", IntervalUnit::second},
    {"us", IntervalUnit::microsecond},
    {"usec", IntervalUnit::microsecond},
    {"usecond", IntervalUnit::microsecond},
    {"useconds", IntervalUnit::microsecond},
    {"usecs", IntervalUnit::microsecond},
    {"w", IntervalUnit::week},
    {"week", IntervalUnit::week},
    {"weeks", IntervalUnit::week},
    {"y", IntervalUnit::year},
    {"year", IntervalUnit::year},
    {"years", IntervalUnit::year},
    {"yr", IntervalUnit::year},
    {"yrs", IntervalUnit::year},
});

std::optional<IntervalUnit> unit_named(std::string_view word) {
  const auto found = std::ranges::find(kUnitNames, word.substr(0, kWord_letters), &UnitName::name);
  return found == kUnitNames.end() ? std::nullopt : std::optional(found->unit);
}

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
IntervalUnit last_unit(std::int32_t fields) {
  if (fields == kAllFields || (fields & kSecondField) != 0) return IntervalUnit::second;
  if ((fields & kMinuteField) != 0) return IntervalUnit::minute;
  if ((fields & kHourField) != 0) return IntervalUnit::hour;
  if ((fields & kDayField) != 0) return IntervalUnit::day;
  if ((fields & kMonthField) != 0) return IntervalUnit::month;
  return (fields & kYearField) != 0 ? IntervalUnit::year : IntervalUnit::second;
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
  IntervalOutcome read(IntervalSum& sum) {
    std::vector<Token> tokens;
    if (!split(lower_, tokens)) return IntervalOutcome::malformed;
    bool ago = false;
    IntervalUnit unit = IntervalUnit::none;
    for (std::size_t i = tokens.size(); i > 0; --i) {
      const Token& token = tokens[i - 1];
      if (token.kind == Token::Kind::word) {
        const std::optional<IntervalUnit> named = unit_named(token.text);
        if (!named || *named == IntervalUnit::other) return IntervalOutcome::malformed;
        if (*named == IntervalUnit::ago) ago = true;
        unit = *named;
        continue;
      }
      IntervalOutcome outcome =
          token.kind == Token::Kind::clock ? read_clock(token, sum, unit) : read_number(token, sum, unit);
      // With a sign it might be something else than a time.
      if (outcome == IntervalOutcome::out_of_range && token.kind == Token::Kind::clock && token.sign != ' ')
        outcome = IntervalOutcome::malformed;
      if (outcome != IntervalOutcome::ok) return outcome;
    }
    if (seen_ == 0) return IntervalOutcome::malformed;
    return ago && !sum.turn() ? IntervalOutcome::out_of_range : IntervalOutcome::ok;
  }

 private:
  // No unit twice.
  IntervalOutcome see(IntervalUnit unit) {
    const std::uint32_t bit = 1U << static_cast<unsigned>(unit);
    if ((seen_ & bit) != 0) return IntervalOutcome::malformed;
    seen_ |= bit;
    return IntervalOutcome::ok;
  }

  IntervalOutcome read_clock(const Token& token, IntervalSum& sum, IntervalUnit& unit) {
    std::string_view rest = token.text;
    const auto first = take_digits(rest);
    if (!first) return IntervalOutcome::out_of_range;
    std::int64_t hours = *first;
    std::int64_t minutes = 0;
    std::int64_t seconds = 0;
    rest.remove_prefix(rest.starts_with(':') ? 1 : 0);
    if (digits_at(rest) > 0) {
      const auto second = take_digits(rest);
      if (!second) return IntervalOutcome::out_of_range;
      minutes = *second;
    }
    if (rest.starts_with(':')) {
      rest.remove_prefix(1);
      const auto third = take_digits(rest);
      if (!third) return IntervalOutcome::malformed;
      seconds = *third;
    } else if (rest.starts_with('.') || fields_ == (kMinuteField | kSecondField)) {
      seconds = minutes;
      minutes = hours;
      hours = 0;
    }
    const auto fraction = take_fraction(rest);
    if (!fraction || !rest.empty()) return IntervalOutcome::malformed;
    if (minutes > 59 || seconds > 60) return IntervalOutcome::out_of_range;
    for (const IntervalUnit part : {IntervalUnit::hour, IntervalUnit::minute, IntervalUnit::second,
                                    IntervalUnit::millisecond, IntervalUnit::microsecond}) {
      if (see(part) != IntervalOutcome::ok) return IntervalOutcome::malformed;
    }
    unit = IntervalUnit::day;  // of a number before it
    return sum.add_clock(hours, minutes, seconds, *fraction, token.sign == '-');
  }

  IntervalOutcome read_number(const Token& token, IntervalSum& sum, IntervalUnit& unit) {
    if (unit == IntervalUnit::none) unit = last_unit(fields_);
    std::string_view rest = token.text;
    std::int64_t whole = 0;
    if (!rest.starts_with('.')) {
      const auto digits = take_digits(rest);
      if (!digits) return IntervalOutcome::out_of_range;
      whole = *digits;
    }
    double fraction = 0;
    if (rest.starts_with('-')) {
      // "years-months".
      rest.remove_prefix(1);
      const auto months = take_digits(rest);
      if (!months || !rest.empty()) return IntervalOutcome::malformed;
      if (*months >= 12 || __builtin_mul_overflow(whole, std::int64_t{12}, &whole) ||
          __builtin_add_overflow(whole, *months, &whole))
        return IntervalOutcome::out_of_range;
      unit = IntervalUnit::month;
    } else {
      const auto part = take_fraction(rest);
      if (!part || !rest.empty()) return IntervalOutcome::malformed;
      fraction = *part;
    }
    if (see(unit) != IntervalOutcome::ok) return IntervalOutcome::malformed;
    if (unit == IntervalUnit::second && fraction != 0) {
      // Its fraction is smaller units.
      if (see(IntervalUnit::millisecond) != IntervalOutcome::ok ||
          see(IntervalUnit::microsecond) != IntervalOutcome::ok)
        return IntervalOutcome::malformed;
    }
    const bool negative = token.sign == '-';
    const IntervalOutcome outcome = sum.add(unit, negative ? -whole : whole, negative ? -fraction : fraction);
    if (unit == IntervalUnit::hour) unit = IntervalUnit::day;
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

  IntervalOutcome read(IntervalSum& sum) {
    if (rest_.size() < 2 || !take('P')) return IntervalOutcome::malformed;
    bool in_time = false;
    bool any = false;  // a field of the date, or of the time
    while (!rest_.empty()) {
      if (!in_time && take('T')) {
        in_time = true;
        any = false;
        continue;
      }
      if (!number()) return IntervalOutcome::malformed;
      const char unit = rest_.empty() ? '\0' : rest_.front();
      if (unit == '\0' || unit == (in_time ? ':' : '-') || unit == 'T') {
        if (any) return IntervalOutcome::malformed;
        const IntervalOutcome outcome = in_time ? read_time(sum) : read_date(sum);
        if (outcome != IntervalOutcome::ok || rest_.empty()) return outcome;
        if (in_time || !take('T')) return IntervalOutcome::malformed;
        in_time = true;
        continue;
      }
      rest_.remove_prefix(1);
      const IntervalUnit named = in_time       ? unit == 'H'   ? IntervalUnit::hour
                                                 : unit == 'M' ? IntervalUnit::minute
                                                 : unit == 'S' ? IntervalUnit::second
                                                               : IntervalUnit::none
                                 : unit == 'Y' ? IntervalUnit::year
                                 : unit == 'M' ? IntervalUnit::month
                                 : unit == 'W' ? IntervalUnit::week
                                 : unit == 'D' ? IntervalUnit::day
                                               : IntervalUnit::none;
      if (const IntervalOutcome outcome = sum.add(named, whole_, fraction_); outcome != IntervalOutcome::ok)
        return outcome;
      any = true;
    }
    return IntervalOutcome::ok;
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
  IntervalOutcome read_date(IntervalSum& sum) {
    if (width_ == 8 && !rest_.starts_with('-')) {
      IntervalOutcome outcome = sum.add(IntervalUnit::year, whole_ / 10'000, 0);
      if (outcome == IntervalOutcome::ok) outcome = sum.add(IntervalUnit::month, whole_ / 100 % 100, 0);
      return outcome == IntervalOutcome::ok ? sum.add(IntervalUnit::day, whole_ % 100, fraction_) : outcome;
    }
    return read_parts(sum, '-', {IntervalUnit::year, IntervalUnit::month, IntervalUnit::day});
  }
  IntervalOutcome read_time(IntervalSum& sum) {
    if (width_ == 6 && rest_.empty())
      return sum.add_clock(whole_ / 10'000, whole_ / 100 % 100, whole_ % 100, fraction_, false);
    return read_parts(sum, ':', {IntervalUnit::hour, IntervalUnit::minute, IntervalUnit::second});
  }
  IntervalOutcome read_parts(IntervalSum& sum, char separator, std::initializer_list<IntervalUnit> units) {
    bool first = true;
    for (const IntervalUnit unit : units) {
      if (!std::exchange(first, false)) {
        if (rest_.empty() || rest_.front() == 'T') return IntervalOutcome::ok;
        if (!take(separator) || !number()) return IntervalOutcome::malformed;
      }
      if (const IntervalOutcome outcome = sum.add(unit, whole_, fraction_); outcome != IntervalOutcome::ok)
        return outcome;
    }
    return IntervalOutcome::ok;
  }

  std::string_view rest_;
  std::int64_t whole_ = 0;
  double fraction_ = 0;
  std::size_t width_ = 0;  // digits of the last number
};

}  // namespace

Result<Interval> parse_interval(std::string_view text, std::int32_t fields) {
  IntervalSum sum;
  IntervalOutcome outcome = Reader(text, fields).read(sum);
  if (outcome == IntervalOutcome::malformed) {
    sum = {};
    outcome = IsoReader(text).read(sum);
  }
  if (outcome == IntervalOutcome::malformed) {
    return Status(ErrorCode::invalid_datetime,
                  "invalid input syntax for type interval: \"" + std::string(text) + "\"");
  }
  if (outcome == IntervalOutcome::out_of_range) {
    return Status(ErrorCode::interval_overflow,
                  "interval field value out of range: \"" + std::string(text) + "\"");
  }
  const std::optional<Interval> interval = sum.whole();
  if (!interval) return Status(ErrorCode::datetime_out_of_range, "interval out of range");
  return *interval;
}

}  // namespace namdb::sql
