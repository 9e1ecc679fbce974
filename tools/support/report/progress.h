// How far a long command is, on standard error: one line that rewrites itself on a terminal, a line every few
// seconds otherwise, nothing with --quiet. Results go to standard output only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace namdb::support {

// Nanoseconds of a steady clock: benchmarks are tools and take their time from the operating system.
std::uint64_t steady_now_ns();

class Progress {
 public:
  explicit Progress(bool quiet);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

  // True when it is time for another line; cheap enough to ask often.
  bool due(std::uint64_t now_ns) const { return !quiet_ && now_ns >= next_ns_; }
  void show(std::uint64_t now_ns, std::string_view line);
  // A line of its own, at once.
  void note(std::string_view line);

  // Ends the line that rewrites itself: other output may follow.
  void end_line();

 private:
  bool quiet_;
  bool terminal_;
  bool open_line_ = false;
  std::uint64_t interval_ns_;
  std::uint64_t next_ns_;
};

}  // namespace namdb::support
