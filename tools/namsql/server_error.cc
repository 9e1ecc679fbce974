#include "tools/namsql/server_error.h"

#include <algorithm>

#include "tools/namsql/text.h"
#include "tools/namsql/utf8.h"

namespace namdb::namsql {
namespace {

// Of the statement's line, around the mark.
constexpr std::size_t kShownColumns = 70;
constexpr std::size_t kColumnsBehind = 20;

// The byte at which the character of that number (from 1) begins; one behind the last is its end.
std::size_t byte_of(std::string_view text, std::size_t position) {
  std::size_t byte = 0;
  for (std::size_t character = 1; character < position && byte < text.size(); ++character)
    byte += first_code_point(text.substr(byte)).bytes;
  return byte;
}

// Beginning of the character that ends before `byte`.
std::size_t one_back(std::string_view text, std::size_t byte) {
  do {
    --byte;
  } while (byte > 0 && (static_cast<unsigned char>(text[byte]) & 0xC0) == 0x80);
  return byte;
}

}  // namespace

std::string position_text(std::string_view statement, std::size_t position) {
  if (position == 0) return {};
  const std::size_t mark = byte_of(statement, position);
  if (mark == statement.size() && byte_of(statement, position - 1) == mark && position > 1) return {};
  const std::size_t line_end_before = mark == 0 ? std::string_view::npos : statement.rfind('\n', mark - 1);
  const std::size_t begin = line_end_before == std::string_view::npos ? 0 : line_end_before + 1;
  const std::size_t end = std::min(statement.find('\n', mark), statement.size());
  const auto number =
      std::count(statement.begin(), statement.begin() + static_cast<std::ptrdiff_t>(begin), '\n') + 1;

  std::size_t from = begin;
  std::size_t to = end;
  if (display_width(statement.substr(begin, end - begin)) > kShownColumns) {
    to = mark;
    for (std::size_t i = 0; i < kColumnsBehind && to < end; ++i)
      to += first_code_point(statement.substr(to)).bytes;
    from = to;
    while (from > begin && display_width(statement.substr(from, to - from)) < kShownColumns)
      from = one_back(statement, from);
    // Near its beginning the line is shown from there.
    while (from == begin && to < end && display_width(statement.substr(from, to - from)) < kShownColumns)
      to += first_code_point(statement.substr(to)).bytes;
  }
  const auto shown = [](std::string_view text) {
    std::string out(text);
    std::replace(out.begin(), out.end(), '\t', ' ');
    return printable(out);
  };
  std::string head = concat("LINE ", number, ": ", from > begin ? "..." : "");
  const std::size_t column = display_width(head) + display_width(shown(statement.substr(from, mark - from)));
  return concat(head, shown(statement.substr(from, to - from)), to < end ? "..." : "", "\n",
                std::string(column, ' '), "^\n");
}

std::string error_text(const ServerError& error, std::string_view statement) {
  // A notice without a code of its own has 00000.
  const bool has_code = !error.sqlstate.empty() && error.sqlstate != "00000";
  std::string out =
      concat(error.severity.empty() ? "ERROR" : error.severity, ":  ", has_code ? error.sqlstate + ": " : "",
             printable(error.message, LineEnds::keep), "\n");
  out += position_text(statement, error.position);
  if (!error.detail.empty()) out += concat("DETAIL:  ", printable(error.detail, LineEnds::keep), "\n");
  if (!error.hint.empty()) out += concat("HINT:  ", printable(error.hint, LineEnds::keep), "\n");
  return out;
}

}  // namespace namdb::namsql
