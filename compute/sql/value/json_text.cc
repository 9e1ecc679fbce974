#include "compute/sql/value/json_text.h"

#include <algorithm>

namespace namdb::sql {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

std::string_view without_blanks(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size() && is_blank(text[at])) ++at;
  return text.substr(at);
}

// The length of the string at the text's beginning, with its quotes.
std::size_t string_bytes(std::string_view text) {
  std::size_t at = 1;
  while (at < text.size() && text[at] != '"') at += text[at] == '\\' ? 2 : 1;
  return std::min(at + 1, text.size());
}

std::size_t container_bytes(std::string_view text) {
  std::size_t depth = 0;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '"') {
      at += string_bytes(text.substr(at));
      continue;
    }
    ++at;
    if (c == '[' || c == '{') ++depth;
    if ((c == ']' || c == '}') && --depth == 0) return at;
  }
  return text.size();
}

std::size_t word_bytes(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size() && text[at] != ',' && text[at] != ']' && text[at] != '}' && !is_blank(text[at]))
    ++at;
  return at;
}

// Shorter ones are passed over as fast as they are looked up.
constexpr std::size_t kLong_bytes = 64;
// And so is all of a text.
constexpr std::size_t kShortText_bytes = 256;

int hex_value(char c) {
  return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
}

unsigned four_digits(std::string_view digits) {
  unsigned code = 0;
  for (std::size_t i = 0; i < 4 && i < digits.size(); ++i)
    code = code << 4 | static_cast<unsigned>(hex_value(digits[i]));
  return code;
}

void append_utf8(std::string& out, unsigned code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | code >> 6);
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | code >> 12);
    out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    out += static_cast<char>(0xf0 | code >> 18);
    out += static_cast<char>(0x80 | (code >> 12 & 0x3f));
    out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  }
}

}  // namespace

JsonValue json_value(std::string_view text) {
  text = without_blanks(text);
  if (text.empty()) return {};
  switch (text.front()) {
    case '{':
      return {JsonKind::object, text.substr(0, container_bytes(text))};
    case '[':
      return {JsonKind::array, text.substr(0, container_bytes(text))};
    case '"':
      return {JsonKind::string, text.substr(0, string_bytes(text))};
    case 't':
    case 'f':
      return {JsonKind::boolean, text.substr(0, word_bytes(text))};
    case 'n':
      return {JsonKind::null, text.substr(0, word_bytes(text))};
    default:
      return {JsonKind::number, text.substr(0, word_bytes(text))};
  }
}

JsonDocument::JsonDocument(std::string_view text) : text_(text) {
  if (text.size() < kShortText_bytes) return;
  std::vector<std::size_t> open;  // places in `long_ones_`
  bool empty = true;              // nothing has come since the innermost began
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '[' || c == '{') {
      if (!open.empty() && empty) long_ones_[open.back()].items = 1;
      empty = true;
      open.push_back(long_ones_.size());
      long_ones_.push_back({at, 0, 0});
    } else if ((c == ']' || c == '}') && !open.empty()) {
      Container& container = long_ones_[open.back()];
      container.length_bytes = at + 1 - container.begin;
      // All within it are short, too, and gone.
      if (container.length_bytes < kLong_bytes) long_ones_.pop_back();
      open.pop_back();
      empty = false;
    } else if (!is_blank(c) && !open.empty()) {
      Container& container = long_ones_[open.back()];
      if (empty) container.items = 1;
      if (c == ',') ++container.items;
      empty = false;
    }
    at += c == '"' ? string_bytes(text.substr(at)) : 1;
  }
}

JsonValue JsonDocument::value() const {
  const std::string_view text = without_blanks(text_);
  JsonValue value = long_ones_.empty() || long_ones_.front().begin != text_.size() - text.size()
                        ? json_value(text)
                        : JsonValue{text.front() == '{' ? JsonKind::object : JsonKind::array,
                                    text.substr(0, long_ones_.front().length_bytes)};
  value.document = this;
  return value;
}

const JsonDocument::Container* JsonDocument::find(const char* begin) const {
  const auto place = static_cast<std::size_t>(begin - text_.data());
  const auto found = std::ranges::lower_bound(long_ones_, place, {}, &Container::begin);
  return found == long_ones_.end() || found->begin != place ? nullptr : &*found;
}

void JsonItems::skip() {
  while (!rest_.empty() && (is_blank(rest_.front()) || rest_.front() == ',' || rest_.front() == ':'))
    rest_.remove_prefix(1);
}

bool JsonItems::next(JsonItem& item) {
  skip();
  if (rest_.empty() || rest_.front() == ']' || rest_.front() == '}') return false;
  item.key = {};
  if (is_object_) {
    item.key = rest_.substr(0, string_bytes(rest_));
    rest_.remove_prefix(item.key.size());
    skip();
  }
  const bool opens = rest_.starts_with('[') || rest_.starts_with('{');
  const JsonDocument::Container* known =
      opens && document_ != nullptr ? document_->find(rest_.data()) : nullptr;
  if (known == nullptr) {
    item.value = json_value(rest_);
  } else {
    item.value.kind = rest_.front() == '{' ? JsonKind::object : JsonKind::array;
    item.value.text = rest_.substr(0, known->length_bytes);
  }
  item.value.document = document_;
  rest_.remove_prefix(item.value.text.size());
  return true;
}

std::size_t json_size(const JsonValue& container) {
  if (container.document != nullptr) {
    const JsonDocument::Container* known = container.document->find(container.text.data());
    if (known != nullptr) return known->items;
  }
  JsonItems items(container);
  std::size_t size = 0;
  for (JsonItem item; items.next(item);) ++size;
  return size;
}

std::size_t json_depth(std::string_view text) {
  std::size_t depth = 0;
  std::size_t deepest = 0;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '"') {
      at += string_bytes(text.substr(at));
      continue;
    }
    ++at;
    if (c == '[' || c == '{') deepest = std::max(deepest, ++depth);
    if ((c == ']' || c == '}') && depth > 0) --depth;
  }
  return deepest;
}

bool append_unescaped(std::string& out, std::string_view quoted) {
  const std::string_view text = quoted.size() < 2 ? std::string_view() : quoted.substr(1, quoted.size() - 2);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t plain = std::min(text.find('\\', at), text.size());
    out += text.substr(at, plain - at);
    at = plain + 1;
    if (at >= text.size()) break;
    const char c = text[at++];
    constexpr std::string_view kLetters = "bfnrt";
    constexpr std::string_view kMeant = "\b\f\n\r\t";
    if (const std::size_t letter = kLetters.find(c); letter != std::string_view::npos) {
      out += kMeant[letter];
    } else if (c == 'u') {
      unsigned code = four_digits(text.substr(at));
      at += 4;
      // The second half of a pair of surrogates.
      if (code >= 0xd800 && code < 0xdc00 && at + 6 <= text.size()) {
        code = 0x10000 + ((code & 0x3ff) << 10 | (four_digits(text.substr(at + 2)) & 0x3ff));
        at += 6;
      }
      if (code == 0) return false;
      append_utf8(out, code);
    } else {
      out += c;
    }
  }
  return true;
}

void append_json_string(std::string& out, std::string_view text) {
  constexpr std::string_view kEscaped = "\"\\\b\f\n\r\t";
  constexpr std::string_view kLetters = "\"\\bfnrt";
  constexpr std::string_view kDigits = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    const std::size_t at = kEscaped.find(c);
    if (at != std::string_view::npos) {
      out += '\\';
      out += kLetters[at];
    } else if (static_cast<unsigned char>(c) < ' ') {
      out += "\\u00";
      out += kDigits[static_cast<std::size_t>(c) >> 4];
      out += kDigits[static_cast<std::size_t>(c) & 15];
    } else {
      out += c;
    }
  }
  out += '"';
}

}  // namespace namdb::sql
