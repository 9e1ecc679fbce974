#include "compute/sql/copy/copy_writer.h"

#include "compute/sql/value/bytes.h"
#include "compute/sql/value/value_format.h"

namespace namdb::sql {
namespace {

void append_escaped(std::string& out, std::string_view text, char delimiter) {
  for (const char c : text) {
    constexpr std::string_view kControls = "\b\f\n\r\t\v";
    constexpr std::string_view kLetters = "bfnrtv";
    if (const std::size_t control = kControls.find(c); control != std::string_view::npos) {
      out += '\\';
      out += kLetters[control];
    } else {
      if (c == '\\' || c == delimiter) out += '\\';
      out += c;
    }
  }
}

}  // namespace

// `is_only`: the line has nothing else.
void CopyWriter::append_field(std::string& out, std::string_view text, bool is_only) const {
  if (options_.format == CopyFormat::text) return append_escaped(out, text, options_.delimiter);
  const bool is_end = is_only && text == "\\.";
  bool quotes = text == options_.null_text || is_end;
  for (const char c : text)
    quotes = quotes || c == options_.delimiter || c == options_.quote || c == '\n' || c == '\r';
  if (!quotes) {
    out += text;
    return;
  }
  out += options_.quote;
  for (const char c : text) {
    if (c == options_.quote || c == options_.escape) out += options_.escape;
    out += c;
  }
  out += options_.quote;
}

void CopyWriter::begin(std::string& out, std::span<const std::string> names) {
  if (options_.format == CopyFormat::binary) {
    out.append("PGCOPY\n\377\r\n\0", 11);
    append_big_endian(out, std::int32_t{0});  // flags
    append_big_endian(out, std::int32_t{0});  // no extension
    return;
  }
  if (!options_.header) return;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i != 0) out += options_.delimiter;
    append_field(out, names[i], names.size() == 1);
  }
  out += '\n';
}

void CopyWriter::row(std::string& out, std::span<const Datum> values) {
  if (options_.format == CopyFormat::binary) {
    append_big_endian(out, static_cast<std::int16_t>(values.size()));
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i].null) {
        append_big_endian(out, std::int32_t{-1});
        continue;
      }
      scratch_.clear();
      append_binary(scratch_, types_[i], values[i]);
      append_big_endian(out, static_cast<std::int32_t>(scratch_.size()));
      out += scratch_;
    }
    return;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i != 0) out += options_.delimiter;
    if (values[i].null) {
      out += options_.null_text;
      continue;
    }
    scratch_.clear();
    append_text(scratch_, types_[i], values[i], zone_);
    append_field(out, scratch_, values.size() == 1);
  }
  out += '\n';
}

void CopyWriter::end(std::string& out) const {
  if (options_.format == CopyFormat::binary) append_big_endian(out, std::int16_t{-1});
}

}  // namespace namdb::sql
