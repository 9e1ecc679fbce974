// Hexadecimal digits, for people and for text files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace namdb {

// The lowest so many digits, in lower case, with leading zeros.
inline std::string in_hex(std::uint64_t value, std::size_t digits) {
  std::string text(digits, '0');
  for (std::size_t i = digits; i-- > 0; value >>= 4) text[i] = "0123456789abcdef"[value & 15];
  return text;
}

}  // namespace namdb
