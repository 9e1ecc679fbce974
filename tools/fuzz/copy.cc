// The target `copy`: the data of COPY FROM. The first byte of the input has the format (text, csv, binary)
// and bits for a header and other delimiters, the second one how many columns there are, the third how many
// bytes come at a time. The same data gives the same rows in parts of any length.
#include <optional>
#include <string>
#include <vector>

#include "common/base/check.h"
#include "compute/sql/copy/copy_reader.h"
#include "tools/fuzz/targets.h"

namespace namdb::fuzz {
namespace {

struct ReadCopy {
  std::vector<std::vector<std::optional<std::string>>> rows;
  bool failed = false;

  friend bool operator==(const ReadCopy&, const ReadCopy&) = default;
};

ReadCopy read_copy(const sql::CopyOptions& options, std::size_t columns, std::string_view data,
                   std::size_t part_bytes) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < columns; ++i) names.push_back("c" + std::to_string(i));
  sql::CopyReader reader(options, names);
  ReadCopy read;
  std::vector<std::optional<std::string_view>> fields;
  for (;;) {
    const Result<sql::CopyReader::Next> next = reader.next(fields);
    if (!next.ok()) {
      read.failed = true;
      return read;
    }
    if (*next == sql::CopyReader::Next::end) return read;
    if (*next == sql::CopyReader::Next::more) {
      if (data.empty()) {
        reader.end();
        continue;
      }
      const std::string_view part = data.substr(0, part_bytes);
      data.remove_prefix(part.size());
      reader.add(part);
      continue;
    }
    NAMDB_CHECK(fields.size() == columns);
    auto& row = read.rows.emplace_back();
    for (const std::optional<std::string_view>& field : fields)
      row.push_back(field ? std::optional<std::string>(*field) : std::nullopt);
  }
}

}  // namespace

void run_copy(Bytes input) {
  if (input.size() < 3) return;
  sql::CopyOptions options = sql::CopyOptions::of(static_cast<sql::CopyFormat>(input[0] % 3));
  options.header = (input[0] & 4) != 0 && options.format != sql::CopyFormat::binary;
  if ((input[0] & 8) != 0) options.delimiter = '|';
  if ((input[0] & 16) != 0) options.null_text = "null";
  if ((input[0] & 32) != 0) options.escape = '\\';
  const std::size_t columns = input[1] % 8;
  const std::string_view data = as_text(input.subspan(3));
  const ReadCopy whole = read_copy(options, columns, data, data.size() + 1);
  NAMDB_CHECK(read_copy(options, columns, data, 1 + input[2]) == whole);
}

}  // namespace namdb::fuzz
