// Outcomes of commits, as their owners learn them.
#include "memory/coordinator/outcomes.h"

#include <catch2/catch.hpp>

namespace namdb::memory {

TEST_CASE("of a closed slot, what was finished or has a verdict is committed, all else is undone",
          "[outcomes]") {
  Outcomes outcomes;
  outcomes.closed(20, {.complete = true, .through = 3, .committed = {5}}, 0);
  CHECK(outcomes.of({20, 3}) == CommitOutcome::committed);
  CHECK(outcomes.of({20, 4}) == CommitOutcome::undone);
  CHECK(outcomes.of({20, 5}) == CommitOutcome::committed);
  CHECK(outcomes.of({20, 6}) == CommitOutcome::undone);
  CHECK(outcomes.of({21, 1}) == CommitOutcome::unknown);
}

TEST_CASE("verdicts that are not complete do not say that a commit was undone", "[outcomes]") {
  Outcomes outcomes;
  outcomes.closed(20, {.complete = false, .through = 3, .committed = {5}}, 0);
  CHECK(outcomes.of({20, 5}) == CommitOutcome::committed);
  CHECK(outcomes.of({20, 4}) == CommitOutcome::unknown);
}

TEST_CASE("outcomes are forgotten some time after the slot was closed", "[outcomes]") {
  Outcomes outcomes;
  outcomes.closed(20, {.complete = true, .through = 3, .committed = {}}, 0);
  outcomes.closed(21, {.complete = true, .through = 1, .committed = {}}, Outcomes::kKept_ns);
  CHECK(outcomes.of({20, 3}) == CommitOutcome::unknown);
  CHECK(outcomes.of({21, 1}) == CommitOutcome::committed);
}

}  // namespace namdb::memory
