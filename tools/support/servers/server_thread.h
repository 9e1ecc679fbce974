// A region of memory and the transport that serves it, on a thread of its own: the other side for benchmarks
// that need no cluster. With a memory server in it, it is a cluster of one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "common/base/error.h"
#include "common/fabric/fabric.h"
#include "common/fabric/tcp/client.h"
#include "common/fabric/verbs/options.h"
#include "common/reactor/reactor_thread.h"
#include "memory/options.h"

namespace namdb::support {

struct ServerThreadOptions {
  std::string transport = "shm";
  std::uint64_t region_bytes = 64U << 20;
  std::optional<memory::Options> memory_server;  // without: peers get the bare region
  bool local_path = false;                       // beside tcp or verbs: at a socket, too
  fabric::tcp::TcpOptions tcp = {};
  std::string verbs_host;  // with verbs: an RDMA device's address
  fabric::verbs::VerbsOptions verbs;
};

class ServerThread {
 public:
  static Result<std::unique_ptr<ServerThread>> start(const ServerThreadOptions& options);
  ServerThread(const ServerThread&) = delete;
  ServerThread& operator=(const ServerThread&) = delete;
  // All clients have gone.
  ~ServerThread();

  const std::string& address() const { return address_; }
  // unix:PATH of the local path.
  std::string socket() const { return "unix:" + directory_ + "/memory.sock"; }
  // Touched already: no page of it is missing.
  std::span<std::byte> region() const { return region_; }

 private:
  class Serving;
  ServerThread() = default;
  Status map_region(std::uint64_t bytes);
  Status listen(const ServerThreadOptions& options);
  // Runs the function on the thread and waits for it.
  void call(const std::function<void()>& function);
  void run(const std::function<reactor::Task<void>()>& task);

  std::span<std::byte> region_;
  int descriptor_ = -1;
  std::string directory_;
  std::string address_;
  std::unique_ptr<reactor::ReactorThread> thread_;
  std::unique_ptr<Serving> serving_;
  reactor::Gate gate_;
};

}  // namespace namdb::support
