#include "compute/sql/copy/copy_reader.h"

#include <algorithm>
#include <utility>

#include "compute/sql/value/bytes.h"
#include "compute/sql/value/characters.h"
#include "compute/sql/value/value_format.h"

namespace namdb::sql {
namespace {

constexpr std::size_t kMaxRow_bytes = 64 << 20;
constexpr std::string_view kSignature("PGCOPY\n\377\r\n\0", 11);
constexpr std::size_t kNoEnd = std::string_view::npos;

Status bad_format(std::string message) {
  return Status(ErrorCode::bad_copy_format, std::move(message));
}

bool is_octal(char c) {
  return c >= '0' && c <= '7';
}

}  // namespace

CopyReader::CopyReader(CopyOptions options, std::vector<std::string> columns)
    : options_(std::move(options)), columns_(std::move(columns)), skipped_header_(!options_.header) {}

void CopyReader::add(std::string_view bytes) {
  if (begin_ != 0) {
    buffer_.erase(0, begin_);
    begin_ = 0;
  }
  buffer_ += bytes;
}

Result<CopyReader::Next> CopyReader::next(Fields& fields) {
  fields.clear();
  scratch_.clear();
  if (finished_) return Next::end;
  if (rest().size() > kMaxRow_bytes && !ended_) {
    return Status(ErrorCode::limit_exceeded,
                  "a row of COPY can have at most " + std::to_string(kMaxRow_bytes) + " bytes");
  }
  return options_.format == CopyFormat::binary ? next_binary(fields) : next_line(fields);
}

// Goes on where it ended before, so that a long line that comes in parts is scanned once.
std::size_t CopyReader::find_line_end(std::string_view text) {
  const bool csv = options_.format == CopyFormat::csv;
  // As a rule a line of text has no escapes, and is found at once.
  if (!csv && !escaped_) {
    const std::string_view rest = text.substr(scanned_);
    const std::size_t end = rest.find('\n');
    if (rest.substr(0, end).find('\\') == kNoEnd) {
      scanned_ = end == kNoEnd ? text.size() : scanned_ + end;
      return end == kNoEnd ? kNoEnd : scanned_;
    }
  }
  for (; scanned_ < text.size(); ++scanned_) {
    const char c = text[scanned_];
    if (!csv) {
      if (escaped_) {
        escaped_ = false;
      } else if (c == '\\') {
        escaped_ = true;
      } else if (c == '\n') {
        return scanned_;
      }
      continue;
    }
    // An escaped quote is two of them, or is behind another character that is not a quote.
    if (escaped_) {
      escaped_ = false;
    } else if (quoted_ && c == options_.escape && options_.escape != options_.quote) {
      escaped_ = true;
    } else if (c == options_.quote) {
      quoted_ = !quoted_;
    } else if (c == '\n' && !quoted_) {
      return scanned_;
    }
  }
  return kNoEnd;
}

Result<std::optional<std::string_view>> CopyReader::take_line() {
  const std::string_view text = rest();
  const std::size_t end = find_line_end(text);
  if (end == kNoEnd && !ended_) return std::optional<std::string_view>();
  if (end == kNoEnd && quoted_) return bad_format("unterminated CSV quoted field");
  std::string_view line = text.substr(0, end);
  begin_ += end == kNoEnd ? text.size() : end + 1;
  scanned_ = 0;
  quoted_ = escaped_ = false;
  line_ = ++lines_;
  lines_ += static_cast<std::uint64_t>(std::ranges::count(line, '\n'));
  if (line.ends_with('\r')) line.remove_suffix(1);
  line_text_ = line;
  return std::optional<std::string_view>(line);
}

Result<CopyReader::Next> CopyReader::next_line(Fields& fields) {
  while (true) {
    if (ended_ && rest().empty()) {
      finished_ = true;
      return Next::end;
    }
    const Result<std::optional<std::string_view>> line = take_line();
    if (!line.ok()) return line.status();
    if (!*line) return Next::more;
    if (**line == "\\.") {
      finished_ = true;
      return Next::end;
    }
    if (!std::exchange(skipped_header_, true)) continue;
    Status status =
        options_.format == CopyFormat::csv ? split_csv(**line, fields) : split_text(**line, fields);
    if (!status.ok()) {
      const Status encoding = check_encoding();
      return encoding.ok() ? status : encoding;
    }
    return Next::row;
  }
}

Status CopyReader::check_encoding() const {
  return check_utf8(line_text_);
}

Status CopyReader::check_fields(std::size_t count) const {
  if (count > columns_.size()) return bad_format("extra data after last expected column");
  if (count < columns_.size()) return bad_format("missing data for column \"" + columns_[count] + "\"");
  return {};
}

std::string_view CopyReader::unescaped(std::string_view field) {
  if (field.find('\\') == std::string_view::npos) return field;
  const std::size_t begin = scratch_.size();
  for (std::size_t at = 0; at < field.size(); ++at) {
    if (field[at] != '\\' || at + 1 == field.size()) {
      scratch_ += field[at];
      continue;
    }
    const char c = field[++at];
    constexpr std::string_view kLetters = "bfnrtv";
    constexpr std::string_view kControls = "\b\f\n\r\t\v";
    if (const std::size_t letter = kLetters.find(c); letter != std::string_view::npos) {
      scratch_ += kControls[letter];
    } else if (is_octal(c)) {
      int value = c - '0';
      for (int i = 0; i < 2 && at + 1 < field.size() && is_octal(field[at + 1]); ++i)
        value = value * 8 + (field[++at] - '0');
      scratch_ += static_cast<char>(value & 0xff);
    } else if (c == 'x' && at + 1 < field.size() && hex_digit(field[at + 1]) >= 0) {
      int value = hex_digit(field[++at]);
      if (at + 1 < field.size() && hex_digit(field[at + 1]) >= 0) value = value * 16 + hex_digit(field[++at]);
      scratch_ += static_cast<char>(value);
    } else {
      scratch_ += c;
    }
  }
  return std::string_view(scratch_).substr(begin);
}

Status CopyReader::split_text(std::string_view line, Fields& fields) {
  scratch_.reserve(line.size());  // so that fields that borrow from it stay where they are
  // As a rule a line has no such characters, and its fields are found at once.
  const bool plain = line.find('\\') == kNoEnd && line.find('\r') == kNoEnd;
  std::size_t begin = 0;
  std::size_t count = 0;
  while (true) {
    std::size_t end = begin;
    if (plain) end = std::min(line.find(options_.delimiter, begin), line.size());
    while (!plain && end < line.size() && line[end] != options_.delimiter) {
      if (line[end] == '\r') return bad_format("literal carriage return found in data");
      end += line[end] == '\\' && end + 1 < line.size() ? 2 : 1;
    }
    const std::string_view field = line.substr(begin, end - begin);
    ++count;
    if (count <= columns_.size()) {
      const bool null = field == options_.null_text;
      fields.push_back(null ? std::nullopt : std::optional(plain ? field : unescaped(field)));
    }
    if (end >= line.size()) break;
    begin = end + 1;
  }
  if (columns_.empty() && line.empty()) return {};
  return check_fields(count);
}

Status CopyReader::split_csv(std::string_view line, Fields& fields) {
  scratch_.reserve(line.size());
  std::size_t at = 0;
  std::size_t count = 0;
  while (true) {
    const std::size_t begin = scratch_.size();
    bool quoted = false;
    bool any_quotes = false;
    for (; at < line.size() && (quoted || line[at] != options_.delimiter); ++at) {
      const char c = line[at];
      const char following = at + 1 < line.size() ? line[at + 1] : '\0';
      const bool escapes = quoted && c == options_.escape &&
                           (following == options_.quote || following == options_.escape) &&
                           at + 1 < line.size();
      if (escapes) {
        scratch_ += line[++at];
      } else if (c == options_.quote) {
        quoted = !quoted;
        any_quotes = true;
      } else {
        scratch_ += c;
      }
    }
    const std::string_view field = std::string_view(scratch_).substr(begin);
    ++count;
    if (count <= columns_.size())
      fields.push_back(!any_quotes && field == options_.null_text ? std::nullopt : std::optional(field));
    if (at >= line.size()) break;
    ++at;
  }
  if (columns_.empty() && line.empty()) return {};
  return check_fields(count);
}

// False: it is not complete.
Result<bool> CopyReader::take_signature() {
  constexpr std::size_t kHeader_bytes = kSignature.size() + 8;
  const std::string_view text = rest();
  if (!text.substr(0, kSignature.size()).starts_with(kSignature.substr(0, text.size())))
    return bad_format("COPY file signature not recognized");
  if (text.size() < kHeader_bytes) {
    if (ended_) return bad_format("COPY file signature not recognized");
    return false;
  }
  const std::uint64_t flags = big_endian(text.substr(kSignature.size(), 4));
  const std::uint64_t extension_bytes = big_endian(text.substr(kSignature.size() + 4, 4));
  if ((flags & 0xffff'0000) != 0) return bad_format("unrecognized critical flags in COPY file header");
  if (extension_bytes > kMaxRow_bytes) return bad_format("invalid COPY file header (wrong length)");
  if (text.size() < kHeader_bytes + extension_bytes) {
    if (ended_) return bad_format("invalid COPY file header (wrong length)");
    return false;
  }
  begin_ += kHeader_bytes + extension_bytes;
  has_signature_ = true;
  return true;
}

Result<CopyReader::Next> CopyReader::next_binary(Fields& fields) {
  if (!has_signature_) {
    const Result<bool> taken = take_signature();
    if (!taken.ok()) return taken.status();
    if (!*taken) return Next::more;
  }
  const std::string_view text = rest();
  const auto incomplete = [this]() -> Result<Next> {
    if (ended_) return bad_format("unexpected EOF in COPY data");
    return Next::more;
  };
  if (text.empty() && ended_) {
    finished_ = true;
    return Next::end;
  }
  if (text.size() < 2) return incomplete();
  const auto count = static_cast<std::int16_t>(big_endian(text.substr(0, 2)));
  line_ = lines_ + 1;
  if (count == -1) {
    if (text.size() > 2) return bad_format("received copy data after EOF marker");
    if (!ended_) return Next::more;
    finished_ = true;
    return Next::end;
  }
  if (count < 0 || static_cast<std::size_t>(count) != columns_.size()) {
    return bad_format("row field count is " + std::to_string(count) + ", expected " +
                      std::to_string(columns_.size()));
  }
  std::size_t at = 2;
  for (std::int16_t i = 0; i < count; ++i) {
    if (text.size() - at < 4) return incomplete();
    const auto size = static_cast<std::int32_t>(big_endian(text.substr(at, 4)));
    at += 4;
    if (size < -1) return bad_format("invalid field size");
    if (size > static_cast<std::int32_t>(kMaxRow_bytes)) return bad_format("invalid field size");
    if (size == -1) {
      fields.push_back(std::nullopt);
      continue;
    }
    if (text.size() - at < static_cast<std::size_t>(size)) {
      fields.clear();
      return incomplete();
    }
    fields.push_back(text.substr(at, static_cast<std::size_t>(size)));
    at += static_cast<std::size_t>(size);
  }
  begin_ += at;
  ++lines_;
  return Next::row;
}

}  // namespace namdb::sql
