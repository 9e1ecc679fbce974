#include "tools/nambench/progress.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "common/base/clock.h"

namespace namdb::nambench {

std::uint64_t steady_now_ns() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::steady_clock::now().time_since_epoch())
                                        .count());
}

Progress::Progress(bool quiet)
    : quiet_(quiet),
      terminal_(isatty(STDERR_FILENO) == 1),
      interval_ns_(terminal_ ? 200 * kMillisecond_ns : 5 * kSecond_ns),
      next_ns_(steady_now_ns() + interval_ns_) {}

Progress::~Progress() {
  end_line();
}

void Progress::show(std::uint64_t now_ns, std::string_view line) {
  if (quiet_) return;
  next_ns_ = now_ns + interval_ns_;
  const int length = static_cast<int>(line.size());
  if (terminal_) {
    std::fprintf(stderr, "\r%.*s\033[K", length, line.data());
    std::fflush(stderr);
    open_line_ = true;
  } else {
    std::fprintf(stderr, "%.*s\n", length, line.data());
  }
}

void Progress::note(std::string_view line) {
  if (quiet_) return;
  end_line();
  std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
}

void Progress::end_line() {
  if (open_line_) std::fputc('\n', stderr);
  open_line_ = false;
}

}  // namespace namdb::nambench
