// Splits the data of COPY FROM into rows and fields. Takes bytes from outside of any content, in parts of any
// size, and keeps them until a row is complete.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "compute/sql/copy/copy_options.h"

namespace namdb::sql {

class CopyReader {
 public:
  // `columns` are the names of those that a row has a field for.
  CopyReader(CopyOptions options, std::vector<std::string> columns);

  void add(std::string_view bytes);
  // There are no more bytes.
  void end() { ended_ = true; }

  enum class Next : std::uint8_t { row, more, end };
  // Replaces the fields by those of the next row; nullopt is NULL. They are valid until the next call.
  // `more`: the row is not complete. Errors bad_copy_format, limit_exceeded.
  Result<Next> next(std::vector<std::optional<std::string_view>>& fields);
  // The number of the last row's first line, from 1; of a binary row, its number.
  std::uint64_t line() const { return line_; }
  // invalid_encoding: the bytes of the last line are not text. next() only looks at them where it finds
  // another error: strings are checked when they become values.
  Status check_encoding() const;
  // The bytes that it keeps.
  std::size_t kept_bytes() const { return buffer_.capacity() + scratch_.capacity(); }

 private:
  using Fields = std::vector<std::optional<std::string_view>>;
  std::string_view rest() const { return std::string_view(buffer_).substr(begin_); }
  // The next line without its end; nullopt: it is not complete. In csv it has line ends within quotes.
  Result<std::optional<std::string_view>> take_line();
  std::size_t find_line_end(std::string_view text);
  Status split_text(std::string_view line, Fields& fields);
  Status split_csv(std::string_view line, Fields& fields);
  std::string_view unescaped(std::string_view field);
  Status check_fields(std::size_t count) const;
  Result<Next> next_line(Fields& fields);
  Result<Next> next_binary(Fields& fields);
  Result<bool> take_signature();

  CopyOptions options_;
  std::vector<std::string> columns_;
  std::string buffer_;
  std::size_t begin_ = 0;    // of what is not taken yet
  std::size_t scanned_ = 0;  // of that: has no end of a line
  bool quoted_ = false;      // csv: the scan is within quotes
  bool escaped_ = false;     // text: a backslash came before
  bool ended_ = false;
  bool finished_ = false;  // the end of the data was marked
  bool skipped_header_ = false;
  bool has_signature_ = false;
  std::uint64_t line_ = 0;
  std::uint64_t lines_ = 0;     // taken so far
  std::string_view line_text_;  // the last line; not of binary rows
  std::string scratch_;         // fields without their escapes
};

}  // namespace namdb::sql
