#include "compute/sql/value/equal_bytes.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>

#include "compute/sql/value/array.h"
#include "compute/sql/value/characters.h"

namespace namdb::sql {
namespace {

template <typename T>
void append(std::string& bytes, T value) {
  char raw[sizeof(T)];
  std::memcpy(raw, &value, sizeof(T));
  bytes.append(raw, sizeof(T));
}

}  // namespace

void append_equal_bytes(std::string& bytes, TypeId type, const Datum& value) {
  bytes += value.null ? '\0' : '\1';
  if (value.null) return;
  switch (Type{type}.type_class()) {
    case TypeClass::string:
    case TypeClass::unknown: {
      const std::string_view text = type == TypeId::bpchar ? without_trailing_blanks(value.text) : value.text;
      append(bytes, static_cast<std::uint64_t>(text.size()));
      bytes += text;
      return;
    }
    case TypeClass::real: {
      const double number =
          std::isnan(value.real) ? std::numeric_limits<double>::quiet_NaN() : value.real + 0.0;
      append(bytes, number == 0 ? 0.0 : number);
      return;
    }
    case TypeClass::numeric: {
      Int128 digits = value.unscaled;
      std::uint8_t scale = value.scale;
      while (scale > 0 && digits % 10 == 0) {
        digits /= 10;
        --scale;
      }
      append(bytes, digits);
      append(bytes, scale);
      return;
    }
    case TypeClass::array: {
      append(bytes, array_size(type, value));
      ArrayReader reader(type, value);
      for (Datum element; reader.next(element);) append_equal_bytes(bytes, element_type(type), element);
      return;
    }
    default:
      append(bytes, value.integer);
  }
}

}  // namespace namdb::sql
