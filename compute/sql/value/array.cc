#include "compute/sql/value/array.h"

#include <cstring>

#include "compute/sql/value/bytes.h"

namespace namdb::sql {
namespace {

// Each element begins with one of these.
constexpr char kNull = 0;
constexpr char kValue = 1;

template <typename T>
T take(std::string_view& bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  bytes.remove_prefix(sizeof(T));
  return value;
}

}  // namespace

void ArrayWriter::add(const Datum& element) {
  ++size_;
  bytes_ += element.null ? kNull : kValue;
  if (element.null) return;
  switch (Type{element_}.type_class()) {
    case TypeClass::string:
    case TypeClass::bytes:
      append_raw(bytes_, static_cast<std::uint32_t>(element.text.size()));
      bytes_ += element.text;
      break;
    case TypeClass::real:
      append_raw(bytes_, element.real);
      break;
    case TypeClass::numeric:
      append_raw(bytes_, element.unscaled);
      append_raw(bytes_, element.scale);
      break;
    case TypeClass::interval:
      append_raw(bytes_, element.interval());
      break;
    default:
      append_raw(bytes_, element.integer);
      break;
  }
}

bool ArrayReader::next(Datum& element) {
  element = Datum();
  if (rest_.empty()) return false;
  if (take<char>(rest_) == kNull) return true;
  element.null = false;
  switch (Type{element_}.type_class()) {
    case TypeClass::string:
    case TypeClass::bytes: {
      const auto size = take<std::uint32_t>(rest_);
      element.text = rest_.substr(0, size);
      rest_.remove_prefix(size);
      break;
    }
    case TypeClass::real:
      element.real = take<double>(rest_);
      break;
    case TypeClass::numeric:
      element.unscaled = take<Int128>(rest_);
      element.scale = take<std::uint8_t>(rest_);
      break;
    case TypeClass::interval:
      element = Datum::of_interval(take<Interval>(rest_));
      break;
    default:
      element.integer = take<std::int64_t>(rest_);
      break;
  }
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
