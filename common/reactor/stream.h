// Byte streams and their listeners, without an operating system: sessions are written against these, the
// sockets (socket_stream.h) and the simulator implement them.
//
// Everything belongs to one executor's thread. At most one coroutine waits in read_some(), and one in
// drain(), of a stream at a time. close() may be called by any coroutine of that thread: a waiting coroutine
// gets an error. A stream is destroyed only when no coroutine waits on it any more; destruction closes it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "common/base/error.h"
#include "common/reactor/task.h"

namespace namdb::reactor {

class ByteStream {
 public:
  ByteStream() = default;
  ByteStream(const ByteStream&) = delete;
  ByteStream& operator=(const ByteStream&) = delete;
  virtual ~ByteStream() = default;

  // Waits for at least one byte and stores at most `length_bytes` (> 0). Returns the number of bytes; 0: the
  // peer has ended its side. After close() and after a broken connection: connection_failure.
  virtual Task<Result<std::size_t>> read_some(char* buffer, std::size_t length_bytes) = 0;

  // Takes a copy and never waits: all that is written in one turn of the executor leaves in one send at its
  // end, in the order of the calls. On a closed or broken stream the bytes are dropped; reads tell.
  virtual void write(std::string_view bytes) = 0;
  // Written bytes that the operating system has not accepted yet. A coroutine that writes much checks it, or
  // awaits drain(), so that a peer that does not read cannot make the process grow without bound.
  virtual std::size_t unsent_bytes() const = 0;
  // Waits until unsent_bytes() <= `at_most_bytes`, or the stream is closed or broken: connection_failure.
  virtual Task<Status> drain(std::size_t at_most_bytes = 0) = 0;

  // The peer reads an end after all that was written. Reading goes on.
  virtual void shutdown_write() = 0;
  // Ends both directions at once, drops what is unsent, and wakes the waiters. Idempotent.
  virtual void close() = 0;
  virtual bool closed() const = 0;
  // The peer has ended its side or the connection broke, or this end was closed. Also while bytes that
  // arrived before are still unread: a coroutine that works for the peer need not find out by reading.
  virtual bool peer_gone() const = 0;

  // For messages: an address, or "unix".
  virtual const std::string& peer() const = 0;
  // The peer is on this machine: a unix socket or a loopback address.
  virtual bool peer_is_local() const = 0;
};

class StreamListener {
 public:
  StreamListener() = default;
  StreamListener(const StreamListener&) = delete;
  StreamListener& operator=(const StreamListener&) = delete;
  virtual ~StreamListener() = default;

  // The next connection. Errors of a single connection attempt are not reported; connection_failure after
  // close(), limit_exceeded when the process is out of descriptors (accept again later). One waiter.
  virtual Task<Result<std::unique_ptr<ByteStream>>> accept() = 0;
  // Wakes the waiter of accept(); connections that were not accepted are dropped. Idempotent.
  virtual void close() = 0;
  // Where it listens, as a client would name it: the port is the real one when 0 was asked for.
  virtual const std::string& address() const = 0;
};

}  // namespace namdb::reactor
