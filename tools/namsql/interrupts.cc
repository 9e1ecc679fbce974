#include "tools/namsql/interrupts.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace namdb::namsql {
namespace {

// Read end, write end.
int interrupt_pipe[2] = {-1, -1};
volatile sig_atomic_t is_unnoticed = 0;

void note_interrupt(int) {
  if (is_unnoticed != 0) {
    ::signal(SIGINT, SIG_DFL);
    ::raise(SIGINT);
    return;
  }
  is_unnoticed = 1;
  const int saved = errno;
  [[maybe_unused]] const auto written = ::write(interrupt_pipe[1], "!", 1);
  errno = saved;
}

}  // namespace

void Interrupts::install() {
  if (interrupt_pipe[0] >= 0) return;
  if (::pipe2(interrupt_pipe, O_CLOEXEC | O_NONBLOCK) != 0) std::abort();
  struct sigaction action{};
  action.sa_handler = note_interrupt;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGINT, &action, nullptr);
}

bool Interrupts::take() {
  bool any = false;
  is_unnoticed = 0;
  char bytes[64];
  while (interrupt_pipe[0] >= 0 && ::read(interrupt_pipe[0], bytes, sizeof bytes) > 0) any = true;
  return any;
}

Interrupts::Wake Interrupts::wait(int descriptor, Ready ready, int timeout_ms) {
  for (;;) {
    // poll() passes over negative descriptors.
    pollfd entries[2] = {{interrupt_pipe[0], POLLIN, 0}, {descriptor, POLLIN, 0}};
    if (ready == Ready::read_or_write) entries[1].events |= POLLOUT;
    const int count = ::poll(entries, 2, timeout_ms);
    if (count < 0 && errno == EINTR) continue;
    if (entries[0].revents != 0 && take()) return Wake::interrupted;
    if (count > 0) return Wake::ready;
    return Wake::timeout;
  }
}

}  // namespace namdb::namsql
