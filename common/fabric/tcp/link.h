// Link: one connection of the tcp transport. During the handshake a coroutine takes from it what it expects;
// after start() everything goes to the handler as it arrives. After encrypt() the bytes on the way are
// records (records.h), which the layers above do not see. Reactor's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "common/base/error.h"
#include "common/fabric/handshake.h"
#include "common/fabric/tcp/frames.h"
#include "common/fabric/tcp/options.h"
#include "common/fabric/tcp/records.h"
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
  void encrypt(const Secret& sent, const Secret& received) override;
  bool encrypted() const { return opener_.has_value(); }
  // Whether frames have checksums, once the handshake has ended.
  Checksums checksums() const { return encrypted() ? Checksums::none : Checksums::both; }
  // Waits until all that was sent has left, for a last message before the link is destroyed.
  reactor::Task<void> flush(std::uint64_t deadline_ns);

  // Ends the handshake with an error for the coroutine that takes, and closes.
  void abort(const std::string& reason = "the handshake was broken off");

  // Ends the handshake. Bytes that have arrived already are delivered before this returns; the handler must
  // not destroy the link meanwhile.
  void start(reactor::SocketHandler& handler);

  reactor::Socket& socket() { return socket_; }
  const std::string& peer() const { return peer_; }
  // The one that both ends must speak.
  Dialect dialect(const TcpOptions& options) const;

 private:
  void on_receive(std::span<const std::byte> bytes) override;
  void on_end(Status status) override;
  void on_sent() override;
  // Hands on what was received and decrypted.
  void deliver(std::span<const std::byte> bytes);

  // Outlives the socket, which uses it.
  std::optional<RecordSealer> sealer_;
  std::optional<RecordOpener> opener_;
  reactor::Socket socket_;
  std::string peer_;
  bool peer_is_local_ = false;
  reactor::SocketHandler* handler_ = nullptr;
  reactor::Event changed_;
  std::string inbox_;
  bool ended_ = false;
  Status end_status_;
};

}  // namespace namdb::fabric::tcp
