// The io_uring side of the reactor: operations on descriptors, cancellation, sources, what a refusal says.
#include "common/reactor/reactor.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <iterator>
#include <string>
#include <thread>

#include "common/reactor/signals.h"
#include "common/reactor/wake_descriptor.h"

namespace namdb::reactor {
namespace reactor_test {

std::unique_ptr<Reactor> make_reactor(ReactorOptions options = {}) {
  auto reactor = Reactor::create(options);
  REQUIRE(reactor.ok());
  return std::move(*reactor);
}

Task<std::string> flush_and_read_file(Reactor& reactor, int descriptor) {
  const std::string text = "twelve bytes";
  CHECK(::pwrite(descriptor, text.data(), 12, 4096) == 12);
  const int synced = co_await reactor.fsync(descriptor, true);
  CHECK(synced == 0);
  std::string result(100, '\0');
  const int length = co_await reactor.read(descriptor, result.data(), 100, 4096);
  CHECK(length == 12);
  result.resize(12);
  ::close(descriptor);
  const int after = co_await reactor.read(descriptor, result.data(), 1, 0);
  CHECK(after == -EBADF);
  co_return result;
}

TEST_CASE("a file is flushed and read at an offset, and not read once it is closed") {
  for (const bool deferred : {true, false}) {
    ReactorOptions options;
    options.use_deferred_taskrun = deferred;
    options.queue_entries = 2;
    auto reactor = make_reactor(options);
    CHECK(reactor->deferred_taskrun() == deferred);
    char path[] = "/tmp/namdb-reactor-test-XXXXXX";
    const int descriptor = ::mkstemp(path);
    REQUIRE(descriptor >= 0);
    ::unlink(path);
    CHECK(reactor->run_until(flush_and_read_file(*reactor, descriptor)) == "twelve bytes");
  }
}

Task<void> read_into(Reactor& reactor, int descriptor, int& result) {
  char byte;
  result = co_await reactor.read(descriptor, &byte, 1);
}

Task<void> poll_into(Reactor& reactor, int descriptor, int& result) {
  result = co_await reactor.poll(descriptor, POLLIN);
}

Task<void> cancel_under_waiters(Reactor& reactor, int descriptor, int& read_result, int& poll_result) {
  Gate gate;
  reactor.spawn(gate, read_into(reactor, descriptor, read_result));
  reactor.spawn(gate, poll_into(reactor, descriptor, poll_result));
  co_await reactor.sleep_for(kMillisecond_ns);
  CHECK(gate.count() == 2);
  co_await reactor.cancel(descriptor);
  co_await gate.close();
}

TEST_CASE("cancel() wakes the coroutines that wait on the descriptor") {
  auto reactor = make_reactor();
  int pair[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
  int read_result = 0;
  int poll_result = 0;
  reactor->run_until(cancel_under_waiters(*reactor, pair[0], read_result, poll_result));
  CHECK(read_result == -ECANCELED);
  CHECK(poll_result == -ECANCELED);
  ::close(pair[0]);
  ::close(pair[1]);
}

Task<void> many_reads(Reactor& reactor, int reader, int writer, int count) {
  Gate gate;
  std::vector<int> results(static_cast<std::size_t>(count), -1);
  for (int& result : results) reactor.spawn(gate, read_into(reactor, reader, result));
  co_await reactor.yield();
  const std::string bytes(static_cast<std::size_t>(count), 'x');
  CHECK(::write(writer, bytes.data(), bytes.size()) == count);
  co_await gate.close();
  for (const int result : results) CHECK(result == 1);
}

TEST_CASE("more operations than the queue holds are submitted in several pieces") {
  ReactorOptions options;
  options.queue_entries = 2;
  auto reactor = make_reactor(options);
  int pair[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
  reactor->run_until(many_reads(*reactor, pair[0], pair[1], 100));
  ::close(pair[0]);
  ::close(pair[1]);
}

TEST_CASE("operations that one turn prepares are submitted by one system call") {
  auto reactor = make_reactor();
  int pair[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
  const std::uint64_t before = reactor->counters().enters;
  reactor->run_until(many_reads(*reactor, pair[0], pair[1], 100));
  CHECK(reactor->counters().enters - before <= 10);
  ::close(pair[0]);
  ::close(pair[1]);
}

// Work that appears when the source is about to sleep, and once more by its wake-up.
class LateSource final : public PollSource {
 public:
  explicit LateSource(Reactor& reactor) : reactor_(reactor), wake_(reactor) {}
  bool poll() override {
    if (found_ == prepared_) return false;
    found_ = prepared_;
    if (found_ == 2) reactor_.stop();
    return true;
  }
  bool prepare_sleep() override {
    if (prepared_ == 0) {
      ++prepared_;
      return false;
    }
    // Another thread or process would do this after it has seen that the reactor sleeps.
    if (prepared_ == 1) wake_.signal();
    ++prepared_;
    return true;
  }
  void cancel_sleep() override { ++cancelled_; }
  int prepared() const { return prepared_; }
  int cancelled() const { return cancelled_; }

 private:
  Reactor& reactor_;
  WakeDescriptor wake_;
  int prepared_ = 0;
  int cancelled_ = 0;
  int found_ = 0;
};

TEST_CASE("a source's late work keeps the reactor awake, and its wake-up ends the sleep") {
  auto reactor = make_reactor();
  LateSource source(*reactor);
  reactor->add_source(source);
  reactor->run();
  reactor->remove_source(source);
  CHECK(source.prepared() == 2);
  CHECK(source.cancelled() == 2);
}

TEST_CASE("a wake descriptor works again and again, and may go before its reactor") {
  auto reactor = make_reactor();
  for (int i = 0; i < 100; ++i) {
    reactor->stop();
    reactor->run();
    WakeDescriptor wake(*reactor);
    wake.signal();
  }
}

Task<void> receive_signals(Reactor& reactor, Signals& signals) {
  ::kill(::getpid(), SIGTERM);
  const Result<int> first = co_await signals.next();
  CHECK(first.ok());
  CHECK(*first == SIGTERM);
  ::kill(::getpid(), SIGINT);
  const Result<int> second = co_await signals.next();
  CHECK(second.ok());
  CHECK(*second == SIGINT);
  co_await reactor.yield();
}

Task<void> cancel_soon(Reactor& reactor, Signals& signals) {
  co_await reactor.sleep_for(kMillisecond_ns);
  co_await signals.cancel();
}

Task<void> wait_in_vain(Reactor& reactor, Signals& signals) {
  Gate gate;
  reactor.spawn(gate, cancel_soon(reactor, signals));
  const Result<int> nothing = co_await signals.next();
  CHECK(!nothing.ok());
  co_await gate.close();
}

TEST_CASE("SIGTERM and SIGINT arrive as results, and waiting for them can be cancelled") {
  auto reactor = make_reactor();
  Signals signals(*reactor, {SIGTERM, SIGINT});
  reactor->run_until(receive_signals(*reactor, signals));
  reactor->run_until(wait_in_vain(*reactor, signals));
}

// As a container's default seccomp profile does it; for the calling thread and for good.
bool refuse_io_uring(std::uint32_t error_number) {
  const sock_filter instructions[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_io_uring_setup, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error_number),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{std::size(instructions), const_cast<sock_filter*>(instructions)};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST_CASE("where io_uring is refused, one line says so and names the cure") {
  for (const int error_number : {EPERM, ENOSYS}) {
    std::string text;
    std::thread thread([&] {
      if (!refuse_io_uring(static_cast<std::uint32_t>(error_number))) return;
      const auto reactor = Reactor::create();
      if (reactor.ok() || reactor.status().code() != ErrorCode::configuration) return;
      text = reactor.status().to_string();
    });
    thread.join();
    CHECK(text.find("--security-opt seccomp=docker/seccomp.json") != std::string::npos);
    CHECK(text.find("kernel.io_uring_disabled=0") != std::string::npos);
    CHECK(text.find('\n') == std::string::npos);
  }
}

}  // namespace reactor_test
}  // namespace namdb::reactor
