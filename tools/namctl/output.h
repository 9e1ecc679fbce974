// Shared by all commands of namctl: output and exit codes.
#pragma once

#include <cstdint>
#include <cstdio>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "common/base/error.h"

namespace namdb::namctl {

// Exit codes. CLI11 uses 2: an unknown command or flag, a malformed value.
inline constexpr int kExitOk = 0;
inline constexpr int kExitOther = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitEnvironment = 3;

// With --json, standard output holds one JSON document and nothing else; text for people goes to standard
// error.
class Output {
 public:
  explicit Output(bool json) : json_(json) {}
  bool json() const { return json_; }
  // A line of progress or of the report for people.
  void line(std::string_view text) const {
    std::FILE* stream = json_ ? stderr : stdout;
    std::fprintf(stream, "%.*s\n", static_cast<int>(text.size()), text.data());
    std::fflush(stream);
  }
  // The report for programs; nothing without --json. A command that reports again and again gives one line
  // each time.
  void document(const nlohmann::json& content, bool one_line = false) const;

 private:
  bool json_;
};

// As printf; up to 511 characters.
template <typename... Values>
std::string text(const char* format, Values... values) {
  char line[512];
  std::snprintf(line, sizeof line, format, values...);
  return line;
}

inline double mebibytes(std::uint64_t bytes) {
  return static_cast<double>(bytes) / (1 << 20);
}

inline double in_seconds(std::uint64_t duration_ns) {
  return static_cast<double>(duration_ns) / 1e9;
}

// Prints the error and gives the exit code that belongs to it.
int report_error(const Output& output, const Status& status);

}  // namespace namdb::namctl
