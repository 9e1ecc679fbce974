#include "common/reactor/reactor.h"

#include <fcntl.h>
#include <liburing.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "common/base/check.h"
#include "common/reactor/receive_buffers.h"
#include "common/reactor/system_error.h"
#include "common/reactor/wake_descriptor.h"

namespace namdb::reactor {
namespace {

// Enough that a burst of completions of multishot requests does not spill into the kernel's overflow list.
constexpr std::uint32_t kCompletionsPerSubmission = 8;

// Spinning is left off while it does not pay, for so many sleeps, and then tried again: while answers take
// longer than the spin, and above all when another process took the core during it. Then it would only use up
// this process's share of the cores; the scheduler prefers processes that sleep.
constexpr int kMaxSpinCredit = 8;
constexpr std::uint32_t kMinSpinPause = 32;
constexpr std::uint32_t kMaxSpinPause = 4096;
constexpr std::uint64_t kStolen_ns = 8 * kMicrosecond_ns;  // between two turns that had nothing to do

// On few cores, too: an answer of another daemon on the machine takes 10 to 40 us, and a spin that ends
// before it costs both its time and the wake-up. Where the peers of this process want the core that it holds,
// the spin gives it away with sched_yield(), and is left off after that.
constexpr std::uint64_t kDefaultSpin_ns = 50 * kMicrosecond_ns;

Status refused(int error_number) {
  Status cause = system_error(ErrorCode::configuration, "cannot create an io_uring", error_number);
  if (error_number != EPERM && error_number != ENOSYS) {
    return Status(ErrorCode::configuration, cause.message(),
                  "kernel 6.1 or newer is needed; see also ulimit -l");
  }
  return Status(ErrorCode::configuration, cause.message(),
                "in a container: docker run --security-opt seccomp=docker/seccomp.json, or "
                "--security-opt seccomp=unconfined; on the host: sysctl kernel.io_uring_disabled=0");
}

struct RingExit {
  void operator()(io_uring* ring) const {
    io_uring_queue_exit(ring);
    delete ring;
  }
};

}  // namespace

Result<std::unique_ptr<Reactor>> Reactor::create(const ReactorOptions& options) {
  // Disabled at first: the thread that enables the ring, the one that runs, becomes its only submitter.
  constexpr std::uint32_t kBase = IORING_SETUP_CQSIZE | IORING_SETUP_R_DISABLED;
  constexpr std::uint32_t kSingle =
      IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_TASKRUN_FLAG;
  auto ring = std::make_unique<io_uring>();
  bool deferred = options.use_deferred_taskrun;
  int error = -EINVAL;
  for (; error == -EINVAL; deferred = false) {
    io_uring_params params{};
    params.flags = kBase | (deferred ? kSingle : IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG);
    params.cq_entries = options.queue_entries * kCompletionsPerSubmission;
    error = io_uring_queue_init_params(options.queue_entries, ring.get(), &params);
    if (error == 0 || !deferred) break;
  }
  if (error != 0) return refused(-error);
  return std::unique_ptr<Reactor>(new Reactor(options, std::move(ring), deferred));
}

Reactor::Reactor(const ReactorOptions& options, std::unique_ptr<io_uring> ring, bool deferred_taskrun)
    : Executor(options.seed),
      Ring(std::move(ring)),
      options_(options),
      deferred_taskrun_(deferred_taskrun),
      use_multishot_(options.use_multishot),
      wake_(std::make_unique<WakeDescriptor>(*this)),
      mailbox_([this] { wake_->signal(); }) {
  if (options_.spin_ns == ReactorOptions::kDefaultSpin) options_.spin_ns = kDefaultSpin_ns;
  add_source(mailbox_);
  refresh_clock();
}

Reactor::~Reactor() {
  remove_source(mailbox_);
  if (enabled_ && thread_ != std::this_thread::get_id()) {
    // Only the reactor's own poll request, which has no buffers, may be left to the closing of the ring.
    NAMDB_CHECK(outstanding_ == 1);
    wake_->abandon();
  } else {
    begin_run();
    wake_.reset();
    io_uring_sqe* submission = prepare();
    io_uring_prep_cancel(submission, nullptr, IORING_ASYNC_CANCEL_ANY | IORING_ASYNC_CANCEL_ALL);
    submit(submission, nullptr);
    while (outstanding_ != 0) {
      io_uring_submit_and_wait(ring_.get(), 1);
      reap();
    }
  }
  RingExit()(ring_.release());
}

void Reactor::begin_run() {
  if (!enabled_) {
    // By hand: liburing 2.3 declares io_uring_enable_rings(), its shared library does not export it.
    NAMDB_CHECK(::syscall(__NR_io_uring_register, ring_->ring_fd, IORING_REGISTER_ENABLE_RINGS, nullptr, 0) ==
                0);
    enabled_ = true;
    thread_ = std::this_thread::get_id();
  }
  NAMDB_CHECK(thread_ == std::this_thread::get_id());
  refresh_clock();
}

void Reactor::run() {
  begin_run();
  do {
    turn();
  } while (!stop_.load(std::memory_order_relaxed));
  stop_.store(false, std::memory_order_relaxed);
}

void Reactor::stop() {
  stop_.store(true, std::memory_order_relaxed);
  wake_->signal();
}

void Reactor::run_until_empty(Gate& gate) {
  begin_run();
  while (gate.count() != 0) turn();
}

void Reactor::add_source(PollSource& source) {
  sources_.push_back(&source);
}

void Reactor::remove_source(PollSource& source) {
  // Not erased: a source may go away while the sources are being polled.
  std::replace(sources_.begin(), sources_.end(), &source, static_cast<PollSource*>(nullptr));
}

void Reactor::cancel_flush(TurnHook& hook) {
  std::replace(flushes_.begin(), flushes_.end(), &hook, static_cast<TurnHook*>(nullptr));
}

std::uint64_t Reactor::fresh_now_ns() const {
  timespec now;
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * kSecond_ns + static_cast<std::uint64_t>(now.tv_nsec);
}

void Reactor::refresh_clock() {
  now_ns_ = fresh_now_ns();
}

void Reactor::turn() {
  ++counters_.turns;
  const std::uint64_t before_ns = now_ns_;
  refresh_clock();
  if (spinning_ && now_ns_ - before_ns > kStolen_ns) spin_in_vain(kMaxSpinCredit);
  enter();
  bool worked = reap();
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    if (sources_[i] != nullptr && sources_[i]->poll()) worked = true;
  }
  std::erase(sources_, nullptr);
  if (run_turn()) worked = true;
  flush();
  if (worked || has_ready() || io_uring_sq_ready(ring_.get()) != 0) {
    if (spinning_) spin_paid();
    spinning_ = false;
    idle_ = false;
    return;
  }
  if (!idle_) {
    idle_ = true;
    idle_since_ns_ = now_ns_;
    spinning_ = options_.spin_ns != 0 && (spin_pause_ == 0 || --spin_pause_ == 0);
  }
  if (spinning_ && now_ns_ - idle_since_ns_ >= options_.spin_ns) spin_in_vain(1);
  if (spinning_) {
    ::sched_yield();
    return;
  }
  sleep();
  idle_ = false;
}

void Reactor::spin_paid() {
  spin_credit_ = std::min(spin_credit_ + 1, kMaxSpinCredit);
  if (spin_credit_ == kMaxSpinCredit) spin_backoff_ = kMinSpinPause;
}

void Reactor::spin_in_vain(int cost) {
  spinning_ = false;
  spin_credit_ = std::max(spin_credit_ - cost, 0);
  if (spin_credit_ != 0) return;
  spin_pause_ = spin_backoff_;
  spin_backoff_ = std::min(2 * spin_backoff_, kMaxSpinPause);
}

void Reactor::flush() {
  for (std::size_t i = 0; i < flushes_.size(); ++i) {
    if (flushes_[i] != nullptr) flushes_[i]->end_of_turn();
  }
  flushes_.clear();
}

void Reactor::enter() {
  const bool submissions = io_uring_sq_ready(ring_.get()) != 0;
  // The kernel reports that completions wait for this thread to fetch them.
  const std::uint32_t kernel = __atomic_load_n(ring_->sq.kflags, __ATOMIC_RELAXED);
  const bool completions = (kernel & (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW)) != 0;
  if (!submissions && !completions) return;
  ++counters_.enters;
  const int result = io_uring_submit_and_get_events(ring_.get());
  // EBUSY: the completion queue is full; it is emptied next.
  NAMDB_CHECK(result >= 0 || result == -EINTR || result == -EBUSY || result == -EAGAIN);
}

bool Reactor::reap() {
  std::uint32_t head;
  std::uint32_t count = 0;
  io_uring_cqe* completion;
  io_uring_for_each_cqe(ring_.get(), head, completion) {
    ++count;
    auto* request = reinterpret_cast<IoRequest*>(completion->user_data);  // null: its completion is ignored
    if (request == nullptr) continue;
    if ((completion->flags & IORING_CQE_F_MORE) == 0) --outstanding_;
    request->on_completion(completion->res, completion->flags);
  }
  if (count == 0) return false;
  io_uring_cq_advance(ring_.get(), count);
  counters_.completions += count;
  return true;
}

void Reactor::sleep() {
  std::size_t armed = 0;
  bool may_sleep = true;
  std::erase(sources_, nullptr);
  while (armed < sources_.size() && may_sleep) may_sleep = sources_[armed++]->prepare_sleep();
  if (may_sleep && !stop_.load(std::memory_order_relaxed)) {
    refresh_clock();
    const std::uint64_t deadline_ns = next_deadline_ns();
    __kernel_timespec timeout{};
    if (deadline_ns != ~std::uint64_t{0} && deadline_ns > now_ns_) {
      timeout.tv_sec = static_cast<std::int64_t>((deadline_ns - now_ns_) / kSecond_ns);
      timeout.tv_nsec = static_cast<std::int64_t>((deadline_ns - now_ns_) % kSecond_ns);
    }
    ++counters_.enters;
    ++counters_.sleeps;
    io_uring_cqe* completion = nullptr;
    const int result = io_uring_submit_and_wait_timeout(
        ring_.get(), &completion, 1, deadline_ns == ~std::uint64_t{0} ? nullptr : &timeout, nullptr);
    NAMDB_CHECK(result >= 0 || result == -ETIME || result == -EINTR || result == -EBUSY || result == -EAGAIN);
  }
  while (armed != 0) sources_[--armed]->cancel_sleep();
}

ReceiveBuffers* Reactor::receive_buffers() {
  if (!receive_buffers_tried_) {
    receive_buffers_tried_ = true;
    receive_buffers_ =
        ReceiveBuffers::create(*ring_, options_.receive_buffers, options_.receive_buffer_bytes);
  }
  return receive_buffers_.get();
}

IoOperation Reactor::operation(const IoFields& fields) {
  return IoOperation(*this, *this, fields);
}

IoOperation Reactor::read(int descriptor, void* buffer, std::uint32_t length_bytes, std::uint64_t offset) {
  return operation({IORING_OP_READ, descriptor, buffer, length_bytes, offset, 0});
}

IoOperation Reactor::fsync(int descriptor, bool data_only) {
  return operation(
      {IORING_OP_FSYNC, descriptor, nullptr, 0, 0, data_only ? std::uint32_t{IORING_FSYNC_DATASYNC} : 0});
}

IoOperation Reactor::connect(int descriptor, const sockaddr* address, std::uint32_t address_bytes) {
  return operation({IORING_OP_CONNECT, descriptor, address, 0, address_bytes, 0});
}

IoOperation Reactor::poll(int descriptor, std::uint32_t events) {
  return operation({IORING_OP_POLL_ADD, descriptor, nullptr, 0, 0, events});
}

IoOperation Reactor::send_message(int descriptor, const msghdr* message, std::uint32_t flags) {
  return operation({IORING_OP_SENDMSG, descriptor, message, 1, 0, flags | MSG_NOSIGNAL});
}

IoOperation Reactor::receive_message(int descriptor, msghdr* message, std::uint32_t flags) {
  return operation({IORING_OP_RECVMSG, descriptor, message, 1, 0, flags | MSG_CMSG_CLOEXEC});
}

IoOperation Reactor::cancel(int descriptor) {
  return operation(
      {IORING_OP_ASYNC_CANCEL, descriptor, nullptr, 0, 0, IORING_ASYNC_CANCEL_FD | IORING_ASYNC_CANCEL_ALL});
}

}  // namespace namdb::reactor
