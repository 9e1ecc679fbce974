// A table in Markdown, its columns padded so that it can be read as it is: the first to the left, the others
// to the right.
#pragma once

#include <string>
#include <vector>

namespace namdb::nambench {

class MarkdownTable {
 public:
  explicit MarkdownTable(std::vector<std::string> header) { rows_.push_back(std::move(header)); }
  // As many cells as the header has.
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  std::string to_text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// With so many decimals, and commas between thousands.
std::string grouped(double value, int decimals);

}  // namespace namdb::nambench
