// The server's end of one connection: gives calls to the service, each as a task. Reactor's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/fabric/fabric.h"
#include "common/fabric/verbs/link.h"
#include "common/fabric/verbs/wire.h"
#include "common/reactor/task.h"

namespace namdb::fabric::verbs {

class VerbsServerFabric;

class ServerConnection final : private LinkHandler {
 public:
  ServerConnection(VerbsServerFabric& server, PeerId peer, std::unique_ptr<Link> link);
  // No call runs any more.
  ~ServerConnection();

  void start() { link_->start(*this); }
  // Nothing more is executed or sent. `reason` goes to the log. From within a completion, too.
  void close(const std::string& reason, bool is_fault);
  // After close(): nothing of the peer reaches the region any more when this returns.
  void destroy();

  PeerId peer() const { return peer_; }
  std::size_t running_calls() const { return running_calls_; }

 private:
  struct CallContext {
    std::uint64_t id;
    std::uint16_t method;
    std::string request;
    std::string reply;
  };

  void on_message(const MessageHeader& header, std::string payload) override;
  void on_lost(Status status) override;
  reactor::Task<void> run_call(std::unique_ptr<CallContext> call);

  VerbsServerFabric& server_;
  PeerId peer_;
  std::unique_ptr<Link> link_;
  bool closed_ = false;
  std::size_t running_calls_ = 0;
  std::size_t running_call_bytes_ = 0;
  std::vector<std::unique_ptr<CallContext>> free_calls_;
};

}  // namespace namdb::fabric::verbs
