#include "compute/sql/session/planning_queue.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <optional>
#include <semaphore>
#include <thread>
#include <utility>
#include <vector>

#include "common/reactor/reactor.h"
#include "common/reactor/reactor_thread.h"
#include "common/reactor/testing/manual_executor.h"

namespace namdb::sql {
namespace {

using reactor::Task;

struct TestInterrupt final : txn::Interrupt {
  Status check() const override { return ended ? Status(ErrorCode::query_canceled, "canceled") : Status(); }
  bool ended = false;
};

std::unique_ptr<reactor::ReactorThread> start_thread() {
  auto thread = reactor::ReactorThread::start();
  REQUIRE(thread.ok());
  return std::move(*thread);
}

PlanningQueue::Post post_to(reactor::Mailbox& mailbox) {
  return [to = &mailbox](std::function<void()> message) { to->post(std::move(message)); };
}

Task<void> run(PlanningQueue* queue, std::function<void()> work, const TestInterrupt* interrupt,
               Status* status) {
  *status = co_await queue->run(std::move(work), *interrupt);
}

}  // namespace

TEST_CASE("a queue's end waits until the planning thread has left the worker's mailbox", "[planning]") {
  const auto thread = start_thread();
  reactor::testing::ManualExecutor executor;
  std::function<void()> answer;
  std::binary_semaphore answered{0};
  std::binary_semaphore may_return{0};
  std::atomic<bool> returned{false};
  int posts = 0;
  std::optional<PlanningQueue> queue;
  queue.emplace(
      executor,
      [&](std::function<void()> work) {
        thread->reactor().mailbox().post(std::move(work));
        if (++posts == 2) may_return.release();
      },
      [&](std::function<void()> message) {
        answer = std::move(message);
        answered.release();
        may_return.acquire();
        returned = true;
      });
  const TestInterrupt interrupt;
  Status status(ErrorCode::internal, "not run");
  reactor::Gate gate;
  executor.spawn(gate, run(&*queue, [] {}, &interrupt, &status));
  executor.run_ready();
  answered.acquire();
  answer();
  executor.run_ready();
  CHECK(gate.count() == 0);
  CHECK(status.ok());
  queue.reset();
  CHECK(returned);
  may_return.release();
}

TEST_CASE("work that is no longer wanted is left out of the queue, unless it has begun", "[planning]") {
  reactor::testing::ManualExecutor executor;
  std::vector<std::function<void()>> posted;
  bool holds = true;
  std::optional<PlanningQueue> queue;
  queue.emplace(
      executor,
      [&](std::function<void()> work) {
        if (!holds) return work();
        posted.push_back(std::move(work));
      },
      [&](std::function<void()> message) {
        if (!holds) return message();
        posted.push_back(std::move(message));
      });
  TestInterrupt interrupt;
  Status status(ErrorCode::internal, "not run");
  int works = 0;
  reactor::Gate gate;
  executor.spawn(gate, run(&*queue, [&works] { ++works; }, &interrupt, &status));
  executor.run_ready();
  REQUIRE(posted.size() == 1);
  const auto pass = [&] {
    executor.advance(10 * kMillisecond_ns);
    executor.run_ready();
  };
  pass();
  CHECK(gate.count() == 1);
  SECTION("it waits") {
    interrupt.ended = true;
    pass();
    CHECK(gate.count() == 0);
    CHECK(status.code() == ErrorCode::query_canceled);
    posted[0]();
    CHECK(works == 0);
    CHECK(posted.size() == 1);
  }
  SECTION("it has begun") {
    posted[0]();
    REQUIRE(posted.size() == 2);
    interrupt.ended = true;
    pass();
    CHECK(gate.count() == 1);
    posted[1]();
    executor.run_ready();
    CHECK(gate.count() == 0);
    CHECK(status.ok());
    CHECK(works == 1);
  }
  holds = false;
}

TEST_CASE("plans destroyed on the planning thread are destroyed there, behind the work before them",
          "[planning]") {
  const auto thread = start_thread();
  reactor::testing::ManualExecutor executor;
  struct Witness {
    explicit Witness(std::thread::id* to) : destroyed_on(to) {}
    Witness(Witness&& other) noexcept : destroyed_on(std::exchange(other.destroyed_on, nullptr)) {}
    ~Witness() {
      if (destroyed_on != nullptr) *destroyed_on = std::this_thread::get_id();
    }
    std::thread::id* destroyed_on;
  };
  std::thread::id destroyed_on;
  {
    PlanningQueue queue(executor, post_to(thread->reactor().mailbox()), [](std::function<void()>) {});
    queue.destroy(Witness(&destroyed_on));
  }
  CHECK(destroyed_on != std::thread::id());
  CHECK(destroyed_on != std::this_thread::get_id());
}

TEST_CASE("each piece of work is done or reported as interrupted, never both", "[planning]") {
  const auto thread = start_thread();
  auto home = reactor::Reactor::create({});
  REQUIRE(home.ok());
  reactor::Reactor& reactor = **home;
  constexpr std::size_t kPieces = 200;
  std::vector<Status> statuses(kPieces, Status(ErrorCode::internal, "not run"));
  std::vector<int> works(kPieces, 0);
  std::vector<TestInterrupt> interrupts(kPieces);
  std::binary_semaphore first_may_end{0};
  {
    PlanningQueue queue(reactor, post_to(thread->reactor().mailbox()), post_to(reactor.mailbox()));
    reactor::Gate gate;
    const auto add = [&](std::size_t i) {
      interrupts[i].ended = i % 2 == 1;
      reactor.spawn(gate, run(
                              &queue,
                              [&works, &first_may_end, i] {
                                if (i == 0) first_may_end.acquire();
                                ++works[i];
                              },
                              &interrupts[i], &statuses[i]));
    };
    for (std::size_t i = 0; i < kPieces / 2; ++i) add(i);
    // While the first one holds the thread, each second one behind it ends.
    const auto last_ends = [](reactor::Reactor* on, const Status* status) -> Task<void> {
      while (status->code() != ErrorCode::query_canceled) co_await on->sleep_for(kMillisecond_ns);
    };
    reactor.run_until(last_ends(&reactor, &statuses[kPieces / 2 - 1]));
    first_may_end.release();
    for (std::size_t i = kPieces / 2; i < kPieces; ++i) add(i);
    const auto all_end = [](reactor::Gate* all) -> Task<void> { co_await all->close(); };
    reactor.run_until(all_end(&gate));
  }
  for (std::size_t i = 0; i < kPieces; ++i) {
    CAPTURE(i);
    CHECK(works[i] == (statuses[i].ok() ? 1 : 0));
    if (i % 2 == 0) CHECK(statuses[i].ok());
    if (i % 2 == 1 && i < kPieces / 2) CHECK(statuses[i].code() == ErrorCode::query_canceled);
  }
}

}  // namespace namdb::sql
