// Numbers as bytes: in this machine's order for what never leaves the process, and big endian for the wire.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

namespace namdb::sql {

template <typename T>
void append_raw(std::string& bytes, const T& value) {
  char raw[sizeof(T)];
  std::memcpy(raw, &value, sizeof(T));
  bytes.append(raw, sizeof(T));
}

template <typename T>
void append_big_endian(std::string& out, T value) {
  std::array<char, sizeof(T)> bytes;
  auto bits = static_cast<std::make_unsigned_t<T>>(value);
  for (std::size_t i = bytes.size(); i-- > 0; bits = static_cast<decltype(bits)>(bits >> 7 >> 1))
    bytes[i] = static_cast<char>(bits & 0xff);
  out.append(bytes.data(), bytes.size());
}

// The number in at most eight bytes.
inline std::uint64_t big_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char c : bytes) value = value << 8 | static_cast<unsigned char>(c);
  return value;
}

}  // namespace namdb::sql
