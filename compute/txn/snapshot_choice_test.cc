#include "compute/txn/snapshot_choice.h"

#include <catch2/catch.hpp>

namespace namdb::txn {
namespace {

// Of so many snapshots, how many are taken by a call, if every confirmation ends like this.
int calls_of(SnapshotChoice& choice, int snapshots, bool confirmed) {
  int calls = 0;
  for (int i = 0; i < snapshots; ++i) {
    if (choice.use_call()) {
      ++calls;
    } else {
      choice.note(confirmed);
    }
  }
  return calls;
}

}  // namespace

TEST_CASE("READs or calls are kept to where they were chosen") {
  SnapshotChoice reads(SnapshotMode::reads);
  CHECK(calls_of(reads, 100, false) == 0);
  SnapshotChoice call(SnapshotMode::call);
  CHECK(calls_of(call, 100, true) == 100);
}

TEST_CASE("snapshots are taken by call while confirmations fail, and by READs again when they do not") {
  SnapshotChoice choice(SnapshotMode::adaptive);
  CHECK(calls_of(choice, 100, true) == 0);
  // A single failure changes nothing.
  choice.note(false);
  CHECK(!choice.use_call());
  calls_of(choice, 100, false);
  const int calls = calls_of(choice, 1700, false);
  CHECK(calls == 1600);  // one of seventeen is a try
  calls_of(choice, 1700, true);
  CHECK(calls_of(choice, 100, true) == 0);
}

}  // namespace namdb::txn
