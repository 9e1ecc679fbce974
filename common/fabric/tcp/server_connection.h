// The server's end of one connection: parses requests where they were received, executes operations at once,
// and gives calls to the service, each as a task. Reactor's thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/fabric/fabric.h"
#include "common/fabric/served_region.h"
#include "common/fabric/tcp/frames.h"
#include "common/fabric/tcp/link.h"
#include "common/reactor/socket.h"
#include "common/reactor/task.h"

namespace namdb::fabric::tcp {

class ServerConnection final : private reactor::SocketHandler {
 public:
  ServerConnection(ConnectionOwner& owner, ServedRegion& served, PeerId peer, std::unique_ptr<Link> link);
  // No call runs any more.
  ~ServerConnection();

  void start() { link_->start(*this); }
  // Nothing more is received, executed or sent. `reason` goes to the log.
  void close(const std::string& reason, bool is_fault);

  std::size_t running_calls() const { return running_calls_; }
  bool encrypted() const { return link_->encrypted(); }

 private:
  struct CallContext {
    std::uint64_t id;
    std::uint16_t method;
    std::string request;
    std::string reply;
  };

  void on_receive(std::span<const std::byte> bytes) override;
  void on_end(Status status) override;
  void on_sent() override { resume(); }

  // Executes whole frames, and returns their length in bytes. The rest is incomplete, or must wait
  // (blocked_).
  std::size_t execute(std::span<const std::byte> bytes);
  // On a place in the region, or that it may grow to; `data` follows the header.
  void execute_operation(const RequestHeader& header, std::span<std::byte> region, const std::byte* data,
                         reactor::OutputBuffer& output);
  void start_call(const RequestHeader& header, const std::byte* data);
  reactor::Task<void> run_call(std::unique_ptr<CallContext> call);
  void execute_unread();
  void resume();
  bool too_many_calls() const;

  ConnectionOwner& owner_;
  ServedRegion& served_;
  PeerId peer_;
  std::unique_ptr<Link> link_;
  const Checksums checksums_;
  bool closed_ = false;
  // The peer has more in flight than it may: it is not read until answers have left and calls have ended.
  bool blocked_ = false;
  std::vector<std::byte> unread_;  // an incomplete frame, or what arrived while blocked
  bool wrote_ = false;             // a WRITE since the last locked instruction
  std::atomic<std::uint64_t> barrier_{0};
  std::size_t running_calls_ = 0;
  std::size_t running_call_bytes_ = 0;
  std::vector<std::unique_ptr<CallContext>> free_calls_;
};

}  // namespace namdb::fabric::tcp
