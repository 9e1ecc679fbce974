// The listening sockets of a compute server for SQL clients; hands the accepted connections to the workers in
// turn. Belongs to the first worker's thread.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/reactor/socket_listener.h"
#include "common/reactor/task.h"
#include "compute/process/flags.h"
#include "compute/worker/worker_thread.h"

namespace namdb::compute {

class SqlPort {
 public:
  // At least one worker, which outlive the port, as do the flags.
  SqlPort(const Flags& flags, std::vector<WorkerThread*> workers)
      : flags_(flags), workers_(std::move(workers)) {}

  // Listens at the address and, if there is to be one, the unix socket of the flags. Error configuration; for
  // an address that other machines can reach, unless the flags say how clients of those get in.
  Status open();
  // Accepts and hands out connections until close(). Once, after open().
  reactor::Task<void> serve();
  void close();

  // The first is that of TCP, with its port.
  std::vector<std::string> addresses() const;

 private:
  reactor::Task<void> accept(reactor::SocketListener& listener);

  const Flags& flags_;
  const std::vector<WorkerThread*> workers_;
  std::vector<std::unique_ptr<reactor::SocketListener>> listeners_;
  std::size_t next_ = 0;
};

}  // namespace namdb::compute
