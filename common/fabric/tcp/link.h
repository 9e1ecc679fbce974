// Link: one connection of the tcp transport. During the handshake a coroutine takes from it what it expects;
// after start() everything goes to the handler as it arrives. Reactor's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "common/base/error.h"
#include "common/fabric/handshake.h"
#include "common/reactor/executor.h"
#include "common/reactor/reactor.h"
#include "common/reactor/socket.h"
#include "common/reactor/task.h"

namespace namdb::fabric::tcp {

class Link final : public HandshakeStream, private reactor::SocketHandler {
 public:
  // Takes the connected descriptor.
  Link(reactor::Reactor& reactor, int descriptor);

  reactor::Task<Result<std::string>> take(std::size_t length_bytes, std::uint64_t deadline_ns) override;
  void send(const void* bytes, std::size_t length_bytes) override;
  // Waits until all that was sent has left, for a last message before the link is destroyed.
  reactor::Task<void> flush(std::uint64_t deadline_ns);

  // Ends the handshake with an error for the coroutine that takes, and closes.
  void abort(const std::string& reason = "the handshake was broken off");

  // Ends the handshake. Bytes that have arrived already are delivered before this returns; the handler must
  // not destroy the link meanwhile.
  void start(reactor::SocketHandler& handler);

  reactor::Socket& socket() { return socket_; }
  const std::string& peer() const { return peer_; }

 private:
  void on_receive(std::span<const std::byte> bytes) override;
  void on_end(Status status) override;
  void on_sent() override;

  reactor::Socket socket_;
  std::string peer_;
  reactor::SocketHandler* handler_ = nullptr;
  reactor::Event changed_;
  std::string inbox_;
  bool ended_ = false;
  Status end_status_;
};

}  // namespace namdb::fabric::tcp
