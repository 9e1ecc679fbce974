// The forms of uuid and bytea in text.
#include <string>

#include <nlohmann/json.hpp>

#include "common/base/hex.h"
#include "compute/sql/value/characters.h"
#include "compute/sql/value/json_fault.h"
#include "compute/sql/value/value_format.h"

namespace namdb::sql {
namespace {

void append_hex(std::string& out, std::string_view bytes) {
  for (const char c : bytes) out += in_hex(static_cast<unsigned char>(c), 2);
}

Status invalid_uuid(std::string_view text) {
  return Status(ErrorCode::invalid_text, "invalid input syntax for type uuid: \"" + std::string(text) + "\"");
}

Status invalid_bytea() {
  return Status(ErrorCode::invalid_text, "invalid input syntax for type bytea");
}

Status parse_hex(std::string_view text, std::string& bytes) {
  int high = -1;
  for (const char c : text) {
    if (high < 0 && is_space(c)) continue;
    const int digit = hex_digit(c);
    if (digit < 0)
      return Status(ErrorCode::invalid_parameter_value,
                    "invalid hexadecimal digit: \"" + std::string(1, c) + "\"");
    if (high < 0) {
      high = digit;
    } else {
      bytes += static_cast<char>(high << 4 | digit);
      high = -1;
    }
  }
  if (high < 0) return {};
  return Status(ErrorCode::invalid_parameter_value, "invalid hexadecimal data: odd number of digits");
}

Status parse_escapes(std::string_view text, std::string& bytes) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\\') {
      bytes += text[at];
      continue;
    }
    const std::string_view rest = text.substr(at + 1);
    if (rest.starts_with('\\')) {
      bytes += '\\';
      ++at;
      continue;
    }
    const auto octal = [rest](std::size_t i) { return rest[i] >= '0' && rest[i] <= '7'; };
    if (rest.size() < 3 || rest[0] > '3' || !octal(0) || !octal(1) || !octal(2)) return invalid_bytea();
    bytes += static_cast<char>((rest[0] - '0') << 6 | (rest[1] - '0') << 3 | (rest[2] - '0'));
    at += 3;
  }
  return {};
}

}  // namespace

void append_uuid_text(std::string& out, std::string_view bytes) {
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    if (at == 4 || at == 6 || at == 8 || at == 10) out += '-';
    append_hex(out, bytes.substr(at, 1));
  }
}

// Hyphens may be behind any group of four digits, and braces around all.
Status parse_uuid_text(std::string_view text, Arena& arena, Datum& out) {
  std::string_view rest = text;
  const bool braces = rest.starts_with('{');
  if (braces && !rest.ends_with('}')) return invalid_uuid(text);
  if (braces) rest = rest.substr(1, rest.size() - 2);
  std::string bytes;
  for (std::size_t i = 0; i < layout::kUuid_bytes; ++i) {
    if (rest.size() < 2 || hex_digit(rest[0]) < 0 || hex_digit(rest[1]) < 0) return invalid_uuid(text);
    bytes += static_cast<char>(hex_digit(rest[0]) << 4 | hex_digit(rest[1]));
    rest.remove_prefix(2);
    if (i % 2 == 1 && i + 1 < layout::kUuid_bytes && rest.starts_with('-')) rest.remove_prefix(1);
  }
  if (!rest.empty()) return invalid_uuid(text);
  out = Datum::of_text(arena.copy(bytes));
  return {};
}

void append_bytea_text(std::string& out, std::string_view bytes) {
  out += "\\x";
  append_hex(out, bytes);
}

Status parse_bytea_text(std::string_view text, Arena& arena, Datum& out) {
  std::string bytes;
  Status status = text.starts_with("\\x") ? parse_hex(text.substr(2), bytes) : parse_escapes(text, bytes);
  out = Datum::of_text(arena.copy(bytes));
  return status;
}

Status check_json(std::string_view text) {
  if (nlohmann::json::accept(text)) return {};
  return invalid_json(text);
}

}  // namespace namdb::sql
