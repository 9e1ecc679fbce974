#include "tools/fuzz/executor.h"

#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace namdb::fuzz {
namespace {

std::uint64_t longest_turn_ns = 0;

std::uint64_t processor_time_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);  // lint: allow banned: the cost of a turn
  return static_cast<std::uint64_t>(time.tv_sec) * kSecond_ns + static_cast<std::uint64_t>(time.tv_nsec);
}

}  // namespace

void set_longest_turn(std::uint64_t duration_ns) {
  longest_turn_ns = duration_ns;
}

bool SteppedExecutor::step() {
  if (!ready()) {
    const std::uint64_t deadline_ns = next_deadline_ns();
    if (deadline_ns == ~std::uint64_t{0}) return false;
    now_ns_ = deadline_ns;
  }
  now_ns_ += kTurn_ns;
  if (longest_turn_ns == 0) {
    run_turn();
    return true;
  }
  const std::uint64_t begin_ns = processor_time_ns();
  run_turn();
  const std::uint64_t taken_ns = processor_time_ns() - begin_ns;
  if (taken_ns > longest_turn_ns) {
    std::fprintf(stderr, "a turn took %llu ms\n", static_cast<unsigned long long>(taken_ns / 1'000'000));
    std::abort();
  }
  return true;
}

}  // namespace namdb::fuzz
