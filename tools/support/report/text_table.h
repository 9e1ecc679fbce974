// Columns of text for people: the first to the left, the others to the right.
#pragma once

#include <string>
#include <vector>

namespace namdb::support {

class TextTable {
 public:
  explicit TextTable(std::vector<std::string> header) { rows_.push_back(std::move(header)); }
  // As many cells as the header has.
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  std::string to_text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// With so many decimals.
std::string decimal(double value, int decimals);

}  // namespace namdb::support
