// Where results go: standard output, through a pager when they are longer than the screen, or a file (`\o`).
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/error.h"

namespace namdb::namsql {

class Output {
 public:
  enum class Paging : std::uint8_t { never, long_results };
  explicit Output(Paging paging) : paging_(paging) {}
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  ~Output() { (void)to_standard_output(); }

  // A whole result: it may be paged.
  void result(std::string_view text);
  // A part of a result, or a line for people.
  void write(std::string_view text);
  // The former one.
  Paging set_paging(Paging paging) { return std::exchange(paging_, paging); }
  void flush() { std::fflush(file_); }
  // The file takes the place of what it holds. An error leaves the output as it was.
  Status to_file(const std::string& path);
  // The error is that of the file that was written until now.
  Status to_standard_output();
  bool is_file() const { return file_ != stdout; }

 private:
  bool page(std::string_view text);

  std::FILE* file_ = stdout;
  Paging paging_;
};

// Columns and lines of the terminal at standard output; 80 and 24 where they are not known.
struct ScreenSize {
  std::size_t columns = 80;
  std::size_t lines = 24;
};
ScreenSize screen_size();
// Whether the text needs more lines or columns.
bool exceeds(std::string_view text, ScreenSize screen);

// To standard error, behind all that was written to standard output.
void complain(std::string_view text);

}  // namespace namdb::namsql
