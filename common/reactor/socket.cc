#include "common/reactor/socket.h"

#include <liburing.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include "common/base/check.h"
#include "common/reactor/reactor.h"
#include "common/reactor/receive_buffers.h"
#include "common/reactor/system_error.h"

namespace namdb::reactor {
namespace {

// Of a socket that receives without the shared buffers.
constexpr std::size_t kOwnBuffer_bytes = 64U << 10;
constexpr std::size_t kLargestSend_bytes = 1U << 30;

}  // namespace

// The state that the kernel's requests name. Owned by the Socket until that closes it, then by the requests
// that are outstanding; the last one's completion deletes it.
class Socket::Core final : public TurnHook {
 public:
  Core(Reactor& reactor, int descriptor, SocketHandler& handler)
      : reactor_(reactor),
        descriptor_(descriptor),
        handler_(&handler),
        receive_(*this),
        send_(*this),
        watch_(*this) {}

  void start_receiving();
  void pause_receiving();
  void watch_peer();
  void send_soon() {
    if (flush_asked_ || closed_) return;
    flush_asked_ = true;
    reactor_.flush_soon(*this);
  }
  void shutdown_write() {
    shutdown_asked_ = true;
    send_soon();
  }
  void close();
  void release();

  OutputBuffer& output() { return filling_; }
  void set_output_filter(OutputFilter& filter) {
    filter_ = &filter;
    unfiltered_bytes_ = filling_.size();
  }
  std::size_t unsent_bytes() const { return filling_.size() + sending_.size() - sent_bytes_; }
  bool closed() const { return closed_; }
  bool broken() const { return broken_; }
  int descriptor() const { return descriptor_; }

  void end_of_turn() override;

 private:
  struct Receive final : IoRequest {
    explicit Receive(Core& owner) : core(owner) {}
    void on_completion(std::int32_t result, std::uint32_t flags) override { core.on_received(result, flags); }
    Core& core;
  };
  struct Send final : IoRequest {
    explicit Send(Core& owner) : core(owner) {}
    void on_completion(std::int32_t result, std::uint32_t /*flags*/) override { core.on_sent(result); }
    Core& core;
  };
  struct Watch final : IoRequest {
    explicit Watch(Core& owner) : core(owner) {}
    void on_completion(std::int32_t result, std::uint32_t /*flags*/) override { core.on_watched(result); }
    Core& core;
  };

  void arm_receive();
  void on_received(std::int32_t result, std::uint32_t flags);
  void take_filling();
  void submit_send();
  void on_sent(std::int32_t result);
  void on_watched(std::int32_t result);
  bool in_kernel() const { return receive_armed_ || send_armed_ || watch_armed_; }
  void end(Status status);
  // Deletes the core when neither the Socket nor the kernel needs it. The last statement of every caller.
  void maybe_delete();

  Reactor& reactor_;
  int descriptor_;
  SocketHandler* handler_;  // null once the Socket is gone
  Receive receive_;
  Send send_;
  Watch watch_;
  OutputBuffer filling_;
  OutputBuffer sending_;
  std::size_t sent_bytes_ = 0;  // of sending_
  OutputFilter* filter_ = nullptr;
  std::size_t unfiltered_bytes_ = 0;  // at the front of filling_: from before there was a filter
  std::unique_ptr<std::byte[]> own_buffer_;
  ReceiveBuffers* shared_buffers_ = nullptr;
  bool want_receive_ = false;
  bool receive_armed_ = false;
  bool receive_cancelled_ = false;
  bool receiving_ = false;
  bool send_armed_ = false;
  bool watch_armed_ = false;
  bool watched_ = false;
  bool flush_asked_ = false;
  bool shutdown_asked_ = false;
  bool shutdown_done_ = false;
  bool ended_ = false;
  bool broken_ = false;
  bool closed_ = false;
  bool released_ = false;
  int depth_ = 0;  // calls of the handler that are on the stack
};

void Socket::Core::start_receiving() {
  want_receive_ = true;
  // Within on_receive() the bytes may lie in the buffer that a new request would fill.
  if (!receive_armed_ && !receiving_ && !ended_ && !closed_) arm_receive();
}

void Socket::Core::pause_receiving() {
  want_receive_ = false;
  // A single-shot request is left alone: it delivers one buffer and is not armed again.
  if (receive_armed_ && !receive_cancelled_ && shared_buffers_ != nullptr) {
    receive_cancelled_ = true;
    reactor_.cancel_request(receive_);
  }
}

void Socket::Core::watch_peer() {
  if (watched_ || ended_ || closed_) return;
  watched_ = true;
  io_uring_sqe* submission = reactor_.prepare();
  io_uring_prep_poll_add(submission, descriptor_, POLLRDHUP);
  reactor_.submit(submission, &watch_);
  watch_armed_ = true;
}

void Socket::Core::on_watched(std::int32_t result) {
  watch_armed_ = false;
  ++depth_;
  if (result > 0 && !closed_) handler_->on_peer_gone();
  --depth_;
  maybe_delete();
}

void Socket::Core::arm_receive() {
  shared_buffers_ = reactor_.multishot() ? reactor_.receive_buffers() : nullptr;
  if (shared_buffers_ == nullptr && own_buffer_ == nullptr) {
    own_buffer_ = std::make_unique_for_overwrite<std::byte[]>(kOwnBuffer_bytes);
  }
  io_uring_sqe* submission = reactor_.prepare();
  if (shared_buffers_ != nullptr) {
    io_uring_prep_recv_multishot(submission, descriptor_, nullptr, 0, 0);
    submission->flags |= IOSQE_BUFFER_SELECT;
    submission->buf_group = ReceiveBuffers::kGroup;
  } else {
    io_uring_prep_recv(submission, descriptor_, own_buffer_.get(), kOwnBuffer_bytes, 0);
  }
  reactor_.submit(submission, &receive_);
  receive_armed_ = true;
  receive_cancelled_ = false;
}

void Socket::Core::on_received(std::int32_t result, std::uint32_t flags) {
  const bool last = (flags & IORING_CQE_F_MORE) == 0;
  if (last) receive_armed_ = false;
  ++depth_;
  receiving_ = true;
  if (result > 0) {
    ++reactor_.mutable_counters().receives;
    const auto length_bytes = static_cast<std::size_t>(result);
    if ((flags & IORING_CQE_F_BUFFER) != 0) {
      const auto buffer = static_cast<std::uint16_t>(flags >> IORING_CQE_BUFFER_SHIFT);
      if (!closed_) handler_->on_receive({shared_buffers_->data(buffer), length_bytes});
      shared_buffers_->recycle(buffer);
    } else if (!closed_) {
      handler_->on_receive({own_buffer_.get(), length_bytes});
    }
  } else if (result == 0) {
    end(Status());
  } else if (result == -EINVAL && shared_buffers_ != nullptr && reactor_.multishot()) {
    reactor_.disable_multishot();
  } else if (result != -ENOBUFS && result != -ECANCELED && result != -EINTR && result != -EAGAIN) {
    broken_ = true;
    end(system_error(ErrorCode::connection_failure, "receive", -result));
  }
  receiving_ = false;
  --depth_;
  // ENOBUFS: all shared buffers were in use; those of this turn have been given back.
  if (last && want_receive_ && !receive_armed_ && !ended_ && !closed_) arm_receive();
  maybe_delete();
}

void Socket::Core::end_of_turn() {
  flush_asked_ = false;
  if (!send_armed_) {
    if (broken_ || shutdown_done_) {
      filling_.clear();
    } else if (!filling_.empty()) {
      take_filling();
      submit_send();
    } else if (shutdown_asked_) {
      shutdown_done_ = true;
      ::shutdown(descriptor_, SHUT_WR);
    }
  }
}

// The gathered bytes become those that are sent.
void Socket::Core::take_filling() {
  if (filter_ == nullptr) return std::swap(filling_, sending_);
  const std::size_t unfiltered_bytes = std::exchange(unfiltered_bytes_, 0);
  sending_.append(filling_.data(), unfiltered_bytes);
  filter_->filter(std::span(filling_.data(), filling_.size()).subspan(unfiltered_bytes), sending_);
  filling_.clear();
}

void Socket::Core::submit_send() {
  io_uring_sqe* submission = reactor_.prepare();
  const std::size_t length_bytes = std::min(sending_.size() - sent_bytes_, kLargestSend_bytes);
  io_uring_prep_send(submission, descriptor_, sending_.data() + sent_bytes_, length_bytes,
                     MSG_NOSIGNAL | MSG_WAITALL);
  reactor_.submit(submission, &send_);
  send_armed_ = true;
  ++reactor_.mutable_counters().sends;
}

void Socket::Core::on_sent(std::int32_t result) {
  send_armed_ = false;
  if (closed_) return maybe_delete();
  if (result >= 0) {
    sent_bytes_ += static_cast<std::size_t>(result);
    if (sent_bytes_ < sending_.size()) return submit_send();
  } else if (result == -EINTR || result == -EAGAIN) {
    return submit_send();
  } else {
    broken_ = true;
    filling_.clear();
  }
  sending_.clear();
  sent_bytes_ = 0;
  ++depth_;
  if (broken_) {
    end(system_error(ErrorCode::connection_failure, "send", -result));
  } else if (!filling_.empty() || shutdown_asked_) {
    send_soon();
  }
  if (!closed_) handler_->on_sent();
  --depth_;
  maybe_delete();
}

void Socket::Core::end(Status status) {
  if (ended_ || closed_) return;
  ended_ = true;
  want_receive_ = false;
  handler_->on_end(std::move(status));
}

void Socket::Core::close() {
  if (closed_) return;
  closed_ = true;
  want_receive_ = false;
  filling_.clear();
  if (flush_asked_) reactor_.cancel_flush(*this);
  flush_asked_ = false;
  // Ends the requests that the kernel has: the receive with 0, the send with EPIPE.
  ::shutdown(descriptor_, SHUT_RDWR);
  if (receive_armed_) reactor_.cancel_request(receive_);
  if (send_armed_) reactor_.cancel_request(send_);
  if (watch_armed_) reactor_.cancel_request(watch_);
  if (!in_kernel()) ::close(std::exchange(descriptor_, -1));
}

void Socket::Core::release() {
  close();
  handler_ = nullptr;
  released_ = true;
  maybe_delete();
}

void Socket::Core::maybe_delete() {
  if (depth_ != 0 || !closed_ || in_kernel()) return;
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  if (released_) delete this;
}

void set_no_delay(int descriptor) {
  const int on = 1;
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

void set_keep_alive(int descriptor) {
  const auto set = [descriptor](int level, int option, int value) {
    ::setsockopt(descriptor, level, option, &value, sizeof value);
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 4);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 2);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, 10'000);
}

Socket::Socket(Reactor& reactor, int descriptor, SocketHandler& handler)
    : core_(new Core(reactor, descriptor, handler)) {}
Socket::~Socket() {
  core_->release();
}
void Socket::start_receiving() {
  core_->start_receiving();
}
void Socket::pause_receiving() {
  core_->pause_receiving();
}
void Socket::watch_peer() {
  core_->watch_peer();
}
OutputBuffer& Socket::output() {
  return core_->output();
}
void Socket::send_soon() {
  core_->send_soon();
}
void Socket::set_output_filter(OutputFilter& filter) {
  core_->set_output_filter(filter);
}
std::size_t Socket::unsent_bytes() const {
  return core_->unsent_bytes();
}
void Socket::shutdown_write() {
  core_->shutdown_write();
}
void Socket::close() {
  core_->close();
}
bool Socket::closed() const {
  return core_->closed();
}
bool Socket::broken() const {
  return core_->broken();
}
int Socket::descriptor() const {
  return core_->descriptor();
}

}  // namespace namdb::reactor
