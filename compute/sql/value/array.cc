#include "compute/sql/value/array.h"

#include <cstring>

#include "compute/sql/value/bytes.h"

namespace namdb::sql {
namespace {

// Each element that is not a string begins with one of these.
constexpr char kNull = 0;
constexpr char kValue = 1;

bool has_length(TypeId element) {
  return Type{element}.has_bytes();
}

std::size_t integer_bytes(TypeId element) {
  switch (element) {
    case TypeId::boolean:
      return 1;
    case TypeId::int2:
      return 2;
    case TypeId::int4:
    case TypeId::date:
      return 4;
    default:
      return 8;
  }
}

// The number of bytes of a value behind its marker.
std::size_t value_bytes(TypeId element) {
  switch (Type{element}.type_class()) {
    case TypeClass::real:
      return element == TypeId::float4 ? sizeof(float) : sizeof(double);
    case TypeClass::numeric:
      return sizeof(Int128) + 1;
    case TypeClass::interval:
      return sizeof(Interval);
    default:
      return integer_bytes(element);
  }
}

template <typename T>
T load(std::string_view bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

void append_length(std::string& out, std::size_t number) {
  for (; number >= 0x80; number >>= 7) out += static_cast<char>((number & 0x7f) | 0x80);
  out += static_cast<char>(number);
}

std::size_t take_length(std::string_view& bytes) {
  std::size_t number = 0;
  for (unsigned shift = 0; !bytes.empty() && shift < 64; shift += 7) {
    const auto digit = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    number |= std::size_t{digit & 0x7fU} << shift;
    if (digit < 0x80) break;
  }
  return number;
}

std::int64_t load_integer(TypeId element, std::string_view bytes) {
  switch (integer_bytes(element)) {
    case 1:
      return load<std::int8_t>(bytes);
    case 2:
      return load<std::int16_t>(bytes);
    case 4:
      return load<std::int32_t>(bytes);
    default:
      return load<std::int64_t>(bytes);
  }
}

}  // namespace

void ArrayWriter::add(const Datum& element) {
  ++size_;
  if (has_length(element_)) {
    append_length(bytes_, element.null ? 0 : element.text.size() + 1);
    if (!element.null) bytes_ += element.text;
    return;
  }
  bytes_ += element.null ? kNull : kValue;
  if (element.null) return;
  switch (Type{element_}.type_class()) {
    case TypeClass::real:
      if (element_ == TypeId::float4) {
        append_raw(bytes_, static_cast<float>(element.real));
      } else {
        append_raw(bytes_, element.real);
      }
      break;
    case TypeClass::numeric:
      append_raw(bytes_, element.unscaled);
      append_raw(bytes_, element.scale);
      break;
    case TypeClass::interval:
      append_raw(bytes_, element.interval());
      break;
    default:
      bytes_.append(reinterpret_cast<const char*>(&element.integer), integer_bytes(element_));
      break;
  }
}

bool ArrayReader::next(Datum& element) {
  element = Datum();
  if (rest_.empty()) return false;
  if (has_length(element_)) {
    const std::size_t length = take_length(rest_);
    element.null = length == 0;
    if (element.null) return true;
    element.text = rest_.substr(0, length - 1);
    rest_.remove_prefix(element.text.size());
    return true;
  }
  const bool is_null = rest_.front() == kNull;
  rest_.remove_prefix(1);
  if (is_null) return true;
  const std::size_t size = value_bytes(element_);
  if (rest_.size() < size) {
    rest_ = {};
    return false;
  }
  element.null = false;
  switch (Type{element_}.type_class()) {
    case TypeClass::real:
      element.real =
          element_ == TypeId::float4 ? static_cast<double>(load<float>(rest_)) : load<double>(rest_);
      break;
    case TypeClass::numeric:
      element.unscaled = load<Int128>(rest_);
      element.scale = static_cast<std::uint8_t>(rest_[sizeof(Int128)]);
      break;
    case TypeClass::interval:
      element = Datum::of_interval(load<Interval>(rest_));
      break;
    default:
      element.integer = load_integer(element_, rest_);
      break;
  }
  rest_.remove_prefix(size);
  return true;
}

std::uint32_t array_size(TypeId type, const Datum& array) {
  ArrayReader reader(type, array);
  std::uint32_t size = 0;
  for (Datum element; reader.next(element);) ++size;
  return size;
}

std::int32_t first_subscript(TypeId type) {
  return type == TypeId::int2vector || type == TypeId::oidvector ? 0 : 1;
}

}  // namespace namdb::sql
