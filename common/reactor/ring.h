// The submission side of a reactor's io_uring: requests to the kernel, and their completions. Everything that
// a request names (itself, buffers, addresses, the coroutine frame) belongs to the kernel until its last
// completion. Reactor's thread.
#pragma once

#include <cstdint>
#include <memory>

struct io_uring;
struct io_uring_sqe;

namespace namdb::reactor {

// One request. Multishot requests complete several times.
class IoRequest {
 public:
  // `result` is the kernel's: not negative, or a negated error number. `flags` are the completion's
  // (IORING_CQE_F_*). After the last completion the object may be destroyed, also from within the call.
  virtual void on_completion(std::int32_t result, std::uint32_t flags) = 0;

 protected:
  ~IoRequest() = default;
};

// Counters of a reactor, for tests, `top` and benchmarks.
struct ReactorCounters {
  std::uint64_t turns = 0;
  std::uint64_t enters = 0;  // io_uring_enter system calls, the sleeps included
  std::uint64_t sleeps = 0;
  std::uint64_t completions = 0;
  std::uint64_t sends = 0;     // send operations of sockets
  std::uint64_t receives = 0;  // completed receive operations of sockets
};

class Ring {
 public:
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  // For requests that are not awaited: takes a place in the submission queue, to be filled with an
  // io_uring_prep_ function and then handed to submit(), both before the next prepare().
  io_uring_sqe* prepare();
  // The kernel gets it with the turn's one system call. A null request's completion is ignored; any other is
  // outstanding until its last completion.
  void submit(io_uring_sqe* submission, IoRequest* request);
  // Asks the kernel to end the request; it completes as always, with ECANCELED if it had not been done.
  void cancel_request(IoRequest& request);

 protected:
  explicit Ring(std::unique_ptr<io_uring> ring);
  ~Ring();

  std::unique_ptr<io_uring> ring_;  // created and closed by the reactor
  std::uint64_t outstanding_ = 0;   // requests whose last completion has not been seen
  ReactorCounters counters_;
};

}  // namespace namdb::reactor
