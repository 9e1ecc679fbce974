// A thread that runs a reactor from its start to its end. Work reaches it through the reactor's mailbox.
#pragma once

#include <memory>
#include <semaphore>
#include <thread>

#include "common/base/error.h"
#include "common/reactor/reactor.h"

namespace namdb::reactor {

class ReactorThread {
 public:
  static Result<std::unique_ptr<ReactorThread>> start(const ReactorOptions& options = {});
  ReactorThread(const ReactorThread&) = delete;
  ReactorThread& operator=(const ReactorThread&) = delete;
  // Stops the reactor and waits for the thread. All objects on the reactor are gone before, its gates are
  // closed, and no other thread posts to its mailbox any more.
  ~ReactorThread();

  // For other threads only its mailbox.
  Reactor& reactor() { return *reactor_; }

 private:
  explicit ReactorThread(std::unique_ptr<Reactor> reactor);

  Reactor* reactor_;
  // stop() still uses the reactor after the reactor has seen it: it goes away only when stop() has returned.
  std::binary_semaphore stopped_{0};
  std::thread thread_;
};

}  // namespace namdb::reactor
