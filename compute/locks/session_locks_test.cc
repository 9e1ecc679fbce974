// Locks of sessions on two workers, over the test engine.
#include "compute/locks/session_locks.h"

#include <catch2/catch.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "common/reactor/testing/manual_executor.h"
#include "compute/sql/testing/fake_engine.h"

namespace namdb::txn {
namespace {

using Scope = SessionLocks::Scope;

template <typename T>
reactor::Task<void> keep_result(reactor::Task<T> task, std::optional<T>* kept) {
  kept->emplace(co_await std::move(task));
}

reactor::Task<void> note_end(reactor::Task<void> task, bool* ended) {
  co_await std::move(task);
  *ended = true;
}

struct LocksTest {
  LocksTest() : engine(executor), one(engine), two(engine) {}
  ~LocksTest() {
    run(one.close());
    run(two.close());
  }
  template <typename T>
  T run(reactor::Task<T> task) {
    std::optional<T> kept;
    executor.spawn(gate, keep_result(std::move(task), &kept));
    executor.run_until([&] { return kept.has_value(); });
    return std::move(*kept);
  }
  void run(reactor::Task<void> task) {
    bool ended = false;
    executor.spawn(gate, note_end(std::move(task), &ended));
    executor.run_until([&] { return ended; });
  }
  bool takes(SessionLocks& session, LockName name, Scope scope = Scope::session,
             LockMode mode = LockMode::exclusive) {
    const auto taken = run(session.try_take(name, mode, scope));
    INFO(taken.status().to_string());
    REQUIRE(taken.ok());
    return *taken;
  }
  bool shares(SessionLocks& session, LockName name, Scope scope = Scope::session) {
    return takes(session, name, scope, LockMode::shared);
  }
  void settle(SessionLocks& session) { run(session.settle()); }

  sql::testing::ManualExecutor executor;
  sql::testing::FakeEngine engine;
  reactor::Gate gate;
  NamedLocks one;
  NamedLocks two;
};

constexpr LockName kSeven{0, 7};

}  // namespace

TEST_CASE("one session holds a lock, until it has given it back as often as it took it", "[locks]") {
  LocksTest test;
  SessionLocks first(test.one);
  SessionLocks second(test.two);
  CHECK(test.takes(first, kSeven));
  CHECK(test.takes(first, kSeven));
  CHECK_FALSE(test.takes(second, kSeven));
  CHECK(test.takes(second, {1, 7}));
  CHECK(first.give_back(kSeven, LockMode::exclusive));
  test.settle(first);
  CHECK_FALSE(test.takes(second, kSeven));
  CHECK(first.give_back(kSeven, LockMode::exclusive));
  CHECK_FALSE(first.give_back(kSeven, LockMode::exclusive));
  test.settle(first);
  CHECK(test.takes(second, kSeven));
  CHECK_FALSE(test.takes(first, kSeven));
}

TEST_CASE("a lock of the transaction ends with it, and one of the session does not", "[locks]") {
  LocksTest test;
  SessionLocks first(test.one);
  SessionLocks second(test.two);
  CHECK(test.takes(first, kSeven, Scope::transaction));
  CHECK(test.takes(first, {0, 8}, Scope::transaction));
  CHECK(test.takes(first, {0, 8}));
  CHECK_FALSE(first.give_back(kSeven, LockMode::exclusive));
  first.end_transaction();
  test.settle(first);
  CHECK(test.takes(second, kSeven));
  CHECK_FALSE(test.takes(second, {0, 8}));
  first.give_back_all();
  test.settle(first);
  CHECK(test.takes(second, {0, 8}));
}

TEST_CASE("a session that ends gives its locks back, also where commits meet conflicts", "[locks]") {
  LocksTest test;
  SessionLocks second(test.two);
  {
    SessionLocks first(test.one);
    CHECK(test.takes(first, kSeven));
    test.engine.fail_commits(3, ErrorCode::serialization_failure);
  }
  const auto check = [](std::uint64_t) { return Status(); };
  CHECK(test.run(second.take(kSeven, LockMode::exclusive, Scope::session, check)).ok());
}

TEST_CASE("an attempt that is made again takes its locks anew", "[locks]") {
  LocksTest test;
  SessionLocks first(test.one);
  SessionLocks second(test.two);
  first.begin_attempt();
  CHECK(test.takes(first, kSeven));
  first.undo_attempt();
  CHECK(test.takes(first, kSeven));
  CHECK(first.give_back(kSeven, LockMode::exclusive));
  test.settle(first);
  CHECK(test.takes(second, kSeven));
}

TEST_CASE("the locks of a worker whose slot has ended are free", "[locks]") {
  LocksTest test;
  SessionLocks first(test.one);
  SessionLocks second(test.two);
  CHECK(test.takes(first, kSeven));
  test.engine.end_slot();
  CHECK(test.takes(second, kSeven));
  // The first session has lost it.
  CHECK_FALSE(first.give_back(kSeven, LockMode::exclusive));
  CHECK_FALSE(test.takes(first, kSeven));
}

TEST_CASE("sessions share a lock, and nobody else has it until all have given it back", "[locks]") {
  LocksTest test;
  SessionLocks sessions[] = {SessionLocks(test.one), SessionLocks(test.two), SessionLocks(test.one)};
  SessionLocks other(test.two);
  for (SessionLocks& session : sessions) CHECK(test.shares(session, kSeven));
  CHECK(test.shares(sessions[0], kSeven));
  CHECK_FALSE(test.takes(other, kSeven));
  // A session that shares it with others cannot have it alone.
  CHECK_FALSE(test.takes(sessions[1], kSeven));
  CHECK_FALSE(sessions[1].give_back(kSeven, LockMode::exclusive));
  for (SessionLocks& session : sessions) {
    CHECK_FALSE(test.takes(other, kSeven));
    CHECK(session.give_back(kSeven, LockMode::shared));
    test.settle(session);
  }
  CHECK_FALSE(sessions[1].give_back(kSeven, LockMode::shared));
  CHECK_FALSE(test.takes(other, kSeven));
  CHECK(sessions[0].give_back(kSeven, LockMode::shared));
  test.settle(sessions[0]);
  CHECK(test.takes(other, kSeven));
  CHECK_FALSE(test.shares(sessions[2], kSeven));
}

TEST_CASE("a session has a lock alone and shared, and keeps it shared", "[locks]") {
  LocksTest test;
  SessionLocks first(test.one);
  SessionLocks second(test.two);
  CHECK(test.shares(first, kSeven));
  CHECK(test.takes(first, kSeven, Scope::transaction));
  CHECK_FALSE(test.shares(second, kSeven));
  first.end_transaction();
  test.settle(first);
  CHECK(test.shares(second, kSeven));
  CHECK_FALSE(test.takes(first, kSeven));
  second.give_back_all();
  test.settle(second);
  CHECK(test.takes(first, kSeven));
  CHECK(first.give_back(kSeven, LockMode::shared));
  CHECK_FALSE(test.shares(second, kSeven));
  CHECK(first.give_back(kSeven, LockMode::exclusive));
  test.settle(first);
  CHECK(test.takes(second, kSeven));
}

TEST_CASE("those that share a lock and have ended keep nobody from it", "[locks]") {
  LocksTest test;
  SessionLocks first(test.one);
  SessionLocks second(test.one);
  SessionLocks third(test.two);
  SessionLocks fourth(test.two);
  CHECK(test.shares(first, kSeven));
  CHECK(test.shares(second, kSeven));
  test.engine.end_slot();
  CHECK(test.shares(third, kSeven));
  CHECK(test.shares(fourth, kSeven));
  CHECK_FALSE(first.give_back(kSeven, LockMode::shared));
  CHECK(fourth.give_back(kSeven, LockMode::shared));
  test.settle(fourth);
  CHECK(test.takes(third, kSeven));
}

TEST_CASE("a wait for a lock ends in the session's error", "[locks]") {
  LocksTest test;
  SessionLocks first(test.one);
  SessionLocks second(test.two);
  CHECK(test.takes(first, kSeven));
  const auto check = [](std::uint64_t) { return Status(ErrorCode::query_canceled, "no more"); };
  CHECK(test.run(second.take(kSeven, LockMode::exclusive, Scope::session, check)).code() ==
        ErrorCode::query_canceled);
  CHECK(second.is_settled());
}

}  // namespace namdb::txn
