#include "compute/txn/backoff.h"

#include <catch2/catch.hpp>

namespace namdb::txn {
namespace {

constexpr std::uint64_t kAttempt_ns = 400'000;

// Of every `of` attempts, which take so long, `conflicts` meet one.
Backoff after(std::uint32_t conflicts, std::uint32_t of, std::uint64_t attempt_ns = kAttempt_ns) {
  Backoff backoff({});
  for (std::uint32_t i = 0; i < 1000; ++i) {
    backoff.begins();
    backoff.ended(attempt_ns);
    if (i % of < conflicts) backoff.met_conflict();
  }
  return backoff;
}

const RetryOptions kDefaults;

}  // namespace

TEST_CASE("pauses double up to a bound, and lie between its half and it", "[backoff]") {
  const Backoff backoff = after(9, 10);
  Random random(1);
  std::uint64_t last_ns = 0;
  for (std::uint32_t attempt = 1; attempt <= 64; ++attempt) {
    const std::uint64_t bound_ns = backoff.bound_ns(attempt);
    CHECK(bound_ns >= last_ns);
    CHECK(bound_ns <= kDefaults.max_backoff_ns);
    last_ns = bound_ns;
    for (int i = 0; i < 20; ++i) {
      const std::uint64_t pause_ns = backoff.pause_ns(attempt, random);
      CHECK(pause_ns >= bound_ns / 2);
      CHECK(pause_ns <= bound_ns);
    }
  }
  CHECK(last_ns > 10 * kAttempt_ns);
}

TEST_CASE("contention is the share of recent attempts that met conflicts", "[backoff]") {
  CHECK(after(0, 10).contention() == 0);
  for (const std::uint32_t tenths : {1U, 3U, 5U, 9U}) {
    const std::uint64_t share = after(tenths, 10).contention() * 100 / Backoff::kAll;
    CHECK(share >= 10 * tenths - 10);
    CHECK(share <= 10 * tenths + 10);
  }
  Backoff backoff = after(9, 10);
  for (int i = 0; i < 300; ++i) backoff.begins();
  CHECK(backoff.contention() < Backoff::kAll / 50);
}

TEST_CASE(
    "where many attempts meet conflicts the first retry waits longer, and where few do, the last one waits "
    "less",
    "[backoff]") {
  const Backoff calm = after(1, 100);
  const Backoff crowded = after(9, 10);
  CHECK(calm.bound_ns(1) < 2 * kDefaults.first_backoff_ns);
  CHECK(crowded.bound_ns(1) > 10 * kDefaults.first_backoff_ns);
  CHECK(calm.bound_ns(16) < kAttempt_ns);
  CHECK(crowded.bound_ns(16) > 10 * kAttempt_ns);
}

TEST_CASE(
    "a transaction that lost waits for as long as attempts of others take, without the time that clients "
    "think",
    "[backoff]") {
  CHECK(after(9, 10, 20'000).bound_ns(16) < 40 * 20'000);
  CHECK(after(9, 10, kSecond_ns).bound_ns(16) == kDefaults.max_backoff_ns);
  Backoff backoff = after(9, 10);
  const std::uint64_t before_ns = backoff.bound_ns(16);
  backoff.ended(100 * kSecond_ns);
  CHECK(backoff.bound_ns(16) < before_ns + before_ns / 4);
}

TEST_CASE("after very many conflicts the wait is long under any contention: the lock may have to be undone",
          "[backoff]") {
  for (const Backoff& backoff : {after(1, 100), after(9, 10), after(0, 10, 20'000)}) {
    std::uint64_t waited_ns = 0;
    for (std::uint32_t attempt = 1; attempt < kDefaults.max_attempts; ++attempt)
      waited_ns += backoff.bound_ns(attempt) / 2;
    CHECK(waited_ns > 150 * kMillisecond_ns);
  }
}

TEST_CASE("options that contradict each other bound a pause by the smaller one", "[backoff]") {
  Backoff backoff({.max_attempts = 1, .first_backoff_ns = 1'000'000, .max_backoff_ns = 10});
  backoff.met_conflict();
  CHECK(backoff.bound_ns(1) == 10);
  CHECK(backoff.bound_ns(50) == 10);
}

}  // namespace namdb::txn
