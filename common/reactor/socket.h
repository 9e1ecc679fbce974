// Socket: a connected stream socket on a reactor, driven by arriving bytes instead of by a waiting coroutine.
// Transports parse their frames with it, and SocketStream is made of it.
//
// Sending: bytes are appended to output(); everything appended in one turn leaves in one send at its end, and
// while a send is in the kernel later bytes are gathered for the next. Receiving: the handler sees each piece
// in the kernel's buffer, once, in order. Reactor's thread only.
#pragma once

#include <cstddef>
#include <span>

#include "common/base/error.h"
#include "common/reactor/output_buffer.h"

namespace namdb::reactor {

class Reactor;

// Small writes leave at once (TCP_NODELAY): a turn's bytes are gathered here, not by the kernel.
void set_no_delay(int descriptor);

// A TCP peer that is gone without a word (power, cable) is noticed within about ten seconds.
void set_keep_alive(int descriptor);

class SocketHandler {
 public:
  // The bytes are the handler's until it returns. It may close or destroy the socket.
  virtual void on_receive(std::span<const std::byte> bytes) = 0;
  // Nothing more will be received: ok when the peer shut down its side, connection_failure when the
  // connection broke, in either direction. Called at most once, not after close(), and the last call of
  // on_receive() is before it. Sending may go on after an ok.
  virtual void on_end(Status status) = 0;
  // Asked for by watch_peer(): the peer has shut down its side, or the connection broke. Bytes from before
  // may still come, and on_end() after them. Called at most once, not after close().
  virtual void on_peer_gone() {}
  // A send has been accepted by the operating system, or has failed: unsent_bytes() has shrunk.
  virtual void on_sent() {}

 protected:
  ~SocketHandler() = default;
};

// Bytes that were gathered for a send pass through it, where a socket has one.
class OutputFilter {
 public:
  // Appends to `output` what is to be sent for `bytes`.
  virtual void filter(std::span<const std::byte> bytes, OutputBuffer& output) = 0;

 protected:
  ~OutputFilter() = default;
};

class Socket {
 public:
  // Takes the connected descriptor. Nothing is received before start_receiving().
  Socket(Reactor& reactor, int descriptor, SocketHandler& handler);
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  // Closes. Requests that the kernel still has live on until it is done; the handler hears no more.
  ~Socket();

  void start_receiving();
  // The peer is made to wait. A few buffers that are on their way may still arrive.
  void pause_receiving();
  // Lets a stream whose receiving is paused hear that the peer is gone. Once is enough.
  void watch_peer();

  // Bytes to be sent are appended here; followed by send_soon() in the same turn.
  OutputBuffer& output();
  void send_soon();
  // From now on: bytes that were appended before leave as they are. Once; it outlives the socket.
  void set_output_filter(OutputFilter& filter);
  // Appended and not yet accepted by the operating system.
  std::size_t unsent_bytes() const;

  // Ends the sending direction after all that was appended.
  void shutdown_write();
  // Ends both directions at once; unsent bytes are dropped. Idempotent.
  void close();
  bool closed() const;
  // A send or receive failed; nothing will be sent any more.
  bool broken() const;

  int descriptor() const;

 private:
  class Core;
  Core* core_;
};

}  // namespace namdb::reactor
