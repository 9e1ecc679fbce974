// Arrays of one dimension as datums: their elements lie in Datum::text, so that an array is copied and kept
// like a string. value_format.h has the forms of the wire. Rows of tables hold the same bytes:
//   strings, bytes, JSON   the length + 1 to the base 128 (low digits first, 128 added to all but the last),
//                          and the bytes; a length of 0 is NULL
//   other types            a byte: 0 = NULL, 1 = a value follows, little-endian in the type's width; numeric
//                          is 16 bytes and a byte of its scale, interval months, days and microseconds
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "compute/sql/value/datum.h"
#include "compute/sql/value/types.h"

namespace namdb::sql {

class ArrayWriter {
 public:
  // `array`: the type of the array.
  explicit ArrayWriter(TypeId array) : element_(element_type(array)) {}

  void add(const Datum& element);
  std::uint32_t size() const { return size_; }
  std::size_t bytes() const { return bytes_.size(); }
  // The array, whose bytes lie in the arena.
  Datum finish(Arena& arena) const { return Datum::of_text(arena.copy(bytes_)); }

 private:
  TypeId element_;
  std::uint32_t size_ = 0;
  std::string bytes_;
};

class ArrayReader {
 public:
  // `array` is not NULL, of that type, and outlives the reader.
  ArrayReader(TypeId type, const Datum& array) : element_(element_type(type)), rest_(array.text) {}

  // The next element, whose string is borrowed from the array; false: there is none.
  bool next(Datum& element);
  // So many bytes of the array are left.
  std::size_t rest_bytes() const { return rest_.size(); }

 private:
  TypeId element_;
  std::string_view rest_;
};

std::uint32_t array_size(TypeId type, const Datum& array);
// The index of the first element: 1, but 0 for int2vector and oidvector.
std::int32_t first_subscript(TypeId type);

}  // namespace namdb::sql
