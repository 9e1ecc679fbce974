#include "common/reactor/socket_stream.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <coroutine>
#include <cstring>
#include <utility>
#include <vector>

#include "common/reactor/reactor.h"
#include "common/reactor/socket.h"
#include "common/reactor/socket_address.h"
#include "common/reactor/system_error.h"

namespace namdb::reactor {
namespace {

// Received and not yet read by the session; beyond it the peer is made to wait.
constexpr std::size_t kUnreadLimit_bytes = 256U << 10;

class SocketStream final : public ByteStream, private SocketHandler {
 public:
  SocketStream(Reactor& reactor, int descriptor, std::string peer, bool peer_is_local)
      : reactor_(reactor),
        socket_(reactor, descriptor, *this),
        peer_(std::move(peer)),
        peer_is_local_(peer_is_local) {
    socket_.start_receiving();
  }
  ~SocketStream() override { NAMDB_CHECK(!reader_ && !drainer_); }

  Task<Result<std::size_t>> read_some(char* buffer, std::size_t length_bytes) override;
  void write(std::string_view bytes) override;
  std::size_t unsent_bytes() const override { return socket_.unsent_bytes(); }
  Task<Status> drain(std::size_t at_most_bytes) override;
  void shutdown_write() override { socket_.shutdown_write(); }
  void close() override;
  bool closed() const override { return socket_.closed(); }
  bool peer_gone() const override { return ended_ || peer_gone_ || socket_.closed() || socket_.broken(); }
  const std::string& peer() const override { return peer_; }
  bool peer_is_local() const override { return peer_is_local_; }

 private:
  struct Park {
    std::coroutine_handle<>& place;
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> handle) const {
      NAMDB_CHECK(!place);
      place = handle;
    }
    void await_resume() const noexcept {}
  };

  void on_receive(std::span<const std::byte> bytes) override;
  void on_end(Status status) override;
  void on_peer_gone() override { peer_gone_ = true; }
  void on_sent() override;
  void wake(std::coroutine_handle<>& place) {
    if (place) reactor_.schedule(std::exchange(place, nullptr));
  }
  std::size_t unread_bytes() const { return unread_.size() - unread_begin_; }

  Reactor& reactor_;
  Socket socket_;
  std::string peer_;
  bool peer_is_local_;
  // A waiting reader's buffer; arriving bytes go straight there.
  std::coroutine_handle<> reader_;
  char* reader_buffer_ = nullptr;
  std::size_t reader_length_bytes_ = 0;
  std::size_t reader_filled_bytes_ = 0;
  std::vector<char> unread_;
  std::size_t unread_begin_ = 0;
  bool paused_ = false;
  bool ended_ = false;
  bool peer_gone_ = false;
  Status end_status_;
  std::coroutine_handle<> drainer_;
  std::size_t drain_at_most_bytes_ = 0;
};

Task<Result<std::size_t>> SocketStream::read_some(char* buffer, std::size_t length_bytes) {
  NAMDB_CHECK(length_bytes != 0);
  if (socket_.closed()) co_return Status(ErrorCode::connection_failure, "the connection is closed");
  if (unread_bytes() == 0 && !ended_) {
    reader_buffer_ = buffer;
    reader_length_bytes_ = length_bytes;
    reader_filled_bytes_ = 0;
    const Park park{reader_};
    co_await park;
    reader_buffer_ = nullptr;
    if (socket_.closed()) co_return Status(ErrorCode::connection_failure, "the connection is closed");
    if (reader_filled_bytes_ != 0) co_return reader_filled_bytes_;
  }
  if (const std::size_t unread = unread_bytes(); unread != 0) {
    const std::size_t taken = std::min(unread, length_bytes);
    std::memcpy(buffer, unread_.data() + unread_begin_, taken);
    unread_begin_ += taken;
    if (unread_bytes() == 0) {
      unread_.clear();
      unread_begin_ = 0;
      if (std::exchange(paused_, false)) socket_.start_receiving();
    }
    co_return taken;
  }
  if (!end_status_.ok()) co_return end_status_;
  co_return std::size_t{0};
}

void SocketStream::on_receive(std::span<const std::byte> bytes) {
  if (reader_buffer_ != nullptr && unread_bytes() == 0 && reader_filled_bytes_ < reader_length_bytes_) {
    const std::size_t taken = std::min(bytes.size(), reader_length_bytes_ - reader_filled_bytes_);
    std::memcpy(reader_buffer_ + reader_filled_bytes_, bytes.data(), taken);
    reader_filled_bytes_ += taken;
    bytes = bytes.subspan(taken);
    wake(reader_);
  }
  if (bytes.empty()) return;
  const auto* begin = reinterpret_cast<const char*>(bytes.data());
  unread_.insert(unread_.end(), begin, begin + bytes.size());
  if (unread_bytes() >= kUnreadLimit_bytes && !paused_) {
    paused_ = true;
    socket_.pause_receiving();
    socket_.watch_peer();
  }
}

void SocketStream::on_end(Status status) {
  ended_ = true;
  end_status_ = std::move(status);
  wake(reader_);
  if (!end_status_.ok()) wake(drainer_);
}

void SocketStream::on_sent() {
  if (socket_.unsent_bytes() <= drain_at_most_bytes_ || socket_.broken()) wake(drainer_);
}

void SocketStream::write(std::string_view bytes) {
  if (socket_.closed() || socket_.broken()) return;
  socket_.output().append(bytes.data(), bytes.size());
  socket_.send_soon();
}

Task<Status> SocketStream::drain(std::size_t at_most_bytes) {
  while (!socket_.closed() && !socket_.broken() && socket_.unsent_bytes() > at_most_bytes) {
    drain_at_most_bytes_ = at_most_bytes;
    const Park park{drainer_};
    co_await park;
  }
  if (socket_.closed() || socket_.broken())
    co_return Status(ErrorCode::connection_failure, "the connection is closed");
  co_return Status();
}

void SocketStream::close() {
  socket_.close();
  wake(reader_);
  wake(drainer_);
}

// It is spawned before the operation is submitted, and so it waits before the operation can have completed.
Task<void> cancel_unless(Reactor& reactor, int descriptor, std::uint64_t deadline_ns, Event& answered) {
  const bool in_time = co_await answered.wait_until(deadline_ns);
  if (!in_time) co_await reactor.cancel(descriptor);
}

}  // namespace

std::unique_ptr<ByteStream> make_socket_stream(Reactor& reactor, int descriptor) {
  Result<SocketAddress> address = SocketAddress::peer_of(descriptor);
  std::string peer = address.ok() ? address->to_string() : "unknown";
  const bool is_local = address.ok() && address->is_local();
  return std::make_unique<SocketStream>(reactor, descriptor, std::move(peer), is_local);
}

Task<Result<int>> connect_descriptor(Reactor& reactor, std::string address, std::uint64_t timeout_ns) {
  Result<std::vector<SocketAddress>> candidates = SocketAddress::resolve(address, false);
  if (!candidates.ok()) co_return candidates.status();
  Status status;
  for (const SocketAddress& candidate : *candidates) {
    const int descriptor = ::socket(candidate.family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) {
      status = system_error(ErrorCode::connection_failure, "socket", errno);
      continue;
    }
    Gate gate;
    Event answered(reactor);
    reactor.spawn(gate, cancel_unless(reactor, descriptor, reactor.now_ns() + timeout_ns, answered));
    const int result = co_await reactor.connect(descriptor, candidate.data(), candidate.size());
    answered.notify_all();
    co_await gate.close();
    if (result == 0) {
      if (!candidate.is_unix()) set_no_delay(descriptor);
      co_return descriptor;
    }
    ::close(descriptor);
    status = system_error(ErrorCode::connection_failure, "cannot connect to " + candidate.to_string(),
                          result == -ECANCELED ? ETIMEDOUT : -result);
  }
  co_return status;
}

}  // namespace namdb::reactor
