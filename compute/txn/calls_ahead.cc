#include "compute/txn/calls_ahead.h"

#include <utility>

namespace namdb::txn {

void CallsAhead::abandon(std::unique_ptr<fabric::Call> call) {
  if (!call->pending()) return;
  if (gate_.closing()) return late_.push_back(std::move(call));
  executor_.spawn(gate_, keep(std::move(call)));
}

reactor::Task<void> CallsAhead::keep(std::unique_ptr<fabric::Call> call) {
  co_await call->done();
}

reactor::Task<void> CallsAhead::close() {
  co_await gate_.close();
}

}  // namespace namdb::txn
