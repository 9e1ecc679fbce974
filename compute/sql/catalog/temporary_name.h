// Names of temporary tables, and of the objects that belong to them. The catalog keeps them with a prefix
// that no other session has: "pg_temp_", the execution slot that the session's worker has leased, a number of
// the session, and the mark. Once that slot has ended, the table has no owner any more.
#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace namdb::sql {

inline constexpr std::string_view kTemporarySchema = "pg_temp";
inline constexpr char kTemporaryMark = '\x1f';

inline std::string temporary_prefix(std::uint32_t slot, std::uint64_t session) {
  constexpr int kShortBase = 36;
  std::array<char, 16> number{};
  char* const end = std::to_chars(number.data(), number.data() + number.size(), session, kShortBase).ptr;
  return std::string(kTemporarySchema) + "_" + std::to_string(slot) + "_" + std::string(number.data(), end) +
         kTemporaryMark;
}
inline bool is_temporary(std::string_view stored_name) {
  return stored_name.find(kTemporaryMark) != std::string_view::npos;
}
// The name that statements give the relation.
inline std::string_view without_prefix(std::string_view stored_name) {
  const std::size_t mark = stored_name.find(kTemporaryMark);
  return mark == std::string_view::npos ? stored_name : stored_name.substr(mark + 1);
}
// The slot in the prefix; nullopt: the name is not a temporary one.
inline std::optional<std::uint32_t> temporary_slot(std::string_view stored_name) {
  const std::size_t begin = kTemporarySchema.size() + 1;
  if (!is_temporary(stored_name) || !stored_name.starts_with(kTemporarySchema)) return std::nullopt;
  std::uint32_t slot = 0;
  const char* const end = stored_name.data() + stored_name.size();
  if (std::from_chars(stored_name.data() + begin, end, slot).ec != std::errc()) return std::nullopt;
  return slot;
}
// A text for people, without the prefixes of names in it.
inline std::string without_prefixes(std::string_view text) {
  std::string shown;
  for (std::size_t mark = text.find(kTemporaryMark); mark != std::string_view::npos;
       mark = text.find(kTemporaryMark)) {
    const std::size_t begin = text.substr(0, mark).rfind(kTemporarySchema);
    shown += text.substr(0, begin == std::string_view::npos ? mark : begin);
    text.remove_prefix(mark + 1);
  }
  shown += text;
  return shown;
}

}  // namespace namdb::sql
