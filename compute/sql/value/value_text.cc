#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "compute/sql/value/characters.h"
#include "compute/sql/value/enumeration.h"
#include "compute/sql/value/interval.h"
#include "compute/sql/value/jsonb.h"
#include "compute/sql/value/timestamp.h"
#include "compute/sql/value/value_format.h"

namespace namdb::sql {
namespace {

Status invalid(std::string_view text, TypeId type) {
  return Status(ErrorCode::invalid_text, "invalid input syntax for type " + std::string(type_name(type)) +
                                             ": \"" + std::string(text) + "\"");
}

bool equal_ignoring_case(std::string_view a, std::string_view lower) {
  return a.size() == lower.size() && std::equal(a.begin(), a.end(), lower.begin(), [](char x, char y) {
           return std::tolower(static_cast<unsigned char>(x)) == y;
         });
}

// Whether the word is a prefix of one of PostgreSQL's names of a boolean: "t", "tr", "yes", "of", "1", ...
bool parse_boolean(std::string_view text, bool& value) {
  const std::string_view word = without_spaces_around(text);
  const auto abbreviates = [word](std::string_view whole, std::size_t least) {
    return word.size() >= least && word.size() <= whole.size() &&
           equal_ignoring_case(word, whole.substr(0, word.size()));
  };
  if (word == "1" || abbreviates("true", 1) || abbreviates("yes", 1) || abbreviates("on", 2)) {
    value = true;
    return true;
  }
  if (word == "0" || abbreviates("false", 1) || abbreviates("no", 1) || abbreviates("off", 2)) {
    value = false;
    return true;
  }
  return false;
}

Status parse_integer(std::string_view text, TypeId type, std::int64_t& value) {
  std::string_view digits = without_spaces_around(text);
  if (digits.size() > 1 && digits.front() == '+' && digits[1] != '-') digits.remove_prefix(1);
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc::invalid_argument || stop != digits.data() + digits.size())
    return invalid(text, type);
  const bool fits =
      error == std::errc() &&
      (type == TypeId::int8 || (type == TypeId::int4 && value == static_cast<std::int32_t>(value)) ||
       (type == TypeId::int2 && value == static_cast<std::int16_t>(value)));
  if (!fits) {
    return Status(
        ErrorCode::numeric_out_of_range,
        "value \"" + std::string(text) + "\" is out of range for type " + std::string(type_name(type)));
  }
  return {};
}

// PostgreSQL takes what strtoul() does, negative numbers included.
Status parse_oid(std::string_view text, std::int64_t& value) {
  const std::string_view digits = without_spaces_around(text);
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc::invalid_argument || stop != digits.data() + digits.size())
    return invalid(text, TypeId::oid);
  if (error != std::errc() || value < INT32_MIN || value > std::int64_t{UINT32_MAX}) {
    return Status(ErrorCode::numeric_out_of_range,
                  "value \"" + std::string(text) + "\" is out of range for type oid");
  }
  value = static_cast<std::int64_t>(static_cast<std::uint32_t>(value));
  return {};
}

constexpr std::size_t kMaxName_bytes = 63;

// The length of the longest prefix of so many bytes that ends between two characters.
std::size_t prefix_within(std::string_view text, std::size_t most_bytes) {
  std::size_t end = std::min(text.size(), most_bytes);
  while (end < text.size() && end > 0 && (text[end] & 0xc0) == 0x80) --end;
  return end;
}

template <typename Real>
Status parse_real(std::string_view text, TypeId type, double& value) {
  std::string_view digits = without_spaces_around(text);
  if (digits.size() > 1 && digits.front() == '+' && digits[1] != '-') digits.remove_prefix(1);
  Real number = 0;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error == std::errc::invalid_argument || stop != digits.data() + digits.size())
    return invalid(text, type);
  if (error == std::errc::result_out_of_range) {
    return Status(ErrorCode::numeric_out_of_range,
                  "\"" + std::string(text) + "\" is out of range for type " + std::string(type_name(type)));
  }
  value = static_cast<double>(number);
  return {};
}

void append_integer(std::string& out, std::int64_t value) {
  std::array<char, 24> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  out.append(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
}

// Whether the number lies in the middle between two neighbors of that type: it has one bit more than they
// can have. Of others the digits are too many, or the exponent is too large, for a number of few bits.
template <typename Real>
bool is_between_neighbors(std::string_view digits, int exponent_of_last) {
  constexpr int kMostPower = 23;  // 5^23 has 54 bits
  if (exponent_of_last > kMostPower || exponent_of_last < -kMostPower) return false;
  unsigned __int128 number = 0;
  for (const char digit : digits) number = number * 10 + static_cast<unsigned>(digit - '0');
  for (int power = exponent_of_last; power > 0; --power) number *= 5;
  for (int power = exponent_of_last; power < 0; ++power) {
    if (number % 5 != 0) return false;
    number /= 5;
  }
  if (number == 0) return false;
  while (number % 2 == 0) number /= 2;
  int bits = 0;
  for (; number != 0; number /= 2) ++bits;
  return bits == std::numeric_limits<Real>::digits + 1;
}

// A number as d.ddd and an exponent, in the fewest digits that lie nearer to it than to any other number:
// like PostgreSQL, not those in the middle between two, though they read back as the even one of them.
template <typename Real>
std::string_view scientific_text(Real value, std::array<char, 40>& buffer) {
  char* const end = buffer.data() + buffer.size();
  const auto text_to = [&](const char* stop) {
    return std::string_view(buffer.data(), static_cast<std::size_t>(stop - buffer.data()));
  };
  const auto is_middle = [](std::string_view text) {
    std::string digits;
    const std::size_t e = text.find('e');
    for (const char c : text.substr(0, e)) {
      if (c >= '0' && c <= '9') digits += c;
    }
    int exponent = 0;
    const std::size_t begin = e + (text[e + 1] == '+' ? 2 : 1);
    std::from_chars(text.data() + begin, text.data() + text.size(), exponent);
    return is_between_neighbors<Real>(digits, exponent - static_cast<int>(digits.size()) + 1);
  };
  std::string_view text =
      text_to(std::to_chars(buffer.data(), end, value, std::chars_format::scientific).ptr);
  if (!is_middle(text)) return text;
  constexpr int kMostDigits = std::numeric_limits<Real>::max_digits10;
  const std::size_t point = text.find('.');
  const auto behind_point = point == std::string_view::npos ? 0 : text.find('e') - point - 1;
  for (int precision = static_cast<int>(behind_point) + 1; precision < kMostDigits; ++precision) {
    text = text_to(std::to_chars(buffer.data(), end, value, std::chars_format::scientific, precision).ptr);
    Real same = 0;
    std::from_chars(text.data(), text.data() + text.size(), same);
    if (same == value && !is_middle(text)) break;
  }
  return text;
}

// Laid out as PostgreSQL does it: with an exponent where it is not below `exponent_from`.
template <typename Real>
void append_real(std::string& out, Real value, int exponent_from) {
  if (std::isnan(value)) {
    out += "NaN";
    return;
  }
  if (std::isinf(value)) {
    out += value < 0 ? "-Infinity" : "Infinity";
    return;
  }
  std::array<char, 40> buffer;
  std::string_view text = scientific_text(value, buffer);
  if (text.front() == '-') {
    out += '-';
    text.remove_prefix(1);
  }
  const std::size_t e = text.find('e');
  int exponent = 0;
  const char* exponent_begin = text.data() + e + 1;
  if (*exponent_begin == '+') ++exponent_begin;
  std::from_chars(exponent_begin, text.data() + text.size(), exponent);
  std::string digits(1, text[0]);
  if (e > 2) digits.append(text.substr(2, e - 2));
  const int count = static_cast<int>(digits.size());
  if (exponent < -4 || exponent >= exponent_from) {
    out += digits[0];
    if (count > 1) out.append(".").append(digits, 1);
    out += exponent < 0 ? "e-" : "e+";
    const int size = std::abs(exponent);
    if (size < 10) out += '0';
    append_integer(out, size);
  } else if (exponent < 0) {
    out += "0.";
    out.append(static_cast<std::size_t>(-exponent - 1), '0').append(digits);
  } else if (count <= exponent + 1) {
    out.append(digits).append(static_cast<std::size_t>(exponent + 1 - count), '0');
  } else {
    out.append(digits, 0, static_cast<std::size_t>(exponent) + 1).append(".");
    out.append(digits, static_cast<std::size_t>(exponent) + 1);
  }
}

}  // namespace

void append_text(std::string& out, const Type& type, const Datum& value, const absl::TimeZone& zone) {
  switch (type.id) {
    case TypeId::boolean:
      out += value.integer != 0 ? 't' : 'f';
      break;
    case TypeId::int2:
    case TypeId::int4:
    case TypeId::int8:
      append_integer(out, value.integer);
      break;
    case TypeId::float4:
      append_real(out, static_cast<float>(value.real), 6);
      break;
    case TypeId::float8:
      append_real(out, value.real, 15);
      break;
    case TypeId::numeric:
      append(out, value.decimal());
      break;
    case TypeId::timestamp:
      append_timestamp(out, value.integer);
      break;
    case TypeId::timestamptz:
      append_timestamp(out, value.integer, zone);
      break;
    case TypeId::date:
      append_date(out, value.integer);
      break;
    case TypeId::time:
      append_time(out, value.integer);
      break;
    case TypeId::timetz: {
      const ZonedTime time = zoned_time(value.integer);
      append_time(out, time.time_us);
      append_zone_offset(out, time.offset_s);
      break;
    }
    case TypeId::interval:
      append_interval(out, value.interval());
      break;
    case TypeId::uuid:
      append_uuid_text(out, value.text);
      break;
    case TypeId::bytea:
      append_bytea_text(out, value.text);
      break;
    case TypeId::oid:
      append_integer(out, value.integer);
      break;
    default:
      if (type.is_array()) {
        append_array_text(out, type.id, value, zone);
      } else if (type.is_enumeration()) {
        out += enumeration_label(type.id, value.integer);
      } else {
        out += value.text;
      }
      break;
  }
}

namespace {

Status take_integer(const Result<std::int64_t>& value, Datum& out) {
  if (value.ok()) out.integer = *value;
  return value.ok() ? Status() : value.status();
}

}  // namespace

Status parse_text(std::string_view text, TypeId type, const TimeContext& time, Arena& arena, Datum& out) {
  out = Datum();
  out.null = false;
  switch (type) {
    case TypeId::boolean: {
      bool value = false;
      if (!parse_boolean(text, value)) return invalid(text, type);
      out.integer = value ? 1 : 0;
      return {};
    }
    case TypeId::int2:
    case TypeId::int4:
    case TypeId::int8:
      return parse_integer(text, type, out.integer);
    case TypeId::float4:
      return parse_real<float>(text, type, out.real);
    case TypeId::float8:
      return parse_real<double>(text, type, out.real);
    case TypeId::numeric: {
      const Result<Decimal> number = parse_decimal(text);
      if (!number.ok()) return number.status();
      out = Datum::of_decimal(*number);
      return {};
    }
    case TypeId::timestamp:
      return take_integer(parse_timestamp(text, time), out);
    case TypeId::timestamptz:
      return take_integer(parse_timestamp_with_zone(text, time), out);
    case TypeId::date:
      return take_integer(parse_date(text, time), out);
    case TypeId::time:
      return take_integer(parse_time(text, time), out);
    case TypeId::timetz: {
      const Result<ZonedTime> zoned = parse_time_with_zone(text, time);
      if (zoned.ok()) out.integer = packed(*zoned);
      return zoned.status();
    }
    case TypeId::interval: {
      const Result<Interval> interval = parse_interval(text);
      if (!interval.ok()) return interval.status();
      out = Datum::of_interval(*interval);
      return {};
    }
    case TypeId::uuid:
      return parse_uuid_text(without_spaces_around(text), arena, out);
    case TypeId::bytea:
      return parse_bytea_text(text, arena, out);
    case TypeId::json:
      if (Status status = check_utf8(text); !status.ok()) return status;
      out.text = text;
      return check_json(text);
    case TypeId::jsonb:
      if (Status status = check_utf8(text); !status.ok()) return status;
      return parse_jsonb(text, arena, out);
    case TypeId::oid:
      return parse_oid(text, out.integer);
    case TypeId::char1:
      text = text.substr(0, 1);
      break;
    case TypeId::name:
      text = text.substr(0, prefix_within(text, kMaxName_bytes));
      break;
    default:
      if (Type{type}.is_array()) return parse_array_text(text, type, time, arena, out);
      if (Type{type}.is_catalog_object()) return invalid(text, type);
      if (Type{type}.is_enumeration()) return parse_enumeration(text, type, out.integer);
      break;
  }
  out.text = text;
  return check_utf8(text);
}

namespace {

// The number of bytes at the text's beginning that are ASCII and not zero: at least the first one. Most texts
// have no others, so they are examined eight at a time.
std::size_t plain_bytes(std::string_view text) {
  constexpr std::uint64_t kLow = 0x0101'0101'0101'0101;
  constexpr std::uint64_t kHigh = 0x8080'8080'8080'8080;
  std::size_t at = 0;
  for (std::uint64_t word = 0; at + sizeof word <= text.size(); at += sizeof word) {
    std::memcpy(&word, text.data() + at, sizeof word);
    if (((word | (word - kLow)) & kHigh) != 0) break;
  }
  while (at < text.size() && text[at] != 0 && (text[at] & 0x80) == 0) ++at;
  return at;
}

}  // namespace

Status check_utf8(std::string_view text) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  std::size_t at = 0;
  while (at < text.size()) {
    const unsigned char c = bytes[at];
    if (c >= 1 && c < 0x80) {
      at += plain_bytes(text.substr(at));
      continue;
    }
    const std::size_t length = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
    bool valid = c >= 0xc2 && c <= 0xf4 && length <= text.size() - at;
    for (std::size_t i = 1; valid && i < length; ++i) valid = (bytes[at + i] & 0xc0) == 0x80;
    if (valid && length > 2) {
      const unsigned char next = bytes[at + 1];
      // Overlong forms, surrogates, and what lies beyond U+10FFFF.
      valid = !(c == 0xe0 && next < 0xa0) && !(c == 0xed && next >= 0xa0) && !(c == 0xf0 && next < 0x90) &&
              !(c == 0xf4 && next >= 0x90);
    }
    if (!valid) {
      std::string message = "invalid byte sequence for encoding \"UTF8\":";
      std::array<char, 8> hex;
      // As many as the first one announces.
      const bool announces = c >= 0xc0 && c < 0xf8;
      const std::size_t shown = announces ? std::min(length, text.size() - at) : 1;
      for (std::size_t i = 0; i < shown; ++i) {
        std::snprintf(hex.data(), hex.size(), " 0x%02x", bytes[at + i]);
        message += hex.data();
      }
      return Status(ErrorCode::invalid_encoding, std::move(message));
    }
    at += length;
  }
  return {};
}

}  // namespace namdb::sql
