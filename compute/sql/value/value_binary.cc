#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include "compute/sql/value/bytes.h"
#include "compute/sql/value/calendar.h"
#include "compute/sql/value/enumeration.h"
#include "compute/sql/value/timestamp.h"
#include "compute/sql/value/value_format.h"

namespace namdb::sql {
namespace {

std::int64_t signed_big_endian(std::string_view bytes) {
  const auto shift = static_cast<unsigned>(64 - 8 * bytes.size());
  return static_cast<std::int64_t>(big_endian(bytes) << shift) >> shift;
}

// A numeric on the wire: count of base-10000 digits, weight of the first, sign, digits behind the point,
// digits.
constexpr std::uint16_t kNegative = 0x4000;

// The first byte of a jsonb; its text follows.
constexpr char kJsonbVersion = 1;

void append_numeric(std::string& out, const Decimal& number) {
  std::string digits = to_string(number);
  const bool negative = digits.front() == '-';
  if (negative) digits.erase(0, 1);
  const std::size_t point = std::min(digits.find('.'), digits.size());
  std::string whole = digits.substr(0, point);
  std::string fraction = point < digits.size() ? digits.substr(point + 1) : std::string();
  whole.insert(0, (4 - whole.size() % 4) % 4, '0');
  fraction.append((4 - fraction.size() % 4) % 4, '0');
  std::vector<std::uint16_t> groups;
  const std::string all = whole + fraction;
  for (std::size_t at = 0; at < all.size(); at += 4)
    groups.push_back(static_cast<std::uint16_t>(std::stoi(all.substr(at, 4))));
  int weight = static_cast<int>(whole.size() / 4) - 1;
  while (!groups.empty() && groups.front() == 0) {
    groups.erase(groups.begin());
    --weight;
  }
  while (!groups.empty() && groups.back() == 0) groups.pop_back();
  if (groups.empty()) weight = 0;
  append_big_endian(out, static_cast<std::uint16_t>(groups.size()));
  append_big_endian(out, static_cast<std::uint16_t>(weight));
  append_big_endian(out, static_cast<std::uint16_t>(negative && !groups.empty() ? kNegative : 0));
  append_big_endian(out, static_cast<std::uint16_t>(number.scale));
  for (const std::uint16_t group : groups) append_big_endian(out, group);
}

// Reads a value of fixed size.
Status wrong_size(std::string_view bytes, std::size_t expected) {
  if (bytes.size() < expected)
    return Status(ErrorCode::protocol_violation, "insufficient data left in message");
  return Status(ErrorCode::invalid_binary, "incorrect binary data format in bind parameter");
}

Status malformed() {
  return Status(ErrorCode::invalid_binary, "incorrect binary data format in bind parameter");
}

Status parse_numeric(std::string_view bytes, Datum& out) {
  if (bytes.size() < 8) return wrong_size(bytes, 8);
  const auto field = [bytes](std::size_t index) {
    return static_cast<std::uint16_t>(big_endian(bytes.substr(index * 2, 2)));
  };
  const std::size_t count = field(0);
  const int weight = static_cast<std::int16_t>(field(1));
  const std::uint16_t sign = field(2);
  const unsigned scale = field(3);
  if (bytes.size() != 8 + count * 2) return wrong_size(bytes, 8 + count * 2);
  if (sign != 0 && sign != kNegative) {
    if ((sign & 0xc000) != 0xc000) return malformed();
    return Status(ErrorCode::feature_not_supported, "numeric NaN and infinity are not supported");
  }
  if (weight > 16 || weight < -40 || count > 60 || scale > 1000) {
    return Status(ErrorCode::numeric_out_of_range,
                  "a numeric value can have at most " + std::to_string(kMaxDecimalDigits) + " digits");
  }
  // By way of its text: simple, and the bounds are checked in one place.
  std::string digits = sign == kNegative ? "-" : "";
  if (weight < 0) digits += "0";
  std::string fraction(weight < -1 ? static_cast<std::size_t>(-weight - 1) * 4 : 0, '0');
  for (std::size_t i = 0; i < std::max<std::size_t>(count, static_cast<std::size_t>(std::max(weight + 1, 0)));
       ++i) {
    const unsigned group = i < count ? field(4 + i) : 0;
    if (group > 9999) return malformed();
    std::string four = std::to_string(group);
    four.insert(0, 4 - four.size(), '0');
    (static_cast<int>(i) <= weight ? digits : fraction) += four;
  }
  fraction.resize(scale, '0');
  const Result<Decimal> number = parse_decimal(fraction.empty() ? digits : digits + "." + fraction);
  if (!number.ok()) return number.status();
  out = Datum::of_decimal(*number);
  return {};
}

}  // namespace

void append_binary(std::string& out, const Type& type, const Datum& value) {
  switch (type.id) {
    case TypeId::boolean:
      out += static_cast<char>(value.integer != 0 ? 1 : 0);
      break;
    case TypeId::int2:
      append_big_endian(out, static_cast<std::int16_t>(value.integer));
      break;
    case TypeId::int4:
      append_big_endian(out, static_cast<std::int32_t>(value.integer));
      break;
    case TypeId::int8:
    case TypeId::timestamp:
    case TypeId::timestamptz:
    case TypeId::time:
      append_big_endian(out, value.integer);
      break;
    case TypeId::timetz: {
      const ZonedTime time = zoned_time(value.integer);
      append_big_endian(out, time.time_us);
      append_big_endian(out, static_cast<std::int32_t>(-time.offset_s));
      break;
    }
    case TypeId::date:
      append_big_endian(out, static_cast<std::int32_t>(value.integer));
      break;
    case TypeId::interval:
      append_big_endian(out, value.integer);
      append_big_endian(out, value.calendar.days);
      append_big_endian(out, value.calendar.months);
      break;
    case TypeId::uuid:
    case TypeId::bytea:
      out += value.text;
      break;
    case TypeId::float4:
      append_big_endian(out, std::bit_cast<std::int32_t>(static_cast<float>(value.real)));
      break;
    case TypeId::float8:
      append_big_endian(out, std::bit_cast<std::int64_t>(value.real));
      break;
    case TypeId::numeric:
      append_numeric(out, value.decimal());
      break;
    case TypeId::jsonb:
      out += kJsonbVersion;
      out += value.text;
      break;
    case TypeId::char1:  // an empty one is a zero byte
      out += value.text.empty() ? '\0' : value.text.front();
      break;
    default:
      if (type.is_array()) {
        append_array_binary(out, type.id, value);
      } else if (type.type_class() == TypeClass::oid) {
        append_big_endian(out, static_cast<std::int32_t>(value.integer));
      } else {
        append_text(out, type, value);
      }
      break;
  }
}

namespace {

Status check_range(TypeId type, std::int64_t value) {
  if (type == TypeId::time && (value < 0 || value > kDay_us))
    return Status(ErrorCode::datetime_out_of_range, "time out of range");
  if (type == TypeId::date && !is_infinite_date(value)) return check_date(value);
  const bool is_timestamp = type == TypeId::timestamp || type == TypeId::timestamptz;
  if (is_timestamp && !is_infinite_timestamp(value)) return check_timestamp(value);
  return {};
}

}  // namespace

Status parse_binary(std::string_view bytes, TypeId type, Arena& arena, Datum& out) {
  out = Datum();
  out.null = false;
  switch (type) {
    case TypeId::boolean:
      if (bytes.size() != 1) return wrong_size(bytes, 1);
      out.integer = bytes[0] != 0 ? 1 : 0;
      return {};
    case TypeId::int2:
    case TypeId::int4:
    case TypeId::int8:
    case TypeId::timestamp:
    case TypeId::timestamptz:
    case TypeId::date:
    case TypeId::time:
      if (const auto expected = static_cast<std::size_t>(type_size(type)); bytes.size() != expected)
        return wrong_size(bytes, expected);
      out.integer = signed_big_endian(bytes);
      return check_range(type, out.integer);
    case TypeId::timetz: {
      if (bytes.size() != 12) return wrong_size(bytes, 12);
      const ZonedTime time{signed_big_endian(bytes.substr(0, 8)), -signed_big_endian(bytes.substr(8))};
      if (std::abs(time.offset_s) >= kMostZoneOffset_s)
        return Status(ErrorCode::invalid_zone_displacement, "time zone displacement out of range");
      out.integer = packed(time);
      return check_range(TypeId::time, time.time_us);
    }
    case TypeId::interval:
      if (bytes.size() != 16) return wrong_size(bytes, 16);
      out = Datum::of_interval({static_cast<std::int32_t>(signed_big_endian(bytes.substr(12))),
                                static_cast<std::int32_t>(signed_big_endian(bytes.substr(8, 4))),
                                signed_big_endian(bytes.substr(0, 8))});
      return {};
    case TypeId::uuid:
      if (bytes.size() != layout::kUuid_bytes) return wrong_size(bytes, layout::kUuid_bytes);
      out.text = bytes;
      return {};
    case TypeId::bytea:
      out.text = bytes;
      return {};
    case TypeId::jsonb:
      if (bytes.empty()) return wrong_size(bytes, 1);
      if (bytes.front() != kJsonbVersion) {
        return Status(ErrorCode::internal, "unsupported jsonb version number " +
                                               std::to_string(static_cast<unsigned char>(bytes.front())));
      }
      return parse_text(bytes.substr(1), type, TimeContext(), arena, out);
    case TypeId::float4:
      if (bytes.size() != 4) return wrong_size(bytes, 4);
      out.real = static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(big_endian(bytes))));
      return {};
    case TypeId::float8:
      if (bytes.size() != 8) return wrong_size(bytes, 8);
      out.real = std::bit_cast<double>(big_endian(bytes));
      return {};
    case TypeId::numeric:
      return parse_numeric(bytes, out);
    case TypeId::oid:
      if (bytes.size() != 4) return wrong_size(bytes, 4);
      out.integer = static_cast<std::int64_t>(big_endian(bytes));
      return {};
    case TypeId::char1:
      if (bytes.size() != 1) return wrong_size(bytes, 1);
      if (bytes.front() == '\0') return {};
      break;
    default:
      if (Type{type}.is_array()) return parse_array_binary(bytes, type, arena, out);
      if (Type{type}.is_catalog_object()) return malformed();
      if (Type{type}.is_enumeration()) return parse_enumeration(bytes, type, out.integer);
      break;
  }
  out.text = bytes;
  if (Status status = check_utf8(bytes); !status.ok()) return status;
  return type == TypeId::json ? check_json(bytes) : Status();
}

}  // namespace namdb::sql
