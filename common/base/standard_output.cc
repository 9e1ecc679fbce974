#include "common/base/standard_output.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace namdb {
namespace {

constexpr int kExitBrokenPipe = 128 + SIGPIPE;

bool reader_is_gone() {
  pollfd entry{STDOUT_FILENO, POLLOUT, 0};
  return ::poll(&entry, 1, 0) > 0 && (entry.revents & POLLERR) != 0;
}

}  // namespace

void ignore_broken_pipes() {
  ::signal(SIGPIPE, SIG_IGN);
}

bool standard_output_arrives() {
  return std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
}

int finish_standard_output(std::string_view program, int exit_code) {
  errno = 0;
  if (standard_output_arrives()) return exit_code;
  if (reader_is_gone()) return kExitBrokenPipe;
  const char* const reason = errno == 0 ? "an earlier error" : std::strerror(errno);
  std::fprintf(stderr, "%.*s: standard output cannot be written: %s\n", static_cast<int>(program.size()),
               program.data(), reason);
  return exit_code == 0 ? 1 : exit_code;
}

}  // namespace namdb
