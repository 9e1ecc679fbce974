#include "compute/sql/value/cast.h"

#include <array>
#include <cmath>
#include <limits>

#include "compute/sql/value/array.h"
#include "compute/sql/value/calendar.h"
#include "compute/sql/value/characters.h"
#include "compute/sql/value/interval.h"
#include "compute/sql/value/json_text.h"
#include "compute/sql/value/time_precision.h"
#include "compute/sql/value/timestamp.h"
#include "compute/sql/value/value_format.h"
#include "compute/sql/value/zoned_time.h"

namespace namdb::sql {
namespace {

bool is_number(TypeClass c) {
  return c == TypeClass::integer || c == TypeClass::numeric || c == TypeClass::real;
}

// The order in which numbers convert implicitly: to the right only.
int number_rank(TypeId id) {
  switch (id) {
    case TypeId::int2:
      return 0;
    case TypeId::int4:
      return 1;
    case TypeId::int8:
      return 2;
    case TypeId::numeric:
      return 3;
    case TypeId::float4:
      return 4;
    default:
      return 5;
  }
}

// The same of dates and timestamps.
int time_rank(TypeId id) {
  return id == TypeId::date ? 0 : id == TypeId::timestamp ? 1 : 2;
}

Status out_of_range(TypeId id) {
  return Status(ErrorCode::numeric_out_of_range, std::string(type_name(id)) + " out of range");
}

Status to_integer_type(std::int64_t value, TypeId to, Datum& out) {
  if ((to == TypeId::int4 && value != static_cast<std::int32_t>(value)) ||
      (to == TypeId::int2 && value != static_cast<std::int16_t>(value))) {
    return out_of_range(to);
  }
  out = Datum::of_integer(value);
  return {};
}

Status apply_numeric_modifier(const Decimal& value, const Type& to, Datum& out) {
  const auto precision = to.numeric_precision();
  if (!precision) {
    out = Datum::of_decimal(value);
    return {};
  }
  const Result<Decimal> rounded = to_precision(value, *precision, *to.numeric_scale());
  if (!rounded.ok()) return rounded.status();
  out = Datum::of_decimal(*rounded);
  return {};
}

// float4 is kept as the double precision that equals it.
Status round_to_single(double value, Datum& out) {
  const double single = static_cast<double>(static_cast<float>(value));
  if (std::isinf(single) && !std::isinf(value))
    return Status(ErrorCode::numeric_out_of_range, "value out of range: overflow");
  if (single == 0 && value != 0)
    return Status(ErrorCode::numeric_out_of_range, "value out of range: underflow");
  out = Datum::of_real(single);
  return {};
}

Status to_number(const Datum& in, TypeId from, const Type& to, Datum& out) {
  const TypeClass source = Type{from}.type_class();
  switch (to.id) {
    case TypeId::int2:
    case TypeId::int4:
    case TypeId::int8: {
      std::int64_t value = in.integer;
      if (source == TypeClass::numeric) {
        const Result<std::int64_t> whole = to_integer(in.decimal());
        if (!whole.ok()) return out_of_range(to.id);
        value = *whole;
      } else if (source == TypeClass::real) {
        const double rounded = std::rint(in.real);
        if (!(rounded >= -0x1p63 && rounded < 0x1p63)) return out_of_range(to.id);
        value = static_cast<std::int64_t>(rounded);
      }
      return to_integer_type(value, to.id, out);
    }
    case TypeId::numeric: {
      if (source == TypeClass::integer) return apply_numeric_modifier({in.integer, 0}, to, out);
      if (source == TypeClass::numeric) return apply_numeric_modifier(in.decimal(), to, out);
      const Result<Decimal> value = decimal_from_double(in.real, from == TypeId::float4 ? 6 : 15);
      if (!value.ok()) return value.status();
      return apply_numeric_modifier(*value, to, out);
    }
    default: {
      const double value = source == TypeClass::integer   ? static_cast<double>(in.integer)
                           : source == TypeClass::numeric ? to_double(in.decimal())
                                                          : in.real;
      return to.id == TypeId::float4 ? round_to_single(value, out) : (out = Datum::of_real(value), Status());
    }
  }
}

Status to_string_type(std::string_view text, TypeId from, const Type& to, bool explicit_cast, Arena& arena,
                      Datum& out) {
  // It takes the first byte.
  if (to.id == TypeId::char1) text = text.substr(0, 1);
  // The blanks of char(n) have no meaning, and other types do not keep them.
  if (from == TypeId::bpchar && to.id != TypeId::bpchar) text = without_trailing_blanks(text);
  if (const auto length = to.length_characters()) {
    const std::size_t keep = prefix_bytes(text, *length);
    // Too many blanks are cut silently, as the standard wants; an explicit cast cuts anything.
    if (!explicit_cast && !without_trailing_blanks(text.substr(keep)).empty())
      return Status(ErrorCode::string_too_long, "value too long for type " + type_name(to));
    text = text.substr(0, keep);
    if (to.id == TypeId::bpchar) text = blank_padded(text, *length, arena);
  }
  out = Datum::of_text(text);
  return to.id == TypeId::json && from != TypeId::json ? check_json(text) : Status();
}

Status check_moment(std::int64_t timestamp_us) {
  return is_infinite_timestamp(timestamp_us) ? Status() : check_timestamp(timestamp_us);
}

// Dates and timestamps among themselves.
Status to_time(std::int64_t value, TypeId from, TypeId to, const absl::TimeZone& zone, Datum& out) {
  if (from == to) {
    out = Datum::of_integer(value);
    return {};
  }
  std::int64_t clock_us = from == TypeId::timestamptz ? local_of_utc(value, zone) : value;
  if (from == TypeId::date) {
    const Result<std::int64_t> midnight_us = timestamp_of_date(value);
    if (!midnight_us.ok()) return midnight_us.status();
    clock_us = *midnight_us;
  }
  if (to == TypeId::timestamptz) {
    clock_us = utc_of_local(clock_us, zone);
    if (Status status = check_moment(clock_us); !status.ok()) return status;
  } else if (from == TypeId::timestamptz) {
    if (Status status = check_moment(clock_us); !status.ok()) return status;
  }
  if (to == TypeId::date) clock_us = date_of_timestamp(clock_us);
  out = Datum::of_integer(clock_us);
  return {};
}

// A timestamp's time of day; infinities have none.
void to_time_of_day(const Datum& in, TypeId from, const absl::TimeZone& zone, Datum& out) {
  const std::int64_t clock_us = from == TypeId::timestamptz ? local_of_utc(in.integer, zone) : in.integer;
  out = is_infinite_timestamp(clock_us) ? Datum() : Datum::of_integer(day_time_of(clock_us).time_us);
}

bool has_time_of_day(TypeId id) {
  return id == TypeId::timetz || id == TypeId::interval || id == TypeId::timestamp ||
         id == TypeId::timestamptz;
}

}  // namespace

bool can_cast(TypeId from_id, TypeId to_id, Coercion coercion) {
  if (from_id == to_id || from_id == TypeId::unknown) return true;
  const TypeClass from = Type{from_id}.type_class();
  const TypeClass to = Type{to_id}.type_class();
  if (from_id == TypeId::jsonb) {
    if (to == TypeClass::string) return coercion != Coercion::implicit;
    return coercion == Coercion::explicit_cast && (is_number(to) || to == TypeClass::boolean);
  }
  if (from_id == TypeId::json) {
    const bool is_known = to_id == TypeId::jsonb || to == TypeClass::string;
    return is_known && coercion != Coercion::implicit;
  }
  if (to_id == TypeId::json) return from == TypeClass::string && coercion == Coercion::explicit_cast;
  if (from == TypeClass::array && to == TypeClass::array)
    return can_cast(element_type(from_id), element_type(to_id), coercion);
  if (to == TypeClass::oid) {
    const bool by_name = from == TypeClass::string && to_id == TypeId::regclass;
    return from == TypeClass::oid || from == TypeClass::integer || by_name ||
           (from == TypeClass::string && coercion == Coercion::explicit_cast);
  }
  if (from == TypeClass::oid && (to_id == TypeId::int4 || to_id == TypeId::int8))
    return coercion != Coercion::implicit;
  if (is_number(from) && is_number(to))
    return number_rank(from_id) <= number_rank(to_id) || coercion != Coercion::implicit;
  if (from == TypeClass::string && to == TypeClass::string) return true;
  if (from == TypeClass::time && to == TypeClass::time)
    return time_rank(from_id) <= time_rank(to_id) || coercion != Coercion::implicit;
  if (from_id == TypeId::time && (to == TypeClass::interval || to_id == TypeId::timetz)) return true;
  if (to_id == TypeId::timetz && from != TypeClass::string)
    return coercion != Coercion::implicit && from_id == TypeId::timestamptz;
  if (to_id == TypeId::time && from != TypeClass::string)
    return coercion != Coercion::implicit && has_time_of_day(from_id);
  if (to == TypeClass::string) return coercion != Coercion::implicit;
  if (coercion != Coercion::explicit_cast) return false;
  if (from == TypeClass::string) return true;
  return (from == TypeClass::boolean && to_id == TypeId::int4) ||
         (from_id == TypeId::int4 && to == TypeClass::boolean);
}

namespace {

std::string_view kind_of(JsonKind kind) {
  constexpr std::array<std::string_view, 6> kNames = {"null",    "string", "numeric",
                                                      "boolean", "array",  "object"};
  return kNames[static_cast<std::size_t>(kind)];
}

// A number or a boolean of jsonb.
Status cast_jsonb(const Datum& in, const Type& to, Datum& out) {
  const JsonValue value = json_value(in.text);
  const bool to_boolean = to.id == TypeId::boolean;
  if (value.kind != (to_boolean ? JsonKind::boolean : JsonKind::number)) {
    return Status(ErrorCode::invalid_parameter_value, "cannot cast jsonb " +
                                                          std::string(kind_of(value.kind)) + " to type " +
                                                          std::string(type_name(to.id)));
  }
  if (to_boolean) {
    out = Datum::of_boolean(value.text == "true");
    return {};
  }
  const Result<Decimal> number = parse_decimal(value.text);
  if (!number.ok()) return number.status();
  return to_number(Datum::of_decimal(*number), TypeId::numeric, to, out);
}

Status cast_array(const Datum& in, TypeId from, const Type& to, bool explicit_cast, const TimeContext& time,
                  Arena& arena, Datum& out) {
  ArrayReader reader(from, in);
  ArrayWriter writer(to.id);
  Datum element;
  while (reader.next(element)) {
    if (!element.null) {
      const Datum value = element;
      Status status = cast_value(value, element_type(from), {element_type(to.id), to.modifier}, explicit_cast,
                                 time, arena, element);
      if (!status.ok()) return status;
    }
    writer.add(element);
  }
  out = writer.finish(arena);
  return {};
}

// Without the precision of a time.
Status cast_whole(const Datum& in, TypeId from_id, const Type& to, bool explicit_cast,
                  const TimeContext& time, Arena& arena, Datum& out) {
  const TypeClass from = Type{from_id}.type_class();
  if (to.is_string()) {
    if (from == TypeClass::string || from == TypeClass::unknown)
      return to_string_type(in.text, from_id, to, explicit_cast, arena, out);
    std::string text;
    if (from == TypeClass::boolean) {
      text = in.integer != 0 ? "true" : "false";  // the cast spells it out, the output form does not
    } else {
      append_text(text, {from_id}, in, time.zone);
    }
    return to_string_type(arena.copy(text), TypeId::text, to, explicit_cast, arena, out);
  }
  if (from == TypeClass::jsonb && to.id != TypeId::jsonb) return cast_jsonb(in, to, out);
  if (from == TypeClass::string || from == TypeClass::unknown) {
    Datum value;
    if (Status status = parse_text(in.text, to.id, time, arena, value); !status.ok()) return status;
    if (to.id == TypeId::numeric) return apply_numeric_modifier(value.decimal(), to, out);
    if (to.id == TypeId::interval) value = Datum::of_interval(restricted(value.interval(), to.modifier));
    if (to.is_array() && to.modifier != -1)
      return cast_array(value, to.id, to, explicit_cast, time, arena, out);
    out = value;
    return {};
  }
  if (to.is_array()) return cast_array(in, from_id, to, explicit_cast, time, arena, out);
  if (to.id == TypeId::oid) {
    if (in.integer < INT32_MIN || in.integer > std::int64_t{UINT32_MAX})
      return Status(ErrorCode::numeric_out_of_range, "OID out of range");
    out = Datum::of_integer(static_cast<std::int64_t>(static_cast<std::uint32_t>(in.integer)));
    return {};
  }
  if (from == TypeClass::oid) {
    // An int4 has the same 32 bits.
    const auto signed_oid = static_cast<std::int32_t>(static_cast<std::uint32_t>(in.integer));
    out = Datum::of_integer(to.id == TypeId::int4 ? signed_oid : in.integer);
    return {};
  }
  if (to.is_number()) return to_number(in, from == TypeClass::boolean ? TypeId::int4 : from_id, to, out);
  if (from == TypeClass::time && to.type_class() == TypeClass::time)
    return to_time(in.integer, from_id, to.id, time.zone, out);
  if (to.id == TypeId::timetz && from_id != TypeId::timetz) {
    if (from_id == TypeId::timestamptz && is_infinite_timestamp(in.integer)) {
      out = Datum();
    } else {
      out = Datum::of_integer(packed(from_id == TypeId::time ? zoned_time_today(in.integer, time)
                                                             : zoned_time_at(in.integer, time.zone)));
    }
    return {};
  }
  if (to.id == TypeId::time) {
    if (from_id == TypeId::timetz) {
      out = Datum::of_integer(zoned_time(in.integer).time_us);
    } else if (from_id == TypeId::time) {
      out = in;
    } else if (from == TypeClass::time) {
      to_time_of_day(in, from_id, time.zone, out);
    } else {
      out = Datum::of_integer(day_time_of(in.integer).time_us);
    }
    return {};
  }
  // Boolean from integer; interval from time; the same type.
  out = in;
  if (to.id == TypeId::interval) {
    const Interval interval = from_id == TypeId::time ? Interval{0, 0, in.integer} : in.interval();
    out = Datum::of_interval(restricted(interval, to.modifier));
  }
  if (to.id == TypeId::boolean) out = Datum::of_boolean(in.integer != 0);
  return {};
}

}  // namespace

bool needs_catalog(TypeId from, TypeId to) {
  return Type{to}.is_catalog_object() && from != to;
}

bool needs_time_zone(TypeId from, TypeId to) {
  const auto zoned = [](TypeId id) {
    const TypeId value = Type{id}.is_array() ? element_type(id) : id;
    return value == TypeId::timestamptz || value == TypeId::timetz ? value : TypeId::unknown;
  };
  return zoned(from) != zoned(to);
}

Status cast_value(const Datum& in, TypeId from_id, const Type& to, bool explicit_cast,
                  const TimeContext& time, Arena& arena, Datum& out) {
  Status status = cast_whole(in, from_id, to, explicit_cast, time, arena, out);
  if (status.ok() && has_time_precision(to.id)) out.integer = at_precision(out.integer, to);
  return status;
}

}  // namespace namdb::sql
