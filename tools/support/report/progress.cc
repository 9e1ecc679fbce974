#include "tools/support/report/progress.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "common/base/clock.h"

namespace namdb::support {
namespace {

void put(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace

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
  if (terminal_) put("\r");
  put(line);
  put(terminal_ ? "\033[K" : "\n");
  std::fflush(stderr);
  open_line_ = terminal_;
}

void Progress::note(std::string_view line) {
  if (quiet_) return;
  end_line();
  put(line);
  put("\n");
}

void Progress::end_line() {
  if (open_line_) std::fputc('\n', stderr);
  open_line_ = false;
}

}  // namespace namdb::support
