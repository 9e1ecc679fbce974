#include "common/reactor/signals.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "common/base/check.h"
#include "common/reactor/reactor.h"
#include "common/reactor/system_error.h"

namespace namdb::reactor {

Signals::Signals(Reactor& reactor, std::initializer_list<int> signals) : reactor_(reactor) {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : signals) ::sigaddset(&set, signal);
  NAMDB_CHECK(::pthread_sigmask(SIG_BLOCK, &set, nullptr) == 0);
  descriptor_ = ::signalfd(-1, &set, SFD_CLOEXEC);
  NAMDB_CHECK(descriptor_ >= 0);
}

Signals::~Signals() {
  ::close(descriptor_);
}

Task<Result<int>> Signals::next() {
  signalfd_siginfo info{};
  const int result = co_await reactor_.read(descriptor_, &info, sizeof info);
  if (result < 0) co_return system_error(ErrorCode::connection_failure, "waiting for a signal", -result);
  co_return static_cast<int>(info.ssi_signo);
}

Task<void> Signals::cancel() {
  co_await reactor_.cancel(descriptor_);
}

}  // namespace namdb::reactor
