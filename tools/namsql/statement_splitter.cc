#include "tools/namsql/statement_splitter.h"

#include <utility>

#include "tools/namsql/text.h"

namespace namdb::namsql {
namespace {

bool is_blank(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

bool begins_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

bool is_in_word(char c) {
  return begins_word(c) || (c >= '0' && c <= '9') || c == '$';
}

}  // namespace

void StatementSplitter::skip(std::size_t count) {
  for (std::size_t i = 0; i < count && position_ < text_.size(); ++i) {
    if (text_[position_++] == '\n') ++line_;
  }
}

void StatementSplitter::note_content() {
  if (has_content_) return;
  has_content_ = true;
  content_ = position_;
  content_line_ = line_;
}

bool StatementSplitter::begins_dollar_quote() {
  if (at_word_) return false;
  std::size_t end = position_ + 1;
  if (begins_word(at(end))) {
    while (is_in_word(at(end)) && at(end) != '$') ++end;
  }
  if (at(end) != '$') return false;
  dollar_tag_ = text_.substr(position_, end + 1 - position_);
  return true;
}

bool StatementSplitter::step_code() {
  const char c = text_[position_];
  const bool was_word = std::exchange(at_word_, is_in_word(c));
  if (c == '-' && at(position_ + 1) == '-') {
    inside_ = Inside::line_comment;
    skip(2);
    return false;
  }
  if (c == '/' && at(position_ + 1) == '*') {
    inside_ = Inside::block_comment;
    comment_depth_ = 1;
    skip(2);
    return false;
  }
  if (is_blank(c)) {
    skip(1);
    return false;
  }
  if (c == '\\' || (c == ';' && parentheses_ == 0)) return true;
  note_content();
  if (c == '\'') {
    // The E of E'...' is a word of its own.
    const char before = position_ > 0 ? text_[position_ - 1] : ' ';
    const bool alone = position_ < 2 || !is_in_word(text_[position_ - 2]);
    inside_ = was_word && alone && (before == 'e' || before == 'E') ? Inside::escape_string : Inside::string;
  } else if (c == '"') {
    inside_ = Inside::quoted_name;
  } else if (c == '$') {
    at_word_ = was_word;
    if (begins_dollar_quote()) {
      inside_ = Inside::dollar_quote;
      at_word_ = false;
      skip(dollar_tag_.size());
      return false;
    }
    at_word_ = true;
  } else if (c == '(') {
    ++parentheses_;
  } else if (c == ')' && parentheses_ > 0) {
    --parentheses_;
  }
  skip(1);
  return false;
}

void StatementSplitter::step_inside() {
  const char c = text_[position_];
  switch (inside_) {
    case Inside::code:
      break;
    case Inside::string:
    case Inside::escape_string:
      // Two quotes in a string end it and begin the next one, of the same kind; nothing stands between them.
      if (c == '\\' && inside_ == Inside::escape_string) {
        skip(2);
        return;
      }
      if (c == '\'') {
        if (at(position_ + 1) == '\'') {
          skip(2);
          return;
        }
        inside_ = Inside::code;
      }
      break;
    case Inside::quoted_name:
      if (c == '"') inside_ = Inside::code;
      break;
    case Inside::dollar_quote:
      if (c == '$' && text_.compare(position_, dollar_tag_.size(), dollar_tag_) == 0) {
        skip(dollar_tag_.size());
        inside_ = Inside::code;
        return;
      }
      break;
    case Inside::line_comment:
      if (c == '\n') inside_ = Inside::code;
      break;
    case Inside::block_comment:
      if (c == '/' && at(position_ + 1) == '*') {
        ++comment_depth_;
        skip(2);
        return;
      }
      if (c == '*' && at(position_ + 1) == '/') {
        skip(2);
        if (--comment_depth_ == 0) inside_ = Inside::code;
        return;
      }
      break;
  }
  skip(1);
}

std::optional<StatementSplitter::Piece> StatementSplitter::next() {
  while (position_ < text_.size()) {
    if (inside_ != Inside::code) {
      step_inside();
      continue;
    }
    if (!step_code()) continue;
    if (text_[position_] == '\\') {
      const std::size_t line = line_;
      std::size_t end = text_.find('\n', position_);
      if (end == std::string::npos) end = text_.size();
      Piece command{Kind::command, std::string(trimmed({text_.data() + position_, end - position_})), line};
      // The line end stays: it separates the words before from those of the next line.
      text_.erase(position_, end - position_);
      return command;
    }
    const bool empty = !has_content_;
    skip(1);
    Piece statement = take_pending();
    if (!empty) return statement;
  }
  return std::nullopt;
}

StatementSplitter::State StatementSplitter::state() const {
  switch (inside_) {
    case Inside::string:
    case Inside::escape_string:
      return State::string;
    case Inside::quoted_name:
      return State::quoted_name;
    case Inside::dollar_quote:
      return State::dollar_quote;
    case Inside::block_comment:
      return State::comment;
    case Inside::code:
    case Inside::line_comment:
      break;
  }
  if (!has_content_) return State::nothing;
  return parentheses_ > 0 ? State::parenthesis : State::statement;
}

std::string StatementSplitter::pending() const {
  if (!has_content_) return {};
  return std::string(trimmed({text_.data() + content_, position_ - content_}));
}

StatementSplitter::Piece StatementSplitter::take_pending() {
  Piece piece{Kind::statement, pending(), content_line_};
  text_.erase(0, position_);
  position_ = 0;
  parentheses_ = 0;
  comment_depth_ = 0;
  inside_ = Inside::code;
  has_content_ = false;
  at_word_ = false;
  return piece;
}

}  // namespace namdb::namsql
