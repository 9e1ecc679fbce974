// Calls that no task waits for any more belong to their channel until they have ended.
#include "compute/txn/calls_ahead.h"

#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <utility>

#include "common/reactor/testing/manual_executor.h"

namespace namdb::txn {
namespace calls_ahead_test {

void close(reactor::Executor& executor, reactor::Gate& gate, CallsAhead& calls) {
  executor.spawn(gate, calls.close());
}

TEST_CASE("the end of a connection waits for calls that were abandoned, and later ones are kept",
          "[calls_ahead]") {
  reactor::testing::ManualExecutor executor;
  std::optional<CallsAhead> calls(std::in_place, executor);
  auto before = std::make_unique<fabric::Call>();
  auto after = std::make_unique<fabric::Call>();
  fabric::Call& call_before = *before;
  fabric::Call& call_after = *after;
  call_before.begin();
  call_after.begin();

  calls->abandon(std::move(before));
  reactor::Gate gate;
  close(executor, gate, *calls);
  executor.run_ready();
  CHECK(gate.count() == 1);
  call_before.complete(executor, Status());
  executor.run_ready();
  CHECK(gate.count() == 0);

  calls->abandon(std::move(after));
  executor.run_ready();
  // As a channel does when it ends, which is before this.
  call_after.complete(executor, Status(ErrorCode::connection_failure, "the channel has ended"));
  calls.reset();
}

}  // namespace calls_ahead_test
}  // namespace namdb::txn
