#include "compute/sql/value/cast.h"

#include <cmath>
#include <limits>

#include "compute/sql/value/array.h"
#include "compute/sql/value/characters.h"
#include "compute/sql/value/value_format.h"

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
    default:
      return 4;
  }
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
  const Result<std::int64_t> scaled = to_scaled_integer(value, *precision, *to.numeric_scale());
  if (!scaled.ok()) return scaled.status();
  out = Datum::of_decimal({*scaled, *to.numeric_scale()});
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
      const Result<Decimal> value = decimal_from_double(in.real);
      if (!value.ok()) return value.status();
      return apply_numeric_modifier(*value, to, out);
    }
    default:
      out = Datum::of_real(source == TypeClass::integer   ? static_cast<double>(in.integer)
                           : source == TypeClass::numeric ? to_double(in.decimal())
                                                          : in.real);
      return {};
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
  return {};
}

}  // namespace

bool can_cast(TypeId from_id, TypeId to_id, Coercion coercion) {
  if (from_id == to_id || from_id == TypeId::unknown) return true;
  const TypeClass from = Type{from_id}.type_class();
  const TypeClass to = Type{to_id}.type_class();
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
    return to_id == TypeId::timestamptz || coercion != Coercion::implicit;
  if (to == TypeClass::string) return coercion != Coercion::implicit;
  if (coercion != Coercion::explicit_cast) return false;
  if (from == TypeClass::string) return true;
  return (from == TypeClass::boolean && to_id == TypeId::int4) ||
         (from_id == TypeId::int4 && to == TypeClass::boolean);
}

namespace {

Status cast_array(const Datum& in, TypeId from, const Type& to, bool explicit_cast, std::int64_t now_us,
                  Arena& arena, Datum& out) {
  ArrayReader reader(from, in);
  ArrayWriter writer(to.id);
  Datum element;
  while (reader.next(element)) {
    if (!element.null) {
      const Datum value = element;
      Status status =
          cast_value(value, element_type(from), {element_type(to.id)}, explicit_cast, now_us, arena, element);
      if (!status.ok()) return status;
    }
    writer.add(element);
  }
  out = writer.finish(arena);
  return {};
}

}  // namespace

bool needs_catalog(TypeId from, TypeId to) {
  return Type{to}.is_catalog_object() && from != to;
}

Status cast_value(const Datum& in, TypeId from_id, const Type& to, bool explicit_cast, std::int64_t now_us,
                  Arena& arena, Datum& out) {
  const TypeClass from = Type{from_id}.type_class();
  if (to.is_string()) {
    if (from == TypeClass::string || from == TypeClass::unknown)
      return to_string_type(in.text, from_id, to, explicit_cast, arena, out);
    std::string text;
    if (from == TypeClass::boolean) {
      text = in.integer != 0 ? "true" : "false";  // the cast spells it out, the output form does not
    } else {
      append_text(text, {from_id}, in);
    }
    return to_string_type(arena.copy(text), TypeId::text, to, explicit_cast, arena, out);
  }
  if (from == TypeClass::string || from == TypeClass::unknown) {
    Datum value;
    if (Status status = parse_text(in.text, to.id, now_us, arena, value); !status.ok()) return status;
    if (to.id == TypeId::numeric) return apply_numeric_modifier(value.decimal(), to, out);
    out = value;
    return {};
  }
  if (to.is_array()) return cast_array(in, from_id, to, explicit_cast, now_us, arena, out);
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
  // Boolean from integer; timestamps among themselves (the time zone is UTC).
  out = Datum::of_integer(to.id == TypeId::boolean ? (in.integer != 0 ? 1 : 0) : in.integer);
  return {};
}

}  // namespace namdb::sql
