// Outcomes of transactions that were given ids, over the test engine.
#include "compute/outcome/transaction_ids.h"

#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "common/reactor/testing/manual_executor.h"
#include "compute/sql/testing/fake_engine.h"

namespace namdb::txn {
namespace {

using Known = std::optional<TransactionOutcome>;

template <typename T>
reactor::Task<void> keep(reactor::Task<T> task, std::optional<T>* kept) {
  kept->emplace(co_await std::move(task));
}

struct Subject {
  Subject() : engine(executor), ids(engine, [this] { return now_us; }), session(engine.open_session()) {}
  ~Subject() {
    executor.spawn(gate, ids.close());
    executor.run_until([this] { return gate.count() == 0; });
  }
  template <typename T>
  T run(reactor::Task<T> task) {
    std::optional<T> kept;
    executor.spawn(gate, keep(std::move(task), &kept));
    executor.run_until([&] { return kept.has_value(); });
    return std::move(*kept);
  }
  std::unique_ptr<Transaction> begin() { return engine.begin(*session); }
  std::int64_t give(Transaction* transaction) {
    const auto id = run(ids.give(transaction));
    REQUIRE(id.ok());
    return *id;
  }
  Known outcome(std::int64_t id) {
    const auto known = run(ids.outcome(id));
    REQUIRE(known.ok());
    return *known;
  }

  sql::testing::ManualExecutor executor;
  sql::testing::FakeEngine engine;
  std::int64_t now_us = 2 * TransactionIds::kKept_us;
  TransactionIds ids;
  std::unique_ptr<Session> session;
  reactor::Gate gate;
};

}  // namespace

TEST_CASE("a transaction is in progress, then committed, also when its slot has ended", "[outcome]") {
  Subject subject;
  CHECK(subject.outcome(1) == std::nullopt);  // there is no table yet
  const auto transaction = subject.begin();
  const std::int64_t id = subject.give(transaction.get());
  CHECK(id > 0);
  CHECK(subject.outcome(id) == TransactionOutcome::in_progress);
  REQUIRE(subject.run(transaction->commit()).ok());
  CHECK(subject.outcome(id) == TransactionOutcome::committed);
  subject.engine.end_slot();
  CHECK(subject.outcome(id) == TransactionOutcome::committed);
  CHECK(subject.outcome(id ^ 1) == std::nullopt);
}

TEST_CASE("a transaction that ended without a commit is aborted", "[outcome]") {
  Subject subject;
  auto transaction = subject.begin();
  const std::int64_t id = subject.give(transaction.get());
  transaction.reset();
  subject.ids.aborted(id);
  subject.executor.run_ready();
  CHECK(subject.outcome(id) == TransactionOutcome::aborted);
}

TEST_CASE("a transaction whose slot has ended is aborted, and does not commit after that was said",
          "[outcome]") {
  Subject subject;
  const auto transaction = subject.begin();
  const std::int64_t id = subject.give(transaction.get());
  subject.engine.end_slot();
  CHECK(subject.outcome(id) == TransactionOutcome::aborted);
  CHECK_FALSE(subject.run(transaction->commit()).ok());
  CHECK(subject.outcome(id) == TransactionOutcome::aborted);
}

TEST_CASE("a commit whose record of its id failed, or is not known, is followed by another id", "[outcome]") {
  Subject subject;
  const ErrorCode code = GENERATE(ErrorCode::unknown_outcome, ErrorCode::serialization_failure);
  const auto transaction = subject.begin();
  subject.engine.fail_commits(2, code);
  const std::int64_t id = subject.give(transaction.get());
  CHECK(subject.outcome(id) == TransactionOutcome::in_progress);
  REQUIRE(subject.run(transaction->commit()).ok());
  CHECK(subject.outcome(id) == TransactionOutcome::committed);
}

TEST_CASE("outcomes are forgotten some time after ids were given, and not before", "[outcome]") {
  Subject subject;
  std::vector<std::int64_t> old;
  for (int i = 0; i < 300; ++i) {
    const auto transaction = subject.begin();
    old.push_back(subject.give(transaction.get()));
    if (i % 2 == 0) REQUIRE(subject.run(transaction->commit()).ok());
  }
  subject.now_us += TransactionIds::kKept_us / 2;
  const auto younger = subject.begin();
  const std::int64_t id = subject.give(younger.get());
  REQUIRE(subject.run(younger->commit()).ok());
  subject.executor.run_ready();
  CHECK(subject.outcome(old.front()) == TransactionOutcome::committed);
  CHECK(subject.outcome(old.back()) == TransactionOutcome::in_progress);
  subject.now_us += TransactionIds::kKept_us / 2 + 1;
  const auto last = subject.begin();
  subject.give(last.get());
  subject.executor.run_ready();
  for (const std::int64_t each : old) CHECK(subject.outcome(each) == std::nullopt);
  CHECK(subject.outcome(id) == TransactionOutcome::committed);
}

TEST_CASE("a table of somebody else is not written to", "[outcome]") {
  Subject subject;
  TableDefinition other;
  other.name = TransactionIds::kTable;
  other.schema = std::move(*layout::Schema::create({{.name = "id"}}, {0}));
  REQUIRE(subject.run(subject.engine.create_table(std::move(other))).ok());
  const auto transaction = subject.begin();
  const auto id = subject.run(subject.ids.give(transaction.get()));
  REQUIRE_FALSE(id.ok());
  CHECK(id.status().code() == ErrorCode::wrong_object_type);
  CHECK(subject.outcome(1) == std::nullopt);
}

}  // namespace namdb::txn
