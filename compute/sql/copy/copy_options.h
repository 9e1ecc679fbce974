// The options of COPY: how rows are written in its data.
#pragma once

#include <cstdint>
#include <string>

namespace namdb::sql {

enum class CopyFormat : std::uint8_t { text, csv, binary };

struct CopyOptions {
  CopyFormat format = CopyFormat::text;
  char delimiter = '\t';
  std::string null_text = "\\N";
  bool header = false;  // the first line has the columns' names
  // The quote of csv.
  char quote = '"';
  char escape = '"';

  // The format's options, where the statement gives none.
  static CopyOptions of(CopyFormat format) {
    CopyOptions options;
    options.format = format;
    if (format == CopyFormat::csv) {
      options.delimiter = ',';
      options.null_text.clear();
    }
    return options;
  }
};

}  // namespace namdb::sql
