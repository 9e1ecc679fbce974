// The forms of arrays on the wire.
#include <string>
#include <utility>

#include "compute/sql/value/array.h"
#include "compute/sql/value/bytes.h"
#include "compute/sql/value/characters.h"
#include "compute/sql/value/value_format.h"

namespace namdb::sql {
namespace {

// So that reading one is a short step.
constexpr std::uint32_t kMaxElements = 1 << 20;

Status check_elements(const ArrayWriter& writer) {
  if (writer.size() < kMaxElements) return {};
  return Status(ErrorCode::limit_exceeded,
                "an array that is read can have at most " + std::to_string(kMaxElements) + " elements");
}

bool is_vector(TypeId type) {
  return first_subscript(type) == 0;
}

bool is_null_word(std::string_view word) {
  constexpr std::string_view kWord = "null";
  if (word.size() != kWord.size()) return false;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if ((word[i] | 0x20) != kWord[i]) return false;
  }
  return true;
}

bool needs_quotes(std::string_view text) {
  if (text.empty() || is_null_word(text)) return true;
  for (const char c : text) {
    if (c == '{' || c == '}' || c == '"' || c == ',' || c == '\\' || is_space(c)) return true;
  }
  return false;
}

Status malformed_literal(std::string_view text, std::string detail) {
  return Status(ErrorCode::invalid_text, "malformed array literal: \"" + std::string(text) + "\"")
      .with_detail(std::move(detail));
}

// Reads `{a,"b c",NULL}`.
class LiteralReader {
 public:
  LiteralReader(std::string_view text, TypeId type, const TimeContext& time)
      : text_(text), element_(element_type(type)), time_(time), writer_(type) {}

  Status read(Arena& arena, Datum& out) {
    skip_blanks();
    if (!take('{')) {
      if (at_ < text_.size() && text_[at_] == '[') return unsupported("bounds of arrays");
      return malformed_literal(text_, "Array value must start with \"{\" or dimension information.");
    }
    skip_blanks();
    if (!take('}')) {
      do {
        if (Status status = element(arena); !status.ok()) return status;
      } while (take(','));
      if (!take('}')) return unexpected();
    }
    skip_blanks();
    if (at_ != text_.size()) return malformed_literal(text_, "Junk after closing right brace.");
    out = writer_.finish(arena);
    return {};
  }

 private:
  static Status unsupported(const std::string& construct) {
    return Status(ErrorCode::feature_not_supported, construct + " is not supported");
  }

  // Of the next character, which cannot be there.
  Status unexpected() const {
    if (at_ == text_.size()) return malformed_literal(text_, "Unexpected end of input.");
    const char c = text_[at_];
    const bool is_mark = c == '{' || c == '}' || c == ',' || c == '\\';
    return malformed_literal(
        text_, is_mark ? std::string("Unexpected \"") + c + "\" character." : "Unexpected array element.");
  }

  void skip_blanks() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  }
  bool take(char c) {
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  Status element(Arena& arena) {
    if (Status status = check_elements(writer_); !status.ok()) return status;
    skip_blanks();
    if (at_ < text_.size() && text_[at_] == '{') return unsupported("an array of several dimensions");
    const bool quoted = take('"');
    std::string word;
    std::size_t kept = 0;  // blanks behind it do not count
    bool escaped = false;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (quoted ? c == '"' : c == ',' || c == '}') break;
      if (!quoted && (c == '"' || c == '{')) return unexpected();
      if (c == '\\') {
        if (++at_ == text_.size()) break;
        escaped = true;
      }
      word += text_[at_++];
      if (quoted || c == '\\' || !is_space(c)) kept = word.size();
    }
    if (at_ == text_.size()) return unexpected();
    word.resize(kept);
    if (quoted) {
      ++at_;
      skip_blanks();
    } else if (word.empty()) {
      return unexpected();
    }
    Datum value;
    if (quoted || escaped || !is_null_word(word)) {
      if (Status status = parse_text(word, element_, time_, arena, value); !status.ok()) return status;
    }
    writer_.add(value);
    return {};
  }

  std::string_view text_;
  std::size_t at_ = 0;
  TypeId element_;
  const TimeContext& time_;
  ArrayWriter writer_;
};

// Reads the numbers of int2vector and oidvector.
Status parse_vector(std::string_view text, TypeId type, const TimeContext& time, Arena& arena, Datum& out) {
  ArrayWriter writer(type);
  std::size_t at = 0;
  while (true) {
    while (at < text.size() && is_space(text[at])) ++at;
    if (at == text.size()) break;
    if (Status status = check_elements(writer); !status.ok()) return status;
    std::size_t end = at;
    while (end < text.size() && !is_space(text[end])) ++end;
    Datum value;
    Status status = parse_text(text.substr(at, end - at), element_type(type), time, arena, value);
    if (!status.ok()) return status;
    writer.add(value);
    at = end;
  }
  out = writer.finish(arena);
  return {};
}

}  // namespace

void append_element_text(std::string& out, std::string_view text) {
  if (!needs_quotes(text)) {
    out += text;
    return;
  }
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  out += '"';
}

void append_array_text(std::string& out, TypeId type, const Datum& value, const absl::TimeZone& zone) {
  const bool vector = is_vector(type);
  if (!vector) out += '{';
  ArrayReader reader(type, value);
  bool first = true;
  std::string text;
  for (Datum element; reader.next(element); first = false) {
    if (!first) out += vector ? ' ' : ',';
    if (element.null) {
      out += "NULL";
      continue;
    }
    text.clear();
    append_text(text, {element_type(type)}, element, zone);
    append_element_text(out, text);
  }
  if (!vector) out += '}';
}

void append_array_binary(std::string& out, TypeId type, const Datum& value) {
  std::string elements;
  std::int32_t count = 0;
  bool has_null = false;
  ArrayReader reader(type, value);
  for (Datum element; reader.next(element); ++count) {
    if (element.null) {
      has_null = true;
      append_big_endian(elements, std::int32_t{-1});
      continue;
    }
    std::string bytes;
    append_binary(bytes, {element_type(type)}, element);
    append_big_endian(elements, static_cast<std::int32_t>(bytes.size()));
    elements += bytes;
  }
  append_big_endian(out, std::int32_t{count == 0 ? 0 : 1});  // dimensions
  append_big_endian(out, std::int32_t{has_null ? 1 : 0});
  append_big_endian(out, type_oid(element_type(type)));
  if (count == 0) return;
  append_big_endian(out, count);
  append_big_endian(out, first_subscript(type));
  out += elements;
}

Status parse_array_text(std::string_view text, TypeId type, const TimeContext& time, Arena& arena,
                        Datum& out) {
  if (is_vector(type)) return parse_vector(text, type, time, arena, out);
  return LiteralReader(text, type, time).read(arena, out);
}

Status parse_array_binary(std::string_view bytes, TypeId type, Arena& arena, Datum& out) {
  const Status malformed(ErrorCode::invalid_binary, "incorrect binary data format in bind parameter");
  std::size_t at = 0;
  bool whole = true;
  const auto number = [&bytes, &at, &whole] {
    if (bytes.size() - at < 4) {
      whole = false;
      return std::int32_t{0};
    }
    const auto value = static_cast<std::int32_t>(big_endian(bytes.substr(at, 4)));
    at += 4;
    return value;
  };
  const std::int32_t dimensions = number();
  number();  // whether there are NULLs
  const auto declared = static_cast<Oid>(number());
  if (!whole || dimensions < 0) return malformed;
  if (dimensions > 1)
    return Status(ErrorCode::feature_not_supported, "an array of several dimensions is not supported");
  const TypeId element = element_type(type);
  if (declared != type_oid(element)) {
    return Status(ErrorCode::datatype_mismatch, "wrong element type in array: " + std::to_string(declared) +
                                                    " instead of " + std::to_string(type_oid(element)));
  }
  ArrayWriter writer(type);
  if (dimensions == 1) {
    const std::int32_t count = number();
    number();  // the first subscript
    for (std::int32_t i = 0; whole && i < count; ++i) {
      const std::int32_t size = number();
      if (Status status = check_elements(writer); !status.ok()) return status;
      Datum value;
      if (size >= 0) {
        if (bytes.size() - at < static_cast<std::size_t>(size)) return malformed;
        const std::string_view own = bytes.substr(at, static_cast<std::size_t>(size));
        at += own.size();
        if (Status status = parse_binary(own, element, arena, value); !status.ok()) return status;
      }
      if (whole) writer.add(value);
    }
    if (count < 0) return malformed;
  }
  if (!whole || at != bytes.size()) return malformed;
  out = writer.finish(arena);
  return {};
}

}  // namespace namdb::sql
