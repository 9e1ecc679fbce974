// Histories as files: JSON Lines, one object a line. The first says what it is, every other is a transaction.
// docs/internals/history-format.md describes it. Reading is strict: unknown, missing and repeated fields,
// wrong types and numbers out of range are errors that name line and field; no input crashes the reader.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "tools/namsim/history/history.h"

namespace namdb::history {

struct FormatLimits {
  std::uint64_t line_bytes = 64U << 20;
  std::uint64_t transactions = 20'000'000;
};

// Errors: corrupt_data "line 7: operations[2].key: ...".
Result<History> read_history(std::istream& in, const FormatLimits& limits = {});
// configuration if the file cannot be opened; otherwise as above, after the file's name.
Result<History> read_history_file(const std::string& path);

// One line each, with its line feed.
std::string header_line(Model model);
std::string transaction_line(Model model, const Transaction& transaction);
// Everything; configuration if the file cannot be written.
Status write_history_file(const std::string& path, const History& history);

}  // namespace namdb::history
