// The tables that keep the long values of others (common/layout/long_value.h). Their names begin with a byte
// that no client writes; they are shown to nobody.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace namdb::storage {

inline constexpr char kLongValuesMark = '\x02';

// The one for small or for large values of the table with that id.
inline std::string long_values_table(std::uint32_t table, bool small) {
  return kLongValuesMark + std::to_string(table) + (small ? " small" : " large");
}

inline bool keeps_long_values(std::string_view table_name) {
  return table_name.starts_with(kLongValuesMark);
}

// Whether it keeps those of that table.
inline bool keeps_long_values_of(std::uint32_t table, std::string_view table_name) {
  return table_name.starts_with(kLongValuesMark + std::to_string(table) + " ");
}

}  // namespace namdb::storage
