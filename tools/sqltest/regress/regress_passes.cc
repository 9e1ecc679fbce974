#include "tools/sqltest/regress/regress_passes.h"

#include <charconv>
#include <sstream>

namespace namdb::sqltest {
namespace {

bool read_number(std::string_view& text, std::size_t& number) {
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
  return true;
}

bool read_ranges(std::string_view text, std::set<std::size_t>& numbers) {
  while (!text.empty()) {
    std::size_t first = 0;
    if (!read_number(text, first)) return false;
    std::size_t last = first;
    if (text.starts_with('-')) {
      text.remove_prefix(1);
      if (!read_number(text, last)) return false;
    }
    if (last < first || last > 1'000'000) return false;
    for (std::size_t number = first; number <= last; ++number) numbers.insert(numbers.end(), number);
    if (text.empty()) break;
    if (!text.starts_with(',') || text.size() == 1) return false;
    text.remove_prefix(1);
  }
  return true;
}

std::string ranges_text(const std::set<std::size_t>& numbers) {
  std::string text;
  for (auto at = numbers.begin(); at != numbers.end();) {
    const std::size_t first = *at;
    std::size_t last = first;
    while (++at != numbers.end() && *at == last + 1) last = *at;
    text += (text.empty() ? "" : ",") + std::to_string(first);
    if (last > first) text += "-" + std::to_string(last);
  }
  return text;
}

}  // namespace

Result<RegressPassList> parse_passes(std::string_view text) {
  RegressPassList list;
  std::istringstream input{std::string(text)};
  std::size_t number = 0;
  for (std::string line; std::getline(input, line);) {
    ++number;
    if (line.empty() || line.starts_with('#')) continue;
    std::istringstream words(line);
    std::string name;
    std::string ranges;
    RegressPasses passes;
    words >> name >> passes.statements;
    const bool counted = static_cast<bool>(words);
    words >> ranges;
    if (!counted || !read_ranges(ranges, passes.same))
      return Status(ErrorCode::configuration,
                    "line " + std::to_string(number) + " of the list of passes is malformed");
    list[name] = std::move(passes);
  }
  return list;
}

std::string passes_text(const RegressPassList& list) {
  std::string text;
  for (const auto& [name, passes] : list) {
    if (passes.same.empty()) continue;
    text += name + " " + std::to_string(passes.statements) + " " + ranges_text(passes.same) + "\n";
  }
  return text;
}

}  // namespace namdb::sqltest
