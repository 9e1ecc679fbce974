// The TAB key: words that may stand at the cursor.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace namdb::namsql {

// Names that the server knows, unquoted.
struct Names {
  std::map<std::string, std::vector<std::string>> columns;  // by table: its keys are the tables
  std::vector<std::string> indexes;
  std::vector<std::string> procedures;
  std::vector<std::string> settings;
};

struct Completion {
  std::size_t begin = 0;                // byte of the text at which the word begins
  std::vector<std::string> candidates;  // in order, each once; in place of the word
  bool is_file = false;  // the word is the name of a file of this machine: the caller completes it
};

// `text` is the statement so far with the line of the cursor, `cursor` a byte in it. `line_begin` is where
// that line begins: a backslash command begins there.
Completion complete(std::string_view text, std::size_t cursor, std::size_t line_begin, const Names& names);

// The longest beginning that all have.
std::string common_beginning(const std::vector<std::string>& words);

}  // namespace namdb::namsql
