// Small things with strings.
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <vector>

namespace namdb::namsql {

// Strings and integers, one behind the other.
template <typename... Parts>
std::string concat(const Parts&... parts) {
  std::string out;
  const auto append = [&out](const auto& part) {
    if constexpr (std::integral<std::remove_cvref_t<decltype(part)>>) {
      out += std::to_string(part);
    } else {
      out += std::string_view(part);
    }
  };
  (append(parts), ...);
  return out;
}

// Between blanks, tabs and line ends.
std::string_view trimmed(std::string_view text);
std::vector<std::string> split_lines(std::string_view text);
std::vector<std::string> split_words(std::string_view text);
// ASCII letters only.
std::string lower(std::string_view text);
std::string upper(std::string_view text);
bool equals_ignoring_case(std::string_view left, std::string_view right);
bool starts_ignoring_case(std::string_view text, std::string_view prefix);

// SQL: as a literal, and as a name, which is quoted where it must be.
std::string quoted_literal(std::string_view text);
std::string quoted_name(std::string_view name);

}  // namespace namdb::namsql
