// The 64-bit words that binary calls are made of, as they stand in a byte string.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace namdb::calls {

inline void append_word(std::string& out, std::uint64_t word) {
  out.append(reinterpret_cast<const char*>(&word), sizeof word);
}

// `in` is long enough.
inline std::uint64_t word_at(std::string_view in, std::size_t position) {
  std::uint64_t word = 0;
  std::memcpy(&word, in.data() + position, sizeof word);
  return word;
}

// Takes the first off; false if there is none.
inline bool take_word(std::string_view& in, std::uint64_t& word) {
  if (in.size() < sizeof word) return false;
  word = word_at(in, 0);
  in.remove_prefix(sizeof word);
  return true;
}

}  // namespace namdb::calls
