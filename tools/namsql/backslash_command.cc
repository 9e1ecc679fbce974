#include "tools/namsql/backslash_command.h"

#include <algorithm>

#include "tools/namsql/text.h"

namespace namdb::namsql {
namespace {

constexpr CommandHelp kCommands[] = {
    {"\\?", "", "this list"},
    {"\\c", "[DATABASE]", "connect anew, to that database or by that connection string"},
    {"\\conninfo", "", "the connection"},
    {"\\copy", "TABLE|(QUERY) FROM|TO FILE [OPTIONS]",
     "COPY with a file of this machine, or stdin or stdout"},
    {"\\d", "[NAME]",
     "tables and sequences; or one table, index or sequence (* and ? in NAME: all that match)"},
    {"\\di", "[NAME]", "indexes"},
    {"\\dn", "[NAME]", "schemas"},
    {"\\ds", "[NAME]", "sequences"},
    {"\\dt", "[NAME]", "tables"},
    {"\\du", "[NAME]", "roles"},
    {"\\g", "", "run the statement that has begun, or the last one again"},
    {"\\gx", "", "the same, with each row as a block"},
    {"\\h", "[STATEMENT]", "help with SQL statements"},
    {"\\i", "FILE", "run a file's statements"},
    {"\\l", "", "databases"},
    {"\\o", "[FILE]", "write results to a file; without one to standard output again"},
    {"\\p", "", "show the statement that has begun"},
    {"\\procs", "", "stored procedures: those written in SQL, and those that have run"},
    {"\\q", "", "quit"},
    {"\\r", "", "drop the statement that has begun"},
    {"\\stats", "[on|off]", "show the operations of each statement"},
    {"\\timing", "[on|off]", "show the time of each statement"},
    {"\\watch", "[SECONDS]",
     "run the statement that has begun, or the last one, every 2 (or so many) seconds"},
    {"\\x", "[on|off]", "show each row as a block"},
};

constexpr std::string_view kNotes = R"(
\stats takes the difference of the compute server's counters (SHOW namdb.statistics) before and
after. They count the work of all its sessions: another session's transactions that end meanwhile
are shown, too. A transaction block is counted when it ends, as "block", and a procedure under its
name. Statements that are no transactions (SET, SHOW, EXPLAIN, CREATE, ...) count nothing. Swaps
are compare-and-swaps, adds are fetch-and-adds.

\procs shows the procedures that are written in SQL, and those of libraries that the counters know:
these have run since the server's start.

Ctrl-C cancels the statement that runs, or drops the one that has begun. Ctrl-D quits. TAB
completes words. Results longer than the screen go through $PAGER, or less -S.
)";

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

// Words of a line, as BackslashCommand has them; the text of each, and where it begins and ends.
struct Word {
  std::string text;
  std::size_t begin;
  std::size_t end;
};

std::vector<Word> words_of(std::string_view line) {
  std::vector<Word> words;
  std::size_t i = 0;
  while (i < line.size()) {
    if (is_blank(line[i])) {
      ++i;
      continue;
    }
    Word word{"", i, i};
    while (i < line.size() && !is_blank(line[i])) {
      const char quote = line[i];
      if (quote != '\'' && quote != '"') {
        word.text += line[i++];
        continue;
      }
      if (quote == '"') word.text += quote;
      for (++i; i < line.size(); ++i) {
        if (line[i] == quote && (i + 1 == line.size() || line[i + 1] != quote)) break;
        word.text += line[i];
        if (line[i] == quote) {
          ++i;
          if (quote == '"') word.text += quote;
        }
      }
      if (quote == '"') word.text += quote;
      if (i < line.size()) ++i;
    }
    word.end = i;
    words.push_back(std::move(word));
  }
  return words;
}

// The byte behind the parenthesis that closes the one at `begin`, or npos.
std::size_t behind_parenthesis(std::string_view text, std::size_t begin) {
  std::size_t depth = 0;
  for (std::size_t i = begin; i < text.size(); ++i) {
    if (text[i] == '\'' || text[i] == '"') {
      i = text.find(text[i], i + 1);
      if (i == std::string_view::npos) return i;
    } else if (text[i] == '(') {
      ++depth;
    } else if (text[i] == ')' && --depth == 0) {
      return i + 1;
    }
  }
  return std::string_view::npos;
}

}  // namespace

std::span<const CommandHelp> command_list() {
  return kCommands;
}

std::string command_help() {
  std::size_t width = 0;
  for (const CommandHelp& command : kCommands)
    width = std::max(width, command.name.size() + command.arguments.size());
  std::string out;
  for (const CommandHelp& command : kCommands) {
    const std::size_t fill = width - command.name.size() - command.arguments.size();
    out += concat("  ", command.name, " ", command.arguments, std::string(fill + 2, ' '), command.text, "\n");
  }
  return out + std::string(kNotes);
}

BackslashCommand parse_command(std::string_view line) {
  line = trimmed(line);
  std::size_t end = 1;
  while (end < line.size() && !is_blank(line[end])) ++end;
  BackslashCommand command;
  command.name = line.substr(0, end);
  command.rest = trimmed(line.substr(end));
  // As in SQL, a line may end with ';'.
  while (command.rest.empty() && command.name.size() > 2 && command.name.back() == ';')
    command.name.pop_back();
  std::string_view rest = command.rest;
  if (command.name != "\\copy") {
    while (!rest.empty() && (rest.back() == ';' || is_blank(rest.back()))) rest.remove_suffix(1);
  }
  for (Word& word : words_of(rest)) command.arguments.push_back(std::move(word.text));
  return command;
}

std::optional<CopyRequest> parse_copy(std::string_view rest, std::string& mistake) {
  rest = trimmed(rest);
  while (!rest.empty() && (rest.back() == ';' || is_blank(rest.back()))) rest.remove_suffix(1);
  // The words before FROM or TO are the server's: a table with its columns, or a query in parentheses.
  std::size_t from = 0;
  std::string_view keyword;
  std::size_t depth_end = 0;
  for (std::size_t i = 0; i < rest.size();) {
    if (rest[i] == '(') {
      depth_end = behind_parenthesis(rest, i);
      if (depth_end == std::string_view::npos) break;
      i = depth_end;
    } else if (rest[i] == '"') {
      i = std::min(rest.find('"', i + 1), rest.size() - 1) + 1;
    } else if (is_blank(rest[i])) {
      ++i;
    } else {
      const std::size_t end = std::min(rest.find_first_of(" \t(\"", i), rest.size());
      const std::string_view word = rest.substr(i, end - i);
      if (i > 0 && (equals_ignoring_case(word, "from") || equals_ignoring_case(word, "to"))) {
        from = i;
        keyword = word;
        break;
      }
      i = end;
    }
  }
  if (keyword.empty()) {
    mistake = "\\copy needs TABLE or (QUERY), FROM or TO, and a file";
    return std::nullopt;
  }
  const std::string_view behind = rest.substr(from + keyword.size());
  const std::vector<Word> words = words_of(behind);
  if (words.empty()) {
    mistake = concat("\\copy needs a file behind ", upper(keyword));
    return std::nullopt;
  }
  const bool reads = equals_ignoring_case(keyword, "from");
  const std::string_view raw = behind.substr(words[0].begin, words[0].end - words[0].begin);
  CopyRequest request;
  request.direction = reads ? CopyRequest::Direction::from_file : CopyRequest::Direction::to_file;
  if (equals_ignoring_case(raw, "program")) {
    mistake = "\\copy does not run programs; use a pipe and stdin or stdout";
    return std::nullopt;
  }
  const std::string_view standard = reads ? "stdin" : "stdout";
  if (equals_ignoring_case(raw, concat("p", standard))) {
    request.file = concat("/dev/", standard);
  } else if (!equals_ignoring_case(raw, standard)) {
    request.file = words[0].text;
  }
  request.statement = concat("COPY ", trimmed(rest.substr(0, from)), reads ? " FROM STDIN" : " TO STDOUT",
                             behind.substr(words[0].end));
  return request;
}

std::string pattern_expression(std::string_view pattern) {
  std::string out = "^(";
  bool quoted = false;
  for (const char c : pattern) {
    if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && c == '*') {
      out += ".*";
    } else if (!quoted && c == '?') {
      out += '.';
    } else if (std::string_view(".\\+*?()[]{}|^$").find(c) != std::string_view::npos) {
      out += '\\';
      out += c;
    } else {
      out += quoted ? std::string(1, c) : lower(std::string_view(&c, 1));
    }
  }
  return out + ")$";
}

}  // namespace namdb::namsql
