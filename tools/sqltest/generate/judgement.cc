#include "tools/sqltest/generate/judgement.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

namespace namdb::sqltest {
namespace {

// Functions of PostgreSQL that rule_lines.cc has and namdb has not: 42883.
constexpr std::array<std::string_view, 8> kAbsentFunctions = {
    "initcap", "reverse", "translate", "concat", "concat_ws", "ascii", "overlaps", "substring"};

using Rows = std::vector<std::vector<std::optional<std::string>>>;

bool refused(const Answer& answer, const Answer& reference) {
  if (answer.sqlstate == reference.sqlstate && answer.message == reference.message) return false;
  // PostgreSQL may have found another mistake first.
  if (answer.sqlstate == "0A000") return !answer.message.starts_with("unit ");
  if (answer.sqlstate != "42883" || !answer.message.starts_with("function ")) return false;
  const std::string name = answer.message.substr(9, answer.message.find('(') - 9);
  return std::ranges::find(kAbsentFunctions, name) != kAbsentFunctions.end();
}

// The difference between answers without an error; empty: there is none.
std::string difference(const Asked& asked, const Answer& answer, const Answer& reference) {
  if (answer.names != reference.names) return "names of columns";
  if (answer.types != reference.types) return "types of columns";
  if (answer.modifiers != reference.modifiers) return "modifiers of columns";
  if (answer.tag != reference.tag) return "the command tag";
  if (answer.rows == reference.rows) return "";
  Rows rows = answer.rows;
  Rows others = reference.rows;
  std::ranges::sort(rows);
  std::ranges::sort(others);
  if (rows != others) return "rows";
  return asked.ordered ? "the order of rows" : "";
}

}  // namespace

std::string without_details(const std::string& message) {
  std::string text;
  bool quoted = false;
  for (const char c : message) {
    if (c == '"') {
      quoted = !quoted;
      if (quoted) text += "\"...\"";
    } else if (!quoted && c >= '0' && c <= '9') {
      if (text.empty() || text.back() != '#') text += '#';
    } else if (!quoted) {
      text += c;
    }
  }
  return text;
}

Judgement judge(const Asked& asked, const Answer& answer, const Answer& reference) {
  if (answer.lost) return {Verdict::different, "the connection is lost"};
  if (refused(answer, reference))
    return {Verdict::refused, answer.sqlstate + " " + without_details(answer.message)};
  if (answer.failed() || reference.failed()) {
    if (answer.sqlstate == reference.sqlstate && answer.message == reference.message) return {};
    const std::string here =
        answer.failed() ? answer.sqlstate + " " + without_details(answer.message) : "no error";
    const std::string there =
        reference.failed() ? reference.sqlstate + " " + without_details(reference.message) : "no error";
    return {Verdict::different, here + " instead of " + there};
  }
  std::string what = difference(asked, answer, reference);
  if (what.empty()) return {};
  return {Verdict::different, std::move(what)};
}

std::string shown(const Answer& answer, const Answer* other) {
  constexpr std::size_t kMostRows = 4;
  if (answer.failed()) return "  error " + answer.sqlstate + " " + answer.message + "\n";
  std::string text = " ";
  for (std::size_t i = 0; i < answer.names.size(); ++i)
    text += " " + answer.names[i] + ":" + std::to_string(answer.types[i]) + "/" +
            std::to_string(answer.modifiers[i]);
  text += "\n";
  Rows rows = answer.rows;
  std::ranges::sort(rows);
  if (other != nullptr && !other->failed()) {
    Rows others = other->rows;
    std::ranges::sort(others);
    Rows left;
    std::ranges::set_difference(rows, others, std::back_inserter(left));
    if (!left.empty()) rows = std::move(left);
  }
  for (std::size_t i = 0; i < std::min(kMostRows, rows.size()); ++i) {
    text += "  ";
    for (std::size_t column = 0; column < rows[i].size(); ++column)
      text += (column == 0 ? "" : "|") + rows[i][column].value_or("NULL").substr(0, 200);
    text += "\n";
  }
  return text + "  (" + answer.tag + ")\n";
}

}  // namespace namdb::sqltest
