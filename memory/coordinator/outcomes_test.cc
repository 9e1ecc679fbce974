// Outcomes of commits, as their owners learn them.
#include "memory/coordinator/outcomes.h"

#include <catch2/catch.hpp>

namespace namdb::memory {

TEST_CASE("of a closed slot, what was finished or has a verdict is committed, all else is undone",
          "[outcomes]") {
  Outcomes outcomes;
  outcomes.closed(20, {.complete = true, .through = 3, .committed = {5}}, 0);
  CHECK(outcomes.of({20, 3}, false, 1) == CommitOutcome::committed);
  CHECK(outcomes.of({20, 4}, false, 1) == CommitOutcome::undone);
  CHECK(outcomes.of({20, 5}, false, 1) == CommitOutcome::committed);
  CHECK(outcomes.of({20, 6}, false, 1) == CommitOutcome::undone);
  CHECK(outcomes.of({21, 1}, false, 1) == CommitOutcome::unknown);
}

TEST_CASE("verdicts that are not complete do not say that a commit was undone", "[outcomes]") {
  Outcomes outcomes;
  outcomes.closed(20, {.complete = false, .through = 3, .committed = {5}}, 0);
  CHECK(outcomes.of({20, 5}, false, 1) == CommitOutcome::committed);
  CHECK(outcomes.of({20, 4}, false, 1) == CommitOutcome::unknown);
}

TEST_CASE("after a restart a slot that was cut off without an entry has committed nothing more",
          "[outcomes]") {
  Outcomes outcomes;
  CHECK(outcomes.of({20, 1}, true, 1) == CommitOutcome::unknown);  // the log was not read as a whole
  outcomes.opened(7);
  CHECK(outcomes.of({20, 1}, true, 8) == CommitOutcome::undone);
  CHECK(outcomes.of({20, 1}, false, 8) == CommitOutcome::unknown);  // closed before the restart
  CHECK(outcomes.of({20, 1}, true, 7 + Outcomes::kKept_ns) == CommitOutcome::unknown);
}

TEST_CASE("outcomes are forgotten some time after the slot was closed", "[outcomes]") {
  Outcomes outcomes;
  outcomes.closed(20, {.complete = true, .through = 3, .committed = {}}, 0);
  outcomes.closed(21, {.complete = true, .through = 1, .committed = {}}, Outcomes::kKept_ns);
  CHECK(outcomes.of({20, 3}, false, Outcomes::kKept_ns) == CommitOutcome::unknown);
  CHECK(outcomes.of({21, 1}, false, Outcomes::kKept_ns) == CommitOutcome::committed);
}

}  // namespace namdb::memory
