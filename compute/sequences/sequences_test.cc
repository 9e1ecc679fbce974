// Sequences of two workers, over the test engine.
#include "compute/sequences/sequences.h"

#include <catch2/catch.hpp>
#include <optional>
#include <set>
#include <utility>

#include "common/reactor/testing/manual_executor.h"
#include "compute/sql/testing/fake_engine.h"

namespace namdb::txn {
namespace {

template <typename T>
reactor::Task<void> keep_result(reactor::Task<T> task, std::optional<T>* kept) {
  kept->emplace(co_await std::move(task));
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
  REQUIRE(test.run(test.one.create("s", 1, INT64_MAX)).ok());
  std::set<std::int64_t> given;
  for (int i = 0; i < 100; ++i) {
    CHECK(given.insert(test.next(test.one)).second);
    CHECK(given.insert(test.next(test.two)).second);
  }
  CHECK(*given.begin() == 1);
  CHECK(*given.rbegin() <= 200 + 2 * Sequences::kBlockNumbers);
}

TEST_CASE("a sequence ends at its last number, and can be restarted and dropped", "[sequences]") {
  SequencesTest test;
  REQUIRE(test.run(test.one.create("s", 5, 6)).ok());
  CHECK(test.run(test.one.create("s", 1, 9)).code() == ErrorCode::duplicate_table);
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

}  // namespace namdb::txn
