// Results for programs, row by row as they come from the server: --csv and --json.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/namsql/result_table.h"

namespace namdb::namsql {

// NULL is absent.
using CellView = std::optional<std::string_view>;

// Each function gives the text that is to be written. Between begin() and end() all rows have the columns of
// begin().
class RowFormat {
 public:
  virtual ~RowFormat() = default;
  virtual std::string begin(std::span<const Column> columns) = 0;
  virtual std::string row(std::span<const CellView> cells) = 0;
  virtual std::string end() = 0;
};

// RFC 4180 except for line ends, which are \n: a line with the names, and a line for each row. A value is
// quoted where it must be; NULL is nothing, and an empty string is "".
std::unique_ptr<RowFormat> make_csv_format();

// An array with an object for each row, on a line of its own. Numbers, booleans and JSON are themselves, all
// else is a string. A column with the name of one before it gets a number: a, a_2.
std::unique_ptr<RowFormat> make_json_format();

// With quotes. Bytes that are not UTF-8 become U+FFFD.
std::string json_string(std::string_view text);

}  // namespace namdb::namsql
