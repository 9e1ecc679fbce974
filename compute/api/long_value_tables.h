// The tables that keep the long values of others (common/layout/long_value.h). Their names begin with a byte
// that no client writes, and clients do not see them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace namdb::storage {

inline constexpr char kLongValuesMark = '\x02';

// The names of those that keep the values of the table with that id begin with it.
inline std::string long_values_prefix(std::uint32_t table) {
  return kLongValuesMark + ("long values of table " + std::to_string(table)) + ", ";
}

// The one for small or for large values.
inline std::string long_values_table(std::uint32_t table, bool small) {
  return long_values_prefix(table) + (small ? "small" : "large");
}

inline bool keeps_long_values(std::string_view table_name) {
  return table_name.starts_with(kLongValuesMark);
}

// Whether it keeps those of that table.
inline bool keeps_long_values_of(std::uint32_t table, std::string_view table_name) {
  return table_name.starts_with(long_values_prefix(table));
}

}  // namespace namdb::storage
