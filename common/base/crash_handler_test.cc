#include "common/base/crash_handler.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>
#include <thread>

#include "common/base/check.h"
#include "common/base/signal_stack.h"

// Not in an unnamed namespace, so that no compiler clones or renames them.
namespace namdb::crashes {

[[gnu::noinline]] void write_to_nowhere() {
  volatile int* volatile nowhere = nullptr;
  *nowhere = 1;
}

[[gnu::noinline]] void fail_a_check() {
  volatile bool holds = false;
  NAMDB_CHECK(holds);
}

[[gnu::noinline]] void call_nothing() {
  void (*volatile nothing)() = nullptr;
  nothing();
  asm volatile("");  // no tail call
}

volatile int deepest = 1 << 30;

[[gnu::noinline]] int recurse_for_ever(int depth) {
  if (depth == deepest) return 0;
  volatile char frame[1024];
  frame[depth % 1024] = 1;
  return recurse_for_ever(depth + 1) + frame[0];
}

[[gnu::noinline]] void overflow_a_threads_stack() {
  std::thread([] {
    const SignalStack stack;
    recurse_for_ever(0);
  }).join();
}

[[gnu::noinline]] void cause(void (*crash)()) {
  crash();
  asm volatile("");
}

struct End {
  int signal;
  std::string said;
};

// The standard error of a process with the handler when `crash` ends it.
End end_of(void (*crash)()) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t pid = ::fork();
  REQUIRE(pid >= 0);
  if (pid == 0) {
    ::dup2(ends[1], 2);
    ::close(ends[0]);
    ::close(ends[1]);
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    // The test framework's handlers are not the program's.
    for (const int number : {SIGSEGV, SIGABRT, SIGTERM}) ::signal(number, SIG_DFL);
    install_crash_handler("crash_handler_test");
    cause(crash);
    ::_exit(0);
  }
  ::close(ends[1]);
  End end{};
  char buffer[4096];
  for (ssize_t length = 0; (length = ::read(ends[0], buffer, sizeof buffer)) > 0;)
    end.said.append(buffer, static_cast<std::size_t>(length));
  ::close(ends[0]);
  int status = 0;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  REQUIRE(WIFSIGNALED(status));
  end.signal = WTERMSIG(status);
  return end;
}

TEST_CASE("A crash names its signal and the functions that led to it, and ends the process by that signal") {
  const End end = end_of(write_to_nowhere);
  CHECK(end.signal == SIGSEGV);
  CHECK_THAT(end.said, Catch::StartsWith("*** SIGSEGV received"));
  CHECK_THAT(end.said, Catch::Contains("namdb::crashes::write_to_nowhere()"));
  CHECK_THAT(end.said, Catch::Contains("namdb::crashes::cause()"));
  CHECK_THAT(end.said, Catch::Contains("main"));
}

TEST_CASE("A failed check names the function that it stands in") {
  const End end = end_of(fail_a_check);
  CHECK(end.signal == SIGABRT);
  CHECK_THAT(end.said, Catch::Contains("check failed at"));
  CHECK_THAT(end.said, Catch::Contains("*** SIGABRT received"));
  CHECK_THAT(end.said, Catch::Contains("namdb::crashes::fail_a_check()"));
}

TEST_CASE("A jump to nowhere names the function that jumped") {
  const End end = end_of(call_nothing);
  CHECK(end.signal == SIGSEGV);
  CHECK_THAT(end.said, Catch::Contains("namdb::crashes::call_nothing()"));
  CHECK_THAT(end.said, Catch::Contains("namdb::crashes::cause()"));
}

TEST_CASE("A stack that overflows is named, of a thread that has a signal stack") {
  const End end = end_of(overflow_a_threads_stack);
  CHECK(end.signal == SIGSEGV);
  CHECK_THAT(end.said, Catch::Contains("namdb::crashes::recurse_for_ever()"));
  CHECK_THAT(end.said, Catch::Contains("more frames"));
}

TEST_CASE("SIGTERM is no crash") {
  const End end = end_of([] { ::raise(SIGTERM); });
  CHECK(end.signal == SIGTERM);
  CHECK(end.said.empty());
}

}  // namespace namdb::crashes
