// Where a text has another one first, in time that is linear in both: std::string_view::find() may take the
// product of their lengths.
#pragma once

#include <cstddef>
#include <cstring>
#include <string_view>

namespace namdb::sql {

// npos: nowhere.
inline std::size_t find_text(std::string_view text, std::string_view wanted) {
  if (wanted.empty()) return 0;
  if (text.empty()) return std::string_view::npos;
  const void* const found = ::memmem(text.data(), text.size(), wanted.data(), wanted.size());
  if (found == nullptr) return std::string_view::npos;
  return static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
}

}  // namespace namdb::sql
