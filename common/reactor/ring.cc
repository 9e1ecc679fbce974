#include "common/reactor/ring.h"

#include <liburing.h>

#include <cerrno>
#include <utility>

#include "common/base/check.h"

namespace namdb::reactor {

Ring::Ring(std::unique_ptr<io_uring> ring) : ring_(std::move(ring)) {}

Ring::~Ring() = default;

io_uring_sqe* Ring::prepare() {
  io_uring_sqe* submission = io_uring_get_sqe(ring_.get());
  while (submission == nullptr) {
    ++counters_.enters;
    const int result = io_uring_submit(ring_.get());
    NAMDB_CHECK(result >= 0 || result == -EINTR || result == -EBUSY || result == -EAGAIN);
    submission = io_uring_get_sqe(ring_.get());
  }
  return submission;
}

void Ring::submit(io_uring_sqe* submission, IoRequest* request) {
  io_uring_sqe_set_data(submission, request);
  if (request != nullptr) ++outstanding_;
}

void Ring::cancel_request(IoRequest& request) {
  io_uring_sqe* submission = prepare();
  io_uring_prep_cancel(submission, &request, 0);
  submit(submission, nullptr);
}

}  // namespace namdb::reactor
