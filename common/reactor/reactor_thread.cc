#include "common/reactor/reactor_thread.h"

#include <utility>

#include "common/base/signal_stack.h"

namespace namdb::reactor {

Result<std::unique_ptr<ReactorThread>> ReactorThread::start(const ReactorOptions& options) {
  Result<std::unique_ptr<Reactor>> reactor = Reactor::create(options);
  if (!reactor.ok()) return reactor.status();
  return std::unique_ptr<ReactorThread>(new ReactorThread(std::move(*reactor)));
}

ReactorThread::ReactorThread(std::unique_ptr<Reactor> reactor)
    : reactor_(reactor.get()), thread_([this, owned = std::move(reactor)]() mutable {
        const SignalStack signal_stack;
        owned->run();
        stopped_.acquire();
        owned.reset();
      }) {}

ReactorThread::~ReactorThread() {
  reactor_->stop();
  stopped_.release();
  thread_.join();
}

}  // namespace namdb::reactor
