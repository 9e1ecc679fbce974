#include "compute/sql/value/equal_bytes.h"

#include <cmath>
#include <limits>
#include <string_view>

#include "compute/sql/value/array.h"
#include "compute/sql/value/bytes.h"
#include "compute/sql/value/characters.h"
#include "compute/sql/value/interval.h"
#include "compute/sql/value/jsonb.h"

namespace namdb::sql {

void append_equal_bytes(std::string& bytes, TypeId type, const Datum& value) {
  bytes += value.null ? '\0' : '\1';
  if (value.null) return;
  switch (Type{type}.type_class()) {
    case TypeClass::string:
    case TypeClass::bytes:
    case TypeClass::unknown: {
      const std::string_view text = type == TypeId::bpchar ? without_trailing_blanks(value.text) : value.text;
      append_raw(bytes, static_cast<std::uint64_t>(text.size()));
      bytes += text;
      return;
    }
    case TypeClass::real: {
      const double number =
          std::isnan(value.real) ? std::numeric_limits<double>::quiet_NaN() : value.real + 0.0;
      append_raw(bytes, number == 0 ? 0.0 : number);
      return;
    }
    case TypeClass::numeric: {
      Int128 digits = value.unscaled;
      std::uint8_t scale = value.scale;
      while (scale > 0 && digits % 10 == 0) {
        digits /= 10;
        --scale;
      }
      append_raw(bytes, digits);
      append_raw(bytes, scale);
      return;
    }
    case TypeClass::jsonb:
      append_equal_jsonb(bytes, value.text);
      return;
    case TypeClass::interval:
      append_raw(bytes, comparable_us(value.interval()));
      return;
    case TypeClass::array: {
      append_raw(bytes, array_size(type, value));
      ArrayReader reader(type, value);
      for (Datum element; reader.next(element);) append_equal_bytes(bytes, element_type(type), element);
      return;
    }
    default:
      append_raw(bytes, value.integer);
  }
}

}  // namespace namdb::sql
