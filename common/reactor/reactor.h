// Reactor: the executor of the daemons and tools. One thread, one io_uring, nothing shared with other
// reactors but mailboxes.
//
// A turn of its loop: refresh the clock; one io_uring_enter that submits all that the last turn prepared and
// fetches completions (none when there is nothing of either); poll the sources; run due timers and ready
// coroutines, then the turn hooks; flush the sockets that were written to. When a turn found nothing to do,
// the reactor goes on polling for ReactorOptions::spin_ns, giving its core away when another process wants
// it, and then sleeps in the kernel until a completion, the next timer, or a wake-up. While spinning does
// not pay it sleeps at once, and only tries now and then. An idle reactor uses no CPU.
//
// Threads: create() may be called on any thread; everything else belongs to the thread that first runs it,
// the destruction included, except Mailbox::post() and stop(). The clock is CLOCK_BOOTTIME, read once per
// turn. Kernel floor 6.1; newer interfaces are used where the running kernel has them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/reactor/executor.h"
#include "common/reactor/io_operation.h"
#include "common/reactor/mailbox.h"
#include "common/reactor/poll_source.h"
#include "common/reactor/ring.h"

struct io_uring;
struct sockaddr;
struct msghdr;

namespace namdb::reactor {

class ReceiveBuffers;
class WakeDescriptor;

struct ReactorOptions {
  static constexpr std::uint64_t kDefaultSpin = ~std::uint64_t{0};

  std::uint64_t seed = 0;
  // How long it polls before it sleeps. The default outlasts an answer on one machine; 0 sleeps at once
  // (hostile: every message pays a wake-up), 1 s and more never sleeps under load (hostile: starves others).
  std::uint64_t spin_ns = kDefaultSpin;
  // Submissions that fit between two system calls; more are submitted early. Hostile: 2.
  std::uint32_t queue_entries = 512;
  // Buffers that all receiving sockets share. Hostile: 1 buffer of 64 bytes.
  std::uint32_t receive_buffers = 128;
  std::uint32_t receive_buffer_bytes = 32U << 10;
  // False runs as on a kernel without them.
  bool use_deferred_taskrun = true;
  bool use_multishot = true;
};

class Reactor final : public Executor, public Ring {
 public:
  // An error (configuration) when the kernel refuses io_uring; it names the cure in one line.
  static Result<std::unique_ptr<Reactor>> create(const ReactorOptions& options = {});
  // Cancels this reactor's requests that the kernel still has, and waits for them. Coroutines that waited for
  // them are not resumed: their owners' gates must have been closed before.
  ~Reactor() override;

  std::uint64_t now_ns() const override { return now_ns_; }
  std::uint64_t fresh_now_ns() const override;

  // Runs turns until stop(). May be called again.
  void run();
  // Any thread, and signal handlers: the current or next run() returns after its turn, maybe before stop()
  // does; the reactor must outlive the call (ReactorThread ensures that).
  void stop();
  // Runs turns until the task has ended; stop() does not end it.
  template <typename T>
  T run_until(Task<T> task) {
    Gate gate;
    if constexpr (std::is_void_v<T>) {
      spawn(gate, std::move(task));
      run_until_empty(gate);
    } else {
      std::optional<T> result;
      spawn(gate, store_result(std::move(task), result));
      run_until_empty(gate);
      return std::move(*result);
    }
  }

  // The source is polled in every turn until it is removed.
  void add_source(PollSource& source);
  void remove_source(PollSource& source);

  // Calls hook.end_of_turn() once, at the end of the current turn, after the hooks that are called in every
  // turn.
  void flush_soon(TurnHook& hook) { flushes_.push_back(&hook); }
  void cancel_flush(TurnHook& hook);

  // Where other threads leave their messages for this reactor.
  Mailbox& mailbox() { return mailbox_; }

  const ReactorCounters& counters() const { return counters_; }
  ReactorCounters& mutable_counters() { return counters_; }
  bool multishot() const { return use_multishot_; }
  bool deferred_taskrun() const { return deferred_taskrun_; }
  // The kernel turned out to lack it.
  void disable_multishot() { use_multishot_ = false; }

  // The shared receive buffers; nullptr where the kernel has none.
  ReceiveBuffers* receive_buffers();

  // Operations on descriptors. The result is the kernel's, negative on error. The descriptor must stay open
  // until the operation has completed: cancel() ends those that wait.
  IoOperation read(int descriptor, void* buffer, std::uint32_t length_bytes,
                   std::uint64_t offset = kCurrentPosition);
  IoOperation fsync(int descriptor, bool data_only);
  IoOperation connect(int descriptor, const sockaddr* address, std::uint32_t address_bytes);
  // Waits for POLLIN, POLLOUT, ...; gives the events that are there.
  IoOperation poll(int descriptor, std::uint32_t events);
  IoOperation send_message(int descriptor, const msghdr* message, std::uint32_t flags = 0);
  IoOperation receive_message(int descriptor, msghdr* message, std::uint32_t flags = 0);
  // Ends all operations on the descriptor with ECANCELED (one that is just completing may still succeed).
  // They may complete after this one.
  IoOperation cancel(int descriptor);

  static constexpr std::uint64_t kCurrentPosition = ~std::uint64_t{0};

 private:
  Reactor(const ReactorOptions& options, std::unique_ptr<io_uring> ring, bool deferred_taskrun);
  template <typename T>
  static Task<void> store_result(Task<T> task, std::optional<T>& result) {
    result.emplace(co_await task);
  }
  IoOperation operation(const IoFields& fields);
  void run_until_empty(Gate& gate);
  void begin_run();
  void refresh_clock();
  // One turn; sleeps when there was nothing to do for long enough.
  void turn();
  bool reap();
  void enter();
  void sleep();
  void spin_paid();
  void spin_in_vain(int cost);
  void flush();

  ReactorOptions options_;
  bool deferred_taskrun_;
  bool use_multishot_;
  bool enabled_ = false;
  std::thread::id thread_;  // that runs it
  std::atomic<bool> stop_{false};
  std::uint64_t now_ns_ = 0;
  bool idle_ = false;                // the last turn found nothing to do
  std::uint64_t idle_since_ns_ = 0;  // then: for how long
  bool spinning_ = false;            // then: it does not sleep yet
  int spin_credit_ = 1;              // recent spins that found work, less those that did not
  std::uint32_t spin_pause_ = 0;     // sleeps to come without a spin before
  std::uint32_t spin_backoff_ = 32;  // the next spin_pause_
  std::vector<PollSource*> sources_;
  std::vector<TurnHook*> flushes_;
  std::unique_ptr<WakeDescriptor> wake_;
  std::unique_ptr<ReceiveBuffers> receive_buffers_;
  bool receive_buffers_tried_ = false;
  Mailbox mailbox_;
};

}  // namespace namdb::reactor
