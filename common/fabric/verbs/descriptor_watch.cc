#include "common/fabric/verbs/descriptor_watch.h"

#include <fcntl.h>
#include <liburing.h>
#include <poll.h>
#include <unistd.h>

#include <utility>

#include "common/base/check.h"
#include "common/reactor/reactor.h"

namespace namdb::fabric::verbs {

// The kernel's view: outlives the watch, with a descriptor of its own, until the poll request has ended.
class DescriptorWatch::Request final : public reactor::IoRequest {
 public:
  Request(reactor::Reactor& reactor, int descriptor, std::function<void()> readable)
      : reactor_(reactor), descriptor_(descriptor), readable_(std::move(readable)) {
    arm();
  }
  ~Request() { ::close(descriptor_); }

  void release() {
    readable_ = {};
    reactor_.cancel_request(*this);
  }
  void on_completion(std::int32_t /*result*/, std::uint32_t /*flags*/) override {
    if (!readable_) {
      delete this;
      return;
    }
    // Armed first: `readable` may destroy the watch. Later readiness completes the new request.
    arm();
    const std::function<void()> readable = readable_;
    readable();
  }

 private:
  void arm() {
    io_uring_sqe* submission = reactor_.prepare();
    io_uring_prep_poll_add(submission, descriptor_, POLLIN);
    reactor_.submit(submission, this);
  }

  reactor::Reactor& reactor_;
  int descriptor_;
  std::function<void()> readable_;
};

DescriptorWatch::DescriptorWatch(reactor::Reactor& reactor, int descriptor, std::function<void()> readable) {
  const int flags = ::fcntl(descriptor, F_GETFL);
  NAMDB_CHECK(flags >= 0 && ::fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) == 0);
  const int own = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  NAMDB_CHECK(own >= 0);
  request_ = new Request(reactor, own, std::move(readable));
}

DescriptorWatch::~DescriptorWatch() {
  request_->release();
}

}  // namespace namdb::fabric::verbs
