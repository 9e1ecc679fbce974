// Characters of UTF-8 text: lengths of char(n) and varchar(n) count them, and char(n) is filled up with
// blanks. The text is valid UTF-8; a character begins at every byte that does not continue one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "compute/sql/value/datum.h"

namespace namdb::sql {

// Blanks around values, as PostgreSQL's isspace() in the locale C.
inline bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

inline bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

inline bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// The value of a hexadecimal digit; -1: another character.
inline int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// Changes ASCII letters; others stay.
inline std::string in_lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return result;
}

inline std::string in_upper_case(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  return result;
}

inline std::string_view without_spaces_around(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

inline bool begins_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0) != 0x80;
}

inline std::size_t character_count(std::string_view text) {
  std::size_t count = 0;
  for (const char byte : text) count += begins_character(byte) ? 1 : 0;
  return count;
}

// Bytes of the first character.
inline std::size_t character_bytes(std::string_view text) {
  std::size_t bytes = 1;
  while (bytes < text.size() && !begins_character(text[bytes])) ++bytes;
  return bytes;
}

// Bytes of the first `characters` characters; all of the text when it has fewer.
inline std::size_t prefix_bytes(std::string_view text, std::size_t characters) {
  if (text.size() <= characters) return text.size();
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    if (begins_character(text[at]) && characters-- == 0) break;
  }
  return at;
}

inline std::string_view without_trailing_blanks(std::string_view text) {
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Adds blanks up to that number of characters.
inline std::string_view blank_padded(std::string_view text, std::size_t characters, Arena& arena) {
  const std::size_t count = character_count(text);
  if (count >= characters) return text;
  const std::size_t size = text.size() + characters - count;
  char* bytes = arena.allocate(size);
  if (!text.empty()) std::memcpy(bytes, text.data(), text.size());
  std::memset(bytes + text.size(), ' ', size - text.size());
  return {bytes, size};
}

}  // namespace namdb::sql
