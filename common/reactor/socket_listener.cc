#include "common/reactor/socket_listener.h"

#include <liburing.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <coroutine>
#include <cstdint>
#include <ctime>
#include <deque>
#include <utility>
#include <vector>

#include "common/reactor/reactor.h"
#include "common/reactor/socket.h"
#include "common/reactor/socket_address.h"
#include "common/reactor/socket_stream.h"
#include "common/reactor/system_error.h"

namespace namdb::reactor {
namespace {

// Accepted and not yet taken by accept(); beyond it the kernel's backlog fills.
constexpr std::size_t kAcceptedLimit = 64;

struct Bound {
  int descriptor;
  SocketAddress address;
};

// A unix socket's file outlives its process: true if no process listens on it any more and it has been
// removed.
bool remove_if_dead(const SocketAddress& address) {
  const int probe = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (probe < 0) return false;
  const bool dead = ::connect(probe, address.data(), address.size()) != 0 && errno == ECONNREFUSED;
  ::close(probe);
  return dead && ::unlink(address.path().c_str()) == 0;
}

// Between two tries of an address that is in use.
constexpr std::uint64_t kPause_ns = 5'000'000;

// Sets `in_use` if a process listens there.
Result<Bound> bind_and_listen(const SocketAddress& address, const ListenOptions& options, bool& in_use) {
  const std::string name = address.to_string();
  const int descriptor = ::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return system_error(ErrorCode::configuration, "cannot listen on " + name, errno);
  const auto fail = [&] {
    in_use = errno == EADDRINUSE;
    Status status = system_error(ErrorCode::configuration, "cannot listen on " + name, errno);
    ::close(descriptor);
    return status;
  };
  if (address.is_unix()) {
    // On a socket that is not bound yet this decides the permissions of the file to come.
    if (::fchmod(descriptor, options.unix_mode) != 0) return fail();
  } else {
    const int on = 1;
    ::setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    set_no_delay(descriptor);  // the accepted ones inherit it
  }
  int error = ::bind(descriptor, address.data(), address.size());
  if (error != 0 && errno == EADDRINUSE && address.is_unix() && remove_if_dead(address)) {
    error = ::bind(descriptor, address.data(), address.size());
  }
  if (error != 0 || ::listen(descriptor, options.backlog) != 0) return fail();
  Result<SocketAddress> bound = SocketAddress::local_of(descriptor);
  if (!bound.ok()) return fail();
  return Bound{descriptor, *bound};
}

Result<Bound> bind_and_listen_patiently(const SocketAddress& address, const ListenOptions& options) {
  for (std::uint64_t waited_ns = 0;; waited_ns += kPause_ns) {
    bool in_use = false;
    Result<Bound> bound = bind_and_listen(address, options, in_use);
    if (bound.ok() || !in_use || waited_ns >= options.patience_ns) return bound;
    if (waited_ns == 0 && options.waits) options.waits();
    const timespec pause = {.tv_sec = 0, .tv_nsec = kPause_ns};
    ::nanosleep(&pause, nullptr);
  }
}

}  // namespace

// The kernel's view; outlives the listener until its request has ended.
class SocketListener::Core final : public IoRequest {
 public:
  Core(Reactor& reactor, int descriptor) : reactor_(reactor), descriptor_(descriptor) {}

  void arm();
  void close();
  void release();
  void on_completion(std::int32_t result, std::uint32_t flags) override;

  bool closed() const { return closed_; }
  bool armed() const { return armed_; }
  std::deque<int>& accepted() { return accepted_; }
  int take_error() { return std::exchange(error_, 0); }

  auto wait() {
    struct Awaiter {
      Core* core;
      bool await_ready() const noexcept { return false; }
      void await_suspend(std::coroutine_handle<> handle) const {
        NAMDB_CHECK(!core->waiter_);
        core->waiter_ = handle;
      }
      void await_resume() const noexcept {}
    };
    return Awaiter{this};
  }

 private:
  void wake() {
    if (waiter_) reactor_.schedule(std::exchange(waiter_, nullptr));
  }

  Reactor& reactor_;
  int descriptor_;
  std::deque<int> accepted_;
  std::coroutine_handle<> waiter_;
  int error_ = 0;
  bool armed_ = false;
  bool multishot_ = true;
  bool cancelled_ = false;
  bool closed_ = false;
  bool released_ = false;
};

void SocketListener::Core::arm() {
  multishot_ = multishot_ && reactor_.multishot();
  io_uring_sqe* submission = reactor_.prepare();
  if (multishot_) {
    io_uring_prep_multishot_accept(submission, descriptor_, nullptr, nullptr, SOCK_CLOEXEC);
  } else {
    io_uring_prep_accept(submission, descriptor_, nullptr, nullptr, SOCK_CLOEXEC);
  }
  reactor_.submit(submission, this);
  armed_ = true;
  cancelled_ = false;
}

void SocketListener::Core::on_completion(std::int32_t result, std::uint32_t flags) {
  if ((flags & IORING_CQE_F_MORE) == 0) armed_ = false;
  if (closed_) {
    if (result >= 0) ::close(result);
    if (armed_) return;
    ::close(descriptor_);
    if (released_) delete this;
    return;
  }
  if (result >= 0) {
    accepted_.push_back(result);
    if (accepted_.size() >= kAcceptedLimit && armed_ && !cancelled_) {
      cancelled_ = true;
      reactor_.cancel_request(*this);
    }
  } else if (result == -EINVAL && multishot_) {
    multishot_ = false;
  } else if (result == -EMFILE || result == -ENFILE || result == -ENOMEM || result == -ENOBUFS) {
    error_ = -result;
  }
  wake();
}

void SocketListener::Core::close() {
  if (std::exchange(closed_, true)) return;
  for (const int descriptor : accepted_) ::close(descriptor);
  accepted_.clear();
  if (armed_) {
    reactor_.cancel_request(*this);
  } else {
    ::close(descriptor_);
  }
  wake();
}

void SocketListener::Core::release() {
  close();
  released_ = true;
  if (!armed_) delete this;
}

Result<std::unique_ptr<SocketListener>> SocketListener::listen(Reactor& reactor, std::string address,
                                                               ListenOptions options) {
  Result<std::vector<SocketAddress>> candidates = SocketAddress::resolve(address, true);
  if (!candidates.ok()) return candidates.status();
  Status status;
  for (const SocketAddress& candidate : *candidates) {
    Result<Bound> bound = bind_and_listen_patiently(candidate, options);
    if (bound.ok()) {
      return std::unique_ptr<SocketListener>(new SocketListener(
          reactor, new Core(reactor, bound->descriptor), bound->address.to_string(),
          bound->address.is_unix() ? bound->address.path() : std::string(), bound->address.is_local()));
    }
    if (status.ok()) status = bound.status();
  }
  return status;
}

SocketListener::SocketListener(Reactor& reactor, Core* core, std::string address, std::string unix_path,
                               bool is_local)
    : reactor_(reactor),
      core_(core),
      address_(std::move(address)),
      unix_path_(std::move(unix_path)),
      is_local_(is_local) {}

SocketListener::~SocketListener() {
  if (!unix_path_.empty()) ::unlink(unix_path_.c_str());
  core_->release();
}

Task<Result<int>> SocketListener::accept_descriptor() {
  while (!core_->closed()) {
    if (std::deque<int>& accepted = core_->accepted(); !accepted.empty()) {
      const int descriptor = accepted.front();
      accepted.pop_front();
      co_return descriptor;
    }
    if (const int error = core_->take_error(); error != 0) {
      co_return system_error(ErrorCode::limit_exceeded, "accept", error);
    }
    if (!core_->armed()) core_->arm();
    co_await core_->wait();
  }
  co_return Status(ErrorCode::connection_failure, "the listener is closed");
}

Task<Result<std::unique_ptr<ByteStream>>> SocketListener::accept() {
  Result<int> descriptor = co_await accept_descriptor();
  if (!descriptor.ok()) co_return descriptor.status();
  co_return make_socket_stream(reactor_, *descriptor);
}

void SocketListener::close() {
  core_->close();
}

}  // namespace namdb::reactor
