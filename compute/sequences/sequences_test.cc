// Sequences of two workers, over the test engine.
#include "compute/sequences/sequences.h"

#include <catch2/catch.hpp>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "common/reactor/testing/manual_executor.h"
#include "compute/sql/testing/fake_engine.h"

namespace namdb::txn {
namespace {

template <typename T>
reactor::Task<void> keep_result(reactor::Task<T> task, std::optional<T>* kept) {
  kept->emplace(co_await std::move(task));
}

// Of a sequence that fills a column with numbers up to `last`.
SequenceDefinition column_numbers(std::int64_t first, std::int64_t last) {
  SequenceDefinition definition;
  definition.start = first;
  definition.most = last;
  definition.value_bytes = bytes_for(last);
  definition.block_numbers = kColumnBlockNumbers;
  return definition;
}

struct SequencesTest {
  SequencesTest() : engine(executor), one(engine), two(engine) {}
  template <typename T>
  T run(reactor::Task<T> task) {
    std::optional<T> kept;
    executor.spawn(gate, keep_result(std::move(task), &kept));
    executor.run_until([&] { return kept.has_value(); });
    return std::move(*kept);
  }
  std::int64_t next(Sequences& worker) {
    const auto number = run(worker.next("s"));
    INFO(number.status().to_string());
    REQUIRE(number.ok());
    return *number;
  }

  sql::testing::ManualExecutor executor;
  sql::testing::FakeEngine engine;
  Sequences one;
  Sequences two;
  reactor::Gate gate;
};

}  // namespace

TEST_CASE("no number of a sequence is given twice, whichever worker asks", "[sequences]") {
  SequencesTest test;
  REQUIRE(test.run(test.one.create("s", column_numbers(1, INT64_MAX))).ok());
  std::set<std::int64_t> given;
  for (int i = 0; i < 100; ++i) {
    CHECK(given.insert(test.next(test.one)).second);
    CHECK(given.insert(test.next(test.two)).second);
  }
  CHECK(*given.begin() == 1);
  CHECK(*given.rbegin() <= 200 + 2 * kColumnBlockNumbers);
}

TEST_CASE("a sequence ends at its last number, and can be restarted and dropped", "[sequences]") {
  SequencesTest test;
  REQUIRE(test.run(test.one.create("s", column_numbers(5, 6))).ok());
  CHECK(test.run(test.one.create("s", column_numbers(1, 9))).code() == ErrorCode::duplicate_table);
  CHECK(test.next(test.one) == 5);
  CHECK(test.next(test.one) == 6);
  CHECK(test.run(test.one.next("s")).status().code() == ErrorCode::sequence_limit_exceeded);
  CHECK(test.run(test.one.restart("s", 7, false)).code() == ErrorCode::numeric_out_of_range);
  REQUIRE(test.run(test.one.restart("s", 6, true)).ok());
  CHECK(test.run(test.one.next("s")).status().code() == ErrorCode::sequence_limit_exceeded);
  REQUIRE(test.run(test.one.restart("s", 6, false)).ok());
  CHECK(test.next(test.one) == 6);
  REQUIRE(test.run(test.one.drop({"s", "none"})).ok());
  CHECK(test.run(test.one.next("s")).status().code() == ErrorCode::undefined_table);
  CHECK(test.run(test.two.restart("s", 1, true)).code() == ErrorCode::undefined_table);
}

TEST_CASE("a sequence with options steps, ends or goes round, and is altered", "[sequences]") {
  SequencesTest test;
  SequenceDefinition ring{
      .increment = 3, .least = 2, .most = 9, .start = 5, .block_numbers = 2, .cycles = true};
  REQUIRE(test.run(test.one.create("s", ring)).ok());
  CHECK(test.next(test.one) == 5);
  CHECK(test.next(test.two) == 2);  // a block of two numbers is with the other worker
  CHECK(test.next(test.one) == 8);
  CHECK(test.next(test.two) == 5);
  SequenceChange change;
  change.cycles = false;
  change.restarts = true;
  change.restart = 8;
  REQUIRE(test.run(test.one.alter("s", change)).ok());
  CHECK(test.next(test.one) == 8);
  CHECK(test.run(test.one.next("s")).status().code() == ErrorCode::sequence_limit_exceeded);
  change = {};
  change.most = 20;
  REQUIRE(test.run(test.one.alter("s", change)).ok());
  CHECK(test.next(test.one) == 11);
  change.most = 1;
  CHECK(test.run(test.one.alter("s", change)).code() == ErrorCode::invalid_parameter_value);
  CHECK(*test.run(test.one.exists("s")));
  CHECK_FALSE(*test.run(test.one.exists("t")));
}

TEST_CASE("a change of a sequence is known to every worker when it returns", "[sequences]") {
  SequencesTest test;
  REQUIRE(test.run(test.one.create("s", column_numbers(1, 1000))).ok());
  CHECK(test.next(test.one) == 1);
  CHECK(test.next(test.two) == 33);
  SECTION("setval") {
    REQUIRE(test.run(test.one.restart("s", 500, false)).ok());
    CHECK(test.next(test.two) == 500);
    CHECK(test.next(test.one) == 532);
  }
  SECTION("RESTART") {
    REQUIRE(test.run(test.one.restart_all({"s"})).ok());
    CHECK(test.next(test.two) == 1);
    CHECK(test.next(test.one) == 33);
  }
  SECTION("other bounds") {
    SequenceChange change;
    change.least = 700;
    change.start = 700;
    change.restarts = true;
    REQUIRE(test.run(test.one.alter("s", change)).ok());
    CHECK(test.next(test.two) == 700);
  }
  SECTION("dropped") {
    REQUIRE(test.run(test.one.drop({"s"})).ok());
    CHECK_FALSE(*test.run(test.two.exists("s")));
    CHECK(test.run(test.two.next("s")).status().code() == ErrorCode::undefined_table);
  }
  SECTION("dropped and made again") {
    REQUIRE(test.run(test.one.drop({"s"})).ok());
    REQUIRE(test.run(test.one.create("s", column_numbers(1, 1000))).ok());
    CHECK(test.next(test.two) == 1);
  }
}

TEST_CASE("a change waits for blocks that other workers may have, and only then", "[sequences]") {
  SequencesTest test;
  REQUIRE(test.run(test.one.create("s", column_numbers(1, 1000))).ok());
  const auto waits = [&test](reactor::Task<Status> change) {
    const std::uint64_t before_ns = test.executor.now_ns();
    REQUIRE(test.run(std::move(change)).ok());
    return test.executor.now_ns() - before_ns >= Sequences::kOutlasts_ns;
  };
  CHECK_FALSE(waits(test.one.restart("s", 5, false)));  // no number was taken yet
  CHECK(test.next(test.two) == 5);
  CHECK(waits(test.one.restart("s", 5, false)));
  REQUIRE(test.run(test.one.create("single", SequenceDefinition())).ok());
  CHECK(*test.run(test.two.next("single")) == 1);
  CHECK_FALSE(waits(test.one.restart("single", 1, false)));
}

TEST_CASE("an unused rest of a block is given later, if nobody has changed the sequence", "[sequences]") {
  SequencesTest test;
  REQUIRE(test.run(test.one.create("s", column_numbers(1, 1000))).ok());
  CHECK(test.next(test.one) == 1);
  test.executor.advance(10 * Sequences::kTrusted_ns);
  const std::size_t before = test.engine.begun_transactions();
  CHECK(test.next(test.one) == 2);
  CHECK(test.next(test.one) == 3);
  CHECK(test.engine.begun_transactions() == before + 1);  // it has looked once
}

TEST_CASE("the last number that was given decides how an altered sequence goes on", "[sequences]") {
  SequencesTest test;
  REQUIRE(test.run(test.one.create("s", SequenceDefinition())).ok());
  for (std::int64_t number = 1; number <= 5; ++number) CHECK(test.next(test.one) == number);
  SequenceChange change;
  change.most = 4;
  CHECK(test.run(test.one.alter("s", change)).code() == ErrorCode::invalid_parameter_value);
  change.most = 5;
  REQUIRE(test.run(test.one.alter("s", change)).ok());
  CHECK(test.run(test.one.next("s")).status().code() == ErrorCode::sequence_limit_exceeded);
  change = {};
  change.most = 100;
  change.increment = 10;
  REQUIRE(test.run(test.one.alter("s", change)).ok());
  CHECK(test.next(test.one) == 15);
  change = {};
  change.block_numbers = 4;
  REQUIRE(test.run(test.one.alter("s", change)).ok());
  CHECK(test.next(test.one) == 25);
  CHECK(test.next(test.two) == 65);
  CHECK(test.next(test.two) == 75);
}

TEST_CASE("tasks that ask for numbers at the same time take them together", "[sequences]") {
  SequencesTest test;
  REQUIRE(test.run(test.one.create("s", SequenceDefinition())).ok());
  test.engine.hold_fetches(true);
  const std::size_t before = test.engine.begun_transactions();
  std::vector<std::optional<Result<std::int64_t>>> numbers(20);
  for (auto& number : numbers) test.executor.spawn(test.gate, keep_result(test.one.next("s"), &number));
  test.executor.run_ready();
  test.engine.hold_fetches(false);
  test.executor.run_until([&] { return test.gate.count() == 0; });
  std::set<std::int64_t> given;
  for (const auto& number : numbers) {
    REQUIRE((number.has_value() && number->ok()));
    given.insert(**number);
  }
  CHECK((given.size() == 20 && *given.begin() == 1 && *given.rbegin() == 20));
  CHECK(test.engine.begun_transactions() <= before + 3);
}

}  // namespace namdb::txn
