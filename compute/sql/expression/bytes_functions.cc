// Functions of bytea and uuid.
#include <openssl/evp.h>

#include <array>
#include <string>

#include "compute/sql/expression/expression.h"
#include "compute/sql/expression/function_tables.h"
#include "compute/sql/value/characters.h"
#include "compute/sql/value/value_format.h"

namespace namdb::sql {
namespace {

using Arguments = std::span<const Datum>;
using Context = const EvalContext&;

constexpr std::string_view kBase64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

Status unknown_encoding(std::string_view name) {
  return Status(ErrorCode::invalid_parameter_value, "unrecognized encoding: \"" + std::string(name) + "\"");
}

// In lines of 76 characters, as PostgreSQL does it.
std::string base64_of(std::string_view bytes) {
  std::string text;
  std::size_t line = 0;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    if (line == 76) {
      text += '\n';
      line = 0;
    }
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i)
      group = group << 8 | (at + i < bytes.size() ? static_cast<unsigned char>(bytes[at + i]) : 0U);
    for (std::size_t i = 0; i < 4; ++i)
      text += at + i <= bytes.size() ? kBase64[group >> (18 - 6 * i) & 63] : '=';
    line += 4;
  }
  return text;
}

Status bytes_of_base64(std::string_view text, std::string& bytes) {
  std::uint32_t group = 0;
  std::size_t digits = 0;
  std::size_t padding = 0;
  for (const char c : text) {
    if (is_space(c)) continue;
    const std::size_t digit = kBase64.find(c);
    if (c == '=' && digits >= 2) {
      ++padding;
      group <<= 6;
    } else if (digit == std::string_view::npos || padding != 0) {
      return Status(ErrorCode::invalid_parameter_value,
                    "invalid symbol \"" + std::string(1, c) + "\" found while decoding base64 sequence");
    } else {
      group = group << 6 | static_cast<std::uint32_t>(digit);
    }
    if (++digits < 4) continue;
    for (std::size_t i = 0; i + padding < 3; ++i) bytes += static_cast<char>(group >> (16 - 8 * i) & 0xff);
    group = 0;
    digits = 0;
  }
  if (digits == 0) return {};
  return Status(ErrorCode::invalid_parameter_value, "invalid base64 end sequence",
                "Input data is missing padding, is truncated, or is otherwise corrupted.");
}

Status encode(Context context, Arguments a, Datum& out) {
  const std::string name = in_lower_case(a[1].text);
  std::string text;
  if (name == "hex") {
    append_bytea_text(text, a[0].text);
    text.erase(0, 2);
  } else if (name == "base64") {
    text = base64_of(a[0].text);
  } else if (name == "escape") {
    for (const char c : a[0].text) {
      const auto byte = static_cast<unsigned char>(c);
      if (c == '\\') {
        text += "\\\\";
      } else if (byte == 0 || byte >= 0x80) {
        text += '\\';
        for (const unsigned shift : {6U, 3U, 0U}) text += static_cast<char>('0' + (byte >> shift & 7));
      } else {
        text += c;
      }
    }
  } else {
    return unknown_encoding(a[1].text);
  }
  context.work->charge_bytes(text.size());
  out = Datum::of_text(context.arena->copy(text));
  return check_text_bytes(text.size());
}

Status decode(Context context, Arguments a, Datum& out) {
  const std::string name = in_lower_case(a[1].text);
  if (name == "hex") {
    std::string with_prefix = "\\x";
    return parse_bytea_text(with_prefix.append(a[0].text), *context.arena, out);
  }
  if (name == "escape") return parse_bytea_text(a[0].text, *context.arena, out);
  if (name != "base64") return unknown_encoding(a[1].text);
  std::string bytes;
  Status status = bytes_of_base64(a[0].text, bytes);
  out = Datum::of_text(context.arena->copy(bytes));
  return status;
}

Status size(Context, Arguments a, Datum& out) {
  out = Datum::of_integer(static_cast<std::int64_t>(a[0].text.size()));
  return {};
}

std::string digest(const EVP_MD* algorithm, std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> result;
  unsigned length = 0;
  NAMDB_CHECK(EVP_Digest(bytes.data(), bytes.size(), result.data(), &length, algorithm, nullptr) == 1);
  return {reinterpret_cast<const char*>(result.data()), length};
}

Status md5(Context context, Arguments a, Datum& out) {
  std::string text;
  append_bytea_text(text, digest(EVP_md5(), a[0].text));
  out = Datum::of_text(context.arena->copy(text.substr(2)));
  return {};
}

Status sha256(Context context, Arguments a, Datum& out) {
  out = Datum::of_text(context.arena->copy(digest(EVP_sha256(), a[0].text)));
  return {};
}

// Version 4: random except for six bits.
Status random_uuid(Context context, Arguments, Datum& out) {
  std::string bytes(layout::kUuid_bytes, '\0');
  for (std::size_t at = 0; at < bytes.size(); at += 8) {
    const std::uint64_t random = context.random->next();
    for (std::size_t i = 0; i < 8; ++i) bytes[at + i] = static_cast<char>(random >> (8 * i) & 0xff);
  }
  bytes[6] = static_cast<char>((bytes[6] & 0x0f) | 0x40);
  bytes[8] = static_cast<char>((bytes[8] & 0x3f) | 0x80);
  out = Datum::of_text(context.arena->copy(bytes));
  return {};
}

}  // namespace

std::span<const Function> bytes_functions() {
  using enum TypeId;
  static const std::vector<Function> functions = {
      {"encode", {bytea, text}, text, encode},
      {"decode", {text, text}, bytea, decode},
      {"length", {bytea}, int4, size},
      {"octet_length", {bytea}, int4, size},
      {"md5", {text}, text, md5},
      {"md5", {bytea}, text, md5},
      {"sha256", {bytea}, bytea, sha256},
      {"gen_random_uuid", {}, uuid, random_uuid, Volatility::is_volatile},
  };
  return functions;
}

}  // namespace namdb::sql
