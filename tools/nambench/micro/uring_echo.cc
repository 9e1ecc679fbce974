#include "tools/nambench/micro/uring_echo.h"

#include <arpa/inet.h>
#include <liburing.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "tools/support/report/progress.h"

namespace namdb::nambench {
namespace {

constexpr std::size_t kBuffer_bytes = 64U << 10;

class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

// One side: counts what arrives and sends what it is told to, at most one receive and one send under way.
class Side {
 public:
  Side(int socket, std::uint64_t spin_ns)
      : socket_(socket), spin_ns_(spin_ns), in_(kBuffer_bytes), out_(kBuffer_bytes) {}
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;
  ~Side() {
    if (ready_) io_uring_queue_exit(&ring_);
  }

  Status start() {
    // The flags of a reactor, where the kernel has them.
    int error = io_uring_queue_init(
        64, &ring_, IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_TASKRUN_FLAG);
    if (error == -EINVAL) error = io_uring_queue_init(64, &ring_, 0);
    if (error < 0) return Status(ErrorCode::configuration, std::string("io_uring: ") + std::strerror(-error));
    ready_ = true;
    return {};
  }

  void add_output(std::uint64_t bytes) { unsent_bytes_ += bytes; }
  std::uint64_t take_input() { return std::exchange(received_bytes_, 0); }
  bool broken() const { return broken_; }
  bool idle() const { return !sending_ && unsent_bytes_ == 0; }

  // Submits what can be submitted and waits for something to complete.
  void turn() {
    if (!receiving_)
      submit(kReceive,
             [&](io_uring_sqe* sqe) { io_uring_prep_recv(sqe, socket_, in_.data(), in_.size(), 0); });
    receiving_ = true;
    if (!sending_ && unsent_bytes_ > 0) {
      const std::size_t bytes = std::min<std::uint64_t>(unsent_bytes_, out_.size());
      submit(kSend,
             [&](io_uring_sqe* sqe) { io_uring_prep_send(sqe, socket_, out_.data(), bytes, MSG_NOSIGNAL); });
      sending_ = true;
    }
    io_uring_submit_and_get_events(&ring_);
    io_uring_cqe* completion = nullptr;
    for (std::uint64_t since_ns = 0; io_uring_peek_cqe(&ring_, &completion) != 0;) {
      const std::uint64_t now_ns = support::steady_now_ns();
      if (since_ns == 0) since_ns = now_ns;
      if (now_ns - since_ns >= spin_ns_) {
        if (io_uring_wait_cqe(&ring_, &completion) != 0) continue;
        break;
      }
      ::sched_yield();
      io_uring_get_events(&ring_);
    }
    while (io_uring_peek_cqe(&ring_, &completion) == 0) {
      complete(io_uring_cqe_get_data64(completion), completion->res);
      io_uring_cqe_seen(&ring_, completion);
    }
  }

 private:
  static constexpr std::uint64_t kReceive = 1;
  static constexpr std::uint64_t kSend = 2;

  template <typename Prepare>
  void submit(std::uint64_t kind, const Prepare& prepare) {
    io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
    prepare(sqe);
    io_uring_sqe_set_data64(sqe, kind);
  }
  void complete(std::uint64_t kind, int result) {
    (kind == kReceive ? receiving_ : sending_) = false;
    if (result <= 0) {
      broken_ = true;
    } else if (kind == kReceive) {
      received_bytes_ += static_cast<std::uint64_t>(result);
    } else {
      unsent_bytes_ -= static_cast<std::uint64_t>(result);
    }
  }

  io_uring ring_{};
  bool ready_ = false;
  int socket_;
  std::uint64_t spin_ns_;
  std::vector<char> in_;
  std::vector<char> out_;
  bool receiving_ = false;
  bool sending_ = false;
  bool broken_ = false;
  std::uint64_t unsent_bytes_ = 0;
  std::uint64_t received_bytes_ = 0;
};

void serve(int socket, const EchoOptions& options, Status& status) {
  Side side(socket, options.spin_ns);
  status = side.start();
  if (!status.ok()) {
    ::shutdown(socket, SHUT_RDWR);
    return;
  }
  std::uint64_t rest_bytes = 0;
  while (!side.broken()) {
    side.turn();
    rest_bytes += side.take_input();
    side.add_output(rest_bytes / options.request_bytes * options.response_bytes);
    rest_bytes %= options.request_bytes;
  }
}

Result<std::uint64_t> ask(int socket, const EchoOptions& options) {
  Side side(socket, options.spin_ns);
  if (Status status = side.start(); !status.ok()) return status;
  const std::uint64_t begin_ns = support::steady_now_ns();
  std::uint64_t sent = std::min<std::uint64_t>(options.outstanding, options.messages);
  std::uint64_t done = 0;
  std::uint64_t rest_bytes = 0;
  side.add_output(sent * options.request_bytes);
  while (done < options.messages) {
    side.turn();
    if (side.broken()) return Status(ErrorCode::connection_failure, "the echo's connection broke");
    rest_bytes += side.take_input();
    const std::uint64_t answers = rest_bytes / options.response_bytes;
    rest_bytes %= options.response_bytes;
    done += answers;
    const std::uint64_t more = std::min(answers, options.messages - sent);
    sent += more;
    side.add_output(more * options.request_bytes);
  }
  return support::steady_now_ns() - begin_ns;
}

Status failure(const char* what) {
  return Status(ErrorCode::configuration, std::string(what) + ": " + std::strerror(errno));
}

}  // namespace

Result<std::uint64_t> run_echo(const EchoOptions& options) {
  const Socket listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (listener.get() < 0 || ::bind(listener.get(), generic, length) != 0 ||
      ::listen(listener.get(), 1) != 0 || ::getsockname(listener.get(), generic, &length) != 0) {
    return failure("a listening socket");
  }
  const Socket client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (client.get() < 0 || ::connect(client.get(), generic, length) != 0) return failure("a connection");
  const Socket server(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (server.get() < 0) return failure("a connection");
  const int one = 1;
  for (const int socket : {client.get(), server.get()}) {
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  }
  Status status;
  std::thread thread([&] { serve(server.get(), options, status); });
  Result<std::uint64_t> result = ask(client.get(), options);
  ::shutdown(client.get(), SHUT_RDWR);
  thread.join();
  if (!status.ok()) return status;
  return result;
}

}  // namespace namdb::nambench
