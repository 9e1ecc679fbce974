#include "common/reactor/wake_descriptor.h"

#include <liburing.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <utility>

#include "common/base/check.h"
#include "common/reactor/ring.h"

namespace namdb::reactor {

// The kernel's view: outlives the WakeDescriptor until its poll request has ended.
class WakeDescriptor::Watch final : public IoRequest {
 public:
  Watch(Ring& ring, int descriptor) : ring_(ring), descriptor_(descriptor) { arm(); }
  ~Watch() { ::close(descriptor_); }

  void release() {
    released_ = true;
    ring_.cancel_request(*this);
  }

  void on_completion(std::int32_t /*result*/, std::uint32_t flags) override {
    if ((flags & IORING_CQE_F_MORE) != 0) return;
    if (released_) {
      delete this;
    } else {
      arm();
    }
  }

 private:
  void arm() {
    io_uring_sqe* submission = ring_.prepare();
    io_uring_prep_poll_multishot(submission, descriptor_, POLLIN);
    ring_.submit(submission, this);
  }

  Ring& ring_;
  int descriptor_;
  bool released_ = false;
};

WakeDescriptor::WakeDescriptor(Ring& ring) : descriptor_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  NAMDB_CHECK(descriptor_ >= 0);
  watch_ = new Watch(ring, descriptor_);
}

WakeDescriptor::~WakeDescriptor() {
  if (watch_ != nullptr) watch_->release();
}

void WakeDescriptor::signal(int descriptor) {
  const std::uint64_t one = 1;
  // It fails only when the counter is full, and then the reactor has been woken already.
  [[maybe_unused]] const auto written = ::write(descriptor, &one, sizeof one);
}

void WakeDescriptor::abandon() {
  delete std::exchange(watch_, nullptr);
}

}  // namespace namdb::reactor
