// The executor's own properties, on the reactor: order of turns, timers, events, gates, long chains.
#include <sys/resource.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "common/reactor/reactor.h"
#include "common/reactor/sort_in_turns.h"
#include "common/reactor/testing/manual_executor.h"
#include "common/reactor/turn_times.h"

namespace namdb::reactor {
namespace executor_test {

std::unique_ptr<Reactor> make_reactor(ReactorOptions options = {}) {
  auto reactor = Reactor::create(options);
  REQUIRE(reactor.ok());
  return std::move(*reactor);
}

Task<void> append_twice(Executor& executor, std::string& trace, char name) {
  trace += name;
  co_await executor.yield();
  trace += name;
}

class TraceHook final : public TurnHook {
 public:
  explicit TraceHook(std::string& trace) : trace_(trace) {}
  void end_of_turn() override {
    if (!trace_.empty() && trace_.back() != '|') trace_ += '|';
  }

 private:
  std::string& trace_;
};

Task<void> spawn_three(Executor& executor, std::string& trace) {
  Gate gate;
  executor.spawn(gate, append_twice(executor, trace, 'a'));
  executor.spawn(gate, append_twice(executor, trace, 'b'));
  executor.spawn(gate, append_twice(executor, trace, 'c'));
  co_await gate.close();
}

TEST_CASE("a turn runs what was ready when it began, in order, and then the hooks") {
  auto reactor = make_reactor();
  std::string trace;
  TraceHook hook(trace);
  reactor->add_turn_hook(hook);
  reactor->run_until(spawn_three(*reactor, trace));
  reactor->remove_turn_hook(hook);
  CHECK(trace == "abc|abc|");
}

Task<void> count_turns(Executor& executor, const bool* ended, std::size_t& turns) {
  for (; !*ended; ++turns) co_await executor.yield();
}

template <typename Values>
Task<std::size_t> turns_of_sort(Executor& executor, Values& values) {
  bool ended = false;
  std::size_t turns = 0;
  Gate gate;
  executor.spawn(gate, count_turns(executor, &ended, turns));
  co_await executor.yield();
  const std::size_t before = turns;
  co_await sort_in_turns(&executor, &values, std::less<>());
  const std::size_t taken = turns - before;
  ended = true;
  co_await gate.close();
  co_return taken;
}

TEST_CASE("many values are sorted in turns, and few in one") {
  auto reactor = make_reactor();
  Random random(7);
  for (const std::size_t count :
       {std::size_t{0}, std::size_t{1}, kSortedInTurn, kSortedInTurn + 1, 5 * kSortedInTurn + 77}) {
    std::vector<std::uint64_t> values;
    for (std::size_t i = 0; i < count; ++i) values.push_back(random.below(count));
    std::deque<std::string> texts;
    for (const std::uint64_t value : values) texts.push_back(std::to_string(value));
    std::vector<std::uint64_t> expected = values;
    std::ranges::sort(expected);
    std::deque<std::string> expected_texts = texts;
    std::ranges::sort(expected_texts);
    // Each value is sorted once, and merged in as many passes as lengths double.
    const std::size_t turns = count > kSortedInTurn ? 2 * count / kSortedInTurn : 0;
    CHECK(reactor->run_until(turns_of_sort(*reactor, values)) >= turns);
    CHECK(values == expected);
    CHECK(reactor->run_until(turns_of_sort(*reactor, texts)) >= turns);
    CHECK(texts == expected_texts);
  }
}

Task<void> work_for(Reactor& reactor, std::uint64_t duration_ns) {
  const std::uint64_t end_ns = reactor.fresh_now_ns() + duration_ns;
  while (reactor.fresh_now_ns() < end_ns) {
  }
  co_await reactor.yield();
}

TEST_CASE("turns are measured, and sleeps are not") {
  auto reactor = make_reactor();
  TurnTimes times;
  TurnClock clock(*reactor, times);
  reactor->add_source(clock);
  reactor->run_until(work_for(*reactor, 2 * kMillisecond_ns));
  CHECK(times.longest_ns() >= 2 * kMillisecond_ns);
  reactor->remove_source(clock);

  testing::ManualExecutor by_hand;
  TurnTimes others;
  TurnClock other(by_hand, others);
  const auto turn = [&](std::uint64_t duration_ns) {
    other.poll();
    by_hand.advance(duration_ns);
  };
  turn(TurnTimes::kLong_ns);
  turn(TurnTimes::kLong_ns + 1);
  turn(7);
  CHECK(other.prepare_sleep());
  by_hand.advance(kSecond_ns);
  other.cancel_sleep();
  turn(7);
  CHECK(others.longest_ns() == TurnTimes::kLong_ns + 1);
  CHECK(others.long_turns() == 1);
}

Task<void> append_at(Executor& executor, std::uint64_t deadline_ns, std::string& trace, char name) {
  co_await executor.sleep_until(deadline_ns);
  CHECK(executor.now_ns() >= deadline_ns);
  trace += name;
}

Task<void> timers(Executor& executor, std::string& trace) {
  const std::uint64_t now_ns = executor.now_ns();
  Gate gate;
  executor.spawn(gate, append_at(executor, now_ns + 3 * kMillisecond_ns, trace, 'c'));
  executor.spawn(gate, append_at(executor, now_ns + 1 * kMillisecond_ns, trace, 'a'));
  executor.spawn(gate, append_at(executor, now_ns + 2 * kMillisecond_ns, trace, 'b'));
  executor.spawn(gate, append_at(executor, now_ns, trace, '0'));
  co_await gate.close();
}

TEST_CASE("timers fire in the order of their deadlines and never before them") {
  auto reactor = make_reactor();
  std::string trace;
  reactor->run_until(timers(*reactor, trace));
  CHECK(trace == "0abc");
}

Task<void> sleep_for(Executor& executor, std::uint64_t duration_ns) {
  co_await executor.sleep_for(duration_ns);
}

std::uint64_t cpu_us() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  const auto us = [](const timeval& time) {
    return static_cast<std::uint64_t>(time.tv_sec * 1'000'000 + time.tv_usec);
  };
  return us(usage.ru_utime) + us(usage.ru_stime);
}

TEST_CASE("an idle reactor sleeps in the kernel until its next timer") {
  ReactorOptions options;
  options.spin_ns = 0;
  auto reactor = make_reactor(options);
  reactor->run_until(sleep_for(*reactor, kMillisecond_ns));  // what happens only once
  const ReactorCounters before = reactor->counters();
  const std::uint64_t cpu_before_us = cpu_us();
  reactor->run_until(sleep_for(*reactor, 200 * kMillisecond_ns));
  CHECK(reactor->counters().sleeps - before.sleeps <= 3);
  CHECK(reactor->counters().turns - before.turns <= 8);
  CHECK(cpu_us() - cpu_before_us < 20'000);
}

TEST_CASE("the spin before a sleep is bounded") {
  ReactorOptions options;
  options.spin_ns = 100 * kMicrosecond_ns;
  auto reactor = make_reactor(options);
  reactor->run_until(sleep_for(*reactor, kMillisecond_ns));
  const ReactorCounters before = reactor->counters();
  reactor->run_until(sleep_for(*reactor, 200 * kMillisecond_ns));
  CHECK(reactor->counters().sleeps - before.sleeps >= 1);
  CHECK(reactor->counters().sleeps - before.sleeps <= 4);
}

Task<int> one() {
  co_return 1;
}

Task<long> sum_of_ready_tasks(long count) {
  long sum = 0;
  for (long i = 0; i < count; ++i) sum += co_await one();
  co_return sum;
}

Task<long> depth(long remaining) {
  if (remaining == 0) co_return 0;
  const long below = co_await depth(remaining - 1);
  co_return below + 1;
}

TEST_CASE("long chains of awaits do not overflow the stack") {
  auto reactor = make_reactor();
  CHECK(reactor->run_until(sum_of_ready_tasks(1'000'000)) == 1'000'000);
  CHECK(reactor->run_until(depth(1'000'000)) == 1'000'000);
}

Task<void> wait_on(Event& event, std::uint64_t deadline_ns, std::vector<bool>& outcomes) {
  outcomes.push_back(co_await event.wait_until(deadline_ns));
}

Task<void> events(Executor& executor, std::vector<bool>& outcomes) {
  Event event(executor);
  Gate gate;
  executor.spawn(gate, wait_on(event, executor.now_ns() + kMillisecond_ns, outcomes));
  co_await gate.close();
  Gate again;
  executor.spawn(again, wait_on(event, ~std::uint64_t{0}, outcomes));
  executor.spawn(again, wait_on(event, executor.now_ns() + 3600 * kSecond_ns, outcomes));
  co_await executor.yield();
  event.notify_all();
  co_await again.close();
}

TEST_CASE("an event tells a notification from a deadline that passed") {
  auto reactor = make_reactor();
  std::vector<bool> outcomes;
  reactor->run_until(events(*reactor, outcomes));
  CHECK(outcomes == std::vector<bool>{false, true, true});
}

}  // namespace executor_test
}  // namespace namdb::reactor
