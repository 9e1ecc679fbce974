#include "compute/sql/value/json_fault.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "compute/sql/value/characters.h"

namespace namdb::sql {
namespace {

constexpr unsigned char kFirstUnescaped = 0x20;
constexpr std::size_t kUnicodeDigits = 4;

bool is_of_word(char c) {
  return is_digit(c) || is_letter(c) || c == '_' || (static_cast<unsigned char>(c) & 0x80U) != 0;
}

class FaultFinder {
 public:
  explicit FaultFinder(std::string_view text) : text_(text) {}

  std::string find() {
    next();
    value();
    while (fault_.empty() && !open_.empty()) go_on();
    if (fault_.empty() && kind_ != Kind::end) expected("end of input");
    return std::move(fault_);
  }

 private:
  // A mark is one of {}[],: and stands for itself in `token_`.
  enum class Kind : std::uint8_t { end, mark, string, scalar };

  bool is_mark(char c) const { return kind_ == Kind::mark && token_.front() == c; }

  // Behind a value within an object or array.
  void go_on() {
    const bool in_object = open_.back() == '{';
    if (is_mark(',')) {
      next();
      if (in_object) label();
      if (fault_.empty()) value();
    } else if (is_mark(in_object ? '}' : ']')) {
      close();
    } else {
      expected(in_object ? "\",\" or \"}\"" : "\",\" or \"]\"");
    }
  }

  void close() {
    open_.pop_back();
    next();
  }

  // A scalar, or the beginning of an object or array up to its first scalar.
  void value() {
    while (fault_.empty()) {
      if (kind_ == Kind::string || kind_ == Kind::scalar) return next();
      if (!is_mark('{') && !is_mark('[')) return expected("JSON value");
      const char opened = token_.front();
      open_ += opened;
      next();
      if (!fault_.empty()) return;
      if (is_mark(opened == '{' ? '}' : ']')) return close();
      if (opened == '{' && kind_ != Kind::string) return expected("string or \"}\"");
      if (opened == '{') label();
    }
  }

  // The name of a member, and the colon.
  void label() {
    if (!fault_.empty()) return;
    if (kind_ != Kind::string) return expected("string");
    next();
    if (!fault_.empty()) return;
    if (!is_mark(':')) return expected("\":\"");
    next();
  }

  void expected(std::string_view wanted) {
    if (!fault_.empty()) return;
    if (kind_ == Kind::end) {
      fault_ = "The input string ended unexpectedly.";
    } else {
      fault_ = "Expected " + std::string(wanted) + ", but found \"" + std::string(token_) + "\".";
    }
  }

  void bad_token(std::size_t begin) {
    fault_ = "Token \"" + std::string(text_.substr(begin, at_ - begin)) + "\" is invalid.";
  }

  bool more() const { return at_ < text_.size(); }

  void next() {
    constexpr std::string_view kBlanks = " \t\n\r";
    at_ = std::min(text_.find_first_not_of(kBlanks, at_), text_.size());
    const std::size_t begin = at_;
    kind_ = Kind::end;
    if (!more()) return;
    const char c = text_[at_];
    if (std::string_view("{}[],:").find(c) != std::string_view::npos) {
      kind_ = Kind::mark;
      ++at_;
    } else if (c == '"') {
      kind_ = Kind::string;
      string(begin);
    } else {
      kind_ = Kind::scalar;
      if (c == '-' || is_digit(c)) {
        number(begin);
      } else {
        word(begin);
      }
    }
    token_ = text_.substr(begin, at_ - begin);
  }

  void word(std::size_t begin) {
    while (more() && is_of_word(text_[at_])) ++at_;
    const std::string_view found = text_.substr(begin, at_ - begin);
    if (found == "true" || found == "false" || found == "null") return;
    if (found.empty()) ++at_;
    bad_token(begin);
  }

  // False: there is none.
  bool digits() {
    const std::size_t begin = at_;
    while (more() && is_digit(text_[at_])) ++at_;
    return at_ != begin;
  }

  void number(std::size_t begin) {
    if (text_[at_] == '-') ++at_;
    bool good = true;
    if (more() && text_[at_] == '0') {
      ++at_;
    } else {
      good = digits();
    }
    if (more() && text_[at_] == '.') {
      ++at_;
      good = digits() && good;
    }
    if (more() && (text_[at_] == 'e' || text_[at_] == 'E')) {
      ++at_;
      if (more() && (text_[at_] == '+' || text_[at_] == '-')) ++at_;
      good = digits() && good;
    }
    for (; more() && is_of_word(text_[at_]); ++at_) good = false;
    if (!good) bad_token(begin);
  }

  void string(std::size_t begin) {
    ++at_;
    while (more()) {
      const char c = text_[at_];
      if (c == '"') {
        ++at_;
        return;
      }
      if (static_cast<unsigned char>(c) < kFirstUnescaped)
        return must_be_escaped(static_cast<unsigned char>(c));
      ++at_;
      if (c == '\\' && more()) escape();
      if (!fault_.empty()) return;
    }
    bad_token(begin);
  }

  void must_be_escaped(unsigned char c) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    fault_ = "Character with value 0x";
    fault_ += kDigits[c >> 4U];
    fault_ += kDigits[c & 0xfU];
    fault_ += " must be escaped.";
  }

  // Behind the backslash.
  void escape() {
    const std::size_t begin = at_++;
    if (text_[begin] == 'u') {
      for (std::size_t i = 0; i < kUnicodeDigits && more(); ++i, ++at_) {
        if (hex_digit(text_[at_]) >= 0) continue;
        fault_ = "\"\\u\" must be followed by four hexadecimal digits.";
        return;
      }
    } else if (std::string_view("\"\\/bfnrt").find(text_[begin]) == std::string_view::npos) {
      while (more() && (static_cast<unsigned char>(text_[at_]) & 0xc0U) == 0x80U) ++at_;
      fault_ = "Escape sequence \"\\" + std::string(text_.substr(begin, at_ - begin)) + "\" is invalid.";
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  Kind kind_ = Kind::end;
  std::string_view token_;
  std::string open_;  // the objects and arrays around, by their marks
  std::string fault_;
};

}  // namespace

Status invalid_json(std::string_view text) {
  return Status(ErrorCode::invalid_text, "invalid input syntax for type json")
      .with_detail(FaultFinder(text).find());
}

}  // namespace namdb::sql
