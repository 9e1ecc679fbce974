#include "tools/sqltest/regress/psql_script.h"

#include <algorithm>
#include <set>

namespace namdb::sqltest {
namespace {

enum class TokenKind { space, comment, quoted, word, other };

struct Token {
  TokenKind kind = TokenKind::other;
  std::size_t end = 0;
};

bool begins_word(char letter) {
  return std::isalpha(static_cast<unsigned char>(letter)) != 0 || letter == '_' || (letter & 0x80) != 0;
}
bool in_word(char letter) {
  return begins_word(letter) || std::isdigit(static_cast<unsigned char>(letter)) != 0 || letter == '$';
}

std::size_t quote_end(std::string_view text, std::size_t at, bool escapes) {
  const char quote = text[at];
  for (++at; at < text.size(); ++at) {
    if (escapes && text[at] == '\\') {
      ++at;
    } else if (text[at] == quote) {
      if (at + 1 == text.size() || text[at + 1] != quote) return at + 1;
      ++at;
    }
  }
  return text.size();
}

std::size_t block_comment_end(std::string_view text, std::size_t at) {
  int depth = 0;
  while (at + 1 < text.size()) {
    const std::string_view two = text.substr(at, 2);
    if (two == "/*" || two == "*/") {
      depth += two == "/*" ? 1 : -1;
      at += 2;
      if (depth == 0) return at;
    } else {
      ++at;
    }
  }
  return text.size();
}

// At a dollar sign: behind the other end of the quote, or 0 when none begins there.
std::size_t dollar_quote_end(std::string_view text, std::size_t at) {
  std::size_t tag_end = at + 1;
  while (tag_end < text.size() && text[tag_end] != '$' && in_word(text[tag_end])) ++tag_end;
  if (tag_end == text.size() || text[tag_end] != '$') return 0;
  if (tag_end > at + 1 && !begins_word(text[at + 1])) return 0;
  const std::string_view tag = text.substr(at, tag_end + 1 - at);
  const std::size_t close = text.find(tag, tag_end + 1);
  return close == std::string_view::npos ? text.size() : close + tag.size();
}

Token token_at(std::string_view text, std::size_t at) {
  const char letter = text[at];
  const std::string_view two = text.substr(at, 2);
  if (std::isspace(static_cast<unsigned char>(letter)) != 0) return {TokenKind::space, at + 1};
  if (two == "--") return {TokenKind::comment, std::min(text.find('\n', at), text.size())};
  if (two == "/*") return {TokenKind::comment, block_comment_end(text, at)};
  if (letter == '\'' || letter == '"') return {TokenKind::quoted, quote_end(text, at, false)};
  if (two == "E'" || two == "e'") return {TokenKind::quoted, quote_end(text, at + 1, true)};
  if (letter == '$') {
    if (const std::size_t end = dollar_quote_end(text, at); end != 0) return {TokenKind::quoted, end};
  }
  std::size_t end = at;
  while (end < text.size() && (end == at ? begins_word(text[end]) : in_word(text[end]))) ++end;
  if (end > at) return {TokenKind::word, end};
  return {TokenKind::other, at + 1};
}

std::string in_capitals(std::string_view word) {
  std::string text(word);
  for (char& letter : text) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  return text;
}

// Of a command that sends the statement before it.
bool sends(std::string_view command) {
  static const std::set<std::string_view> names = {"g",     "gx",           "gset", "gdesc",
                                                   "gexec", "crosstabview", "watch"};
  return names.contains(command);
}

std::string between_quotes(std::string_view value, char quote) {
  std::string text(1, quote);
  for (const char letter : value) {
    if (letter == quote) text += letter;
    text += letter;
  }
  return text + quote;
}

std::size_t name_end(std::string_view text, std::size_t at) {
  while (at < text.size() && (in_word(text[at]) && text[at] != '$')) ++at;
  return at;
}

// A reference at the colon `at`: its end and what stands for it; the end is `at` when there is none.
std::pair<std::size_t, std::string> reference_at(std::string_view text, std::size_t at,
                                                 const PsqlVariables& variables) {
  const std::pair<std::size_t, std::string> none{at, ""};
  if (at + 1 >= text.size()) return none;
  const char next = text[at + 1];
  if (next == '{') {
    const std::size_t end = text.find('}', at);
    if (end == std::string_view::npos || text.substr(at, 3) != ":{?") return none;
    return {end + 1, variables.contains(text.substr(at + 3, end - at - 3)) ? "TRUE" : "FALSE"};
  }
  const bool in_quotes = next == '\'' || next == '"';
  const std::size_t begin = at + (in_quotes ? 2 : 1);
  const std::size_t end = name_end(text, begin);
  if (end == begin || (in_quotes && (end == text.size() || text[end] != next))) return none;
  const auto found = variables.find(text.substr(begin, end - begin));
  if (found == variables.end()) return none;
  if (in_quotes) return {end + 1, between_quotes(found->second, next)};
  return {end, found->second};
}

}  // namespace

void PsqlScript::reset_statement() {
  statement_.clear();
  first_words_.clear();
  parentheses_ = 0;
  bodies_ = 0;
}

std::size_t PsqlScript::line() {
  for (; counted_ < at_; ++counted_) lines_ += text_[counted_] == '\n' ? 1 : 0;
  return lines_;
}

PsqlPiece PsqlScript::read_command() {
  PsqlPiece piece;
  ++at_;
  const std::size_t name_begin = at_;
  while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) == 0 &&
         text_[at_] != '\\')
    ++at_;
  piece.command = text_.substr(name_begin, at_ - name_begin);
  static const std::set<std::string_view> whole_line = {"copy", "!", "sf", "sv", "ef", "ev", "help"};
  const bool whole = whole_line.contains(piece.command);
  const std::size_t begin = at_;
  while (at_ < text_.size() && text_[at_] != '\n' && (whole || text_[at_] != '\\')) {
    const char letter = text_[at_];
    at_ = !whole && (letter == '\'' || letter == '"') ? quote_end(text_, at_, true) : at_ + 1;
  }
  piece.arguments = text_.substr(begin, at_ - begin);
  if (text_.compare(at_, 2, "\\\\") == 0) at_ += 2;
  return piece;
}

std::optional<PsqlPiece> PsqlScript::next() {
  while (at_ < text_.size()) {
    const char letter = text_[at_];
    const std::size_t here = line();
    if (letter == '\\') {
      if (text_.compare(at_, 2, "\\;") == 0) {
        statement_ += ";";
        at_ += 2;
        continue;
      }
      PsqlPiece piece = read_command();
      piece.line = here;
      if (sends(piece.command)) {
        piece.sql = statement_;
        if (!statement_.empty()) piece.line = statement_line_;
        reset_statement();
      } else if (piece.command == "r") {
        reset_statement();
      }
      return piece;
    }
    const Token token = token_at(text_, at_);
    const std::string_view written = std::string_view(text_).substr(at_, token.end - at_);
    if (letter == ';' && parentheses_ == 0 && bodies_ == 0) {
      ++at_;
      PsqlPiece piece{statement_line_, statement_, "", ""};
      const bool empty = statement_.empty();
      reset_statement();
      if (empty) continue;
      return piece;
    }
    at_ = token.end;
    if (statement_.empty()) {
      if (token.kind == TokenKind::space || token.kind == TokenKind::comment) continue;
      statement_line_ = here;
    }
    if (letter == '(') ++parentheses_;
    if (letter == ')' && parentheses_ > 0) --parentheses_;
    if (token.kind == TokenKind::word) {
      const std::string word = in_capitals(written);
      if (std::ranges::count(first_words_, ' ') < 4) first_words_ += word + " ";
      const bool routine = first_words_.starts_with("CREATE FUNCTION ") ||
                           first_words_.starts_with("CREATE PROCEDURE ") ||
                           first_words_.starts_with("CREATE OR REPLACE FUNCTION ") ||
                           first_words_.starts_with("CREATE OR REPLACE PROCEDURE ");
      if (routine && parentheses_ == 0) {
        if (word == "BEGIN" || (word == "CASE" && bodies_ > 0)) ++bodies_;
        if (word == "END" && bodies_ > 0) --bodies_;
      }
    }
    statement_ += written;
  }
  if (statement_.empty()) return std::nullopt;
  PsqlPiece piece{statement_line_, statement_, "", ""};
  reset_statement();
  return piece;
}

std::string PsqlScript::take_copy_data() {
  const std::size_t begin = std::min(text_.find('\n', at_), text_.size() - 1) + 1;
  std::size_t end = begin;
  std::size_t behind = text_.size();
  while (end < text_.size()) {
    const std::size_t line_end = std::min(text_.find('\n', end), text_.size());
    if (text_.compare(end, line_end - end, "\\.") == 0) {
      behind = std::min(line_end + 1, text_.size());
      break;
    }
    end = std::min(line_end + 1, text_.size());
  }
  std::string data = text_.substr(begin, end - begin);
  const auto taken = text_.begin() + static_cast<std::ptrdiff_t>(begin);
  const auto taken_end = text_.begin() + static_cast<std::ptrdiff_t>(behind);
  line();
  lines_ += static_cast<std::size_t>(std::count(taken, taken_end, '\n'));
  text_.erase(taken, taken_end);
  return data;
}

std::string expand_variables(std::string_view sql, const PsqlVariables& variables) {
  std::string text;
  std::size_t at = 0;
  while (at < sql.size()) {
    if (sql.substr(at, 2) == "::") {
      text += "::";
      at += 2;
      continue;
    }
    if (sql[at] == ':') {
      const auto [end, value] = reference_at(sql, at, variables);
      if (end != at) {
        text += value;
        at = end;
        continue;
      }
    }
    const Token token = token_at(sql, at);
    text += sql.substr(at, token.end - at);
    at = token.end;
  }
  return text;
}

std::vector<std::string> split_arguments(std::string_view text, const PsqlVariables& variables) {
  std::vector<std::string> arguments;
  bool open = false;
  std::size_t at = 0;
  const auto add = [&](std::string_view piece) {
    if (!open) arguments.emplace_back();
    open = true;
    arguments.back() += piece;
  };
  while (at < text.size()) {
    const char letter = text[at];
    if (std::isspace(static_cast<unsigned char>(letter)) != 0) {
      open = false;
      ++at;
    } else if (letter == '\'' || letter == '"') {
      const std::size_t end = quote_end(text, at, letter == '\'');
      std::string value;
      for (std::size_t i = at + 1; i + 1 < end; ++i) {
        if (letter == '\'' && text[i] == '\\') {
          ++i;
          value += text[i] == 'n' ? '\n' : text[i] == 't' ? '\t' : text[i];
          continue;
        }
        if (text[i] == letter) ++i;
        value += text[i];
      }
      add(value);
      at = end;
    } else if (letter == ':') {
      const auto [end, value] = reference_at(text, at, variables);
      add(end == at ? std::string_view(":") : std::string_view(value));
      at = end == at ? at + 1 : end;
    } else {
      add(text.substr(at, 1));
      ++at;
    }
  }
  return arguments;
}

}  // namespace namdb::sqltest
