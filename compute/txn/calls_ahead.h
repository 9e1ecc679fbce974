// Calls whose replies are read ahead of their use, and so may not be wanted any more when they come. A call
// belongs to its channel until it has ended: until then it is kept here.
#pragma once

#include <memory>
#include <vector>

#include "common/fabric/fabric.h"
#include "common/reactor/executor.h"

namespace namdb::txn {

class CallsAhead {
 public:
  explicit CallsAhead(reactor::Executor& executor) : executor_(executor) {}

  // No task waits for the call any more. It may have ended.
  void abandon(std::unique_ptr<fabric::Call> call);
  // Waits for those that are under way; before destruction. Those that are abandoned afterwards, by
  // transactions that outlive their connection's end, are kept until this is destroyed, which is after the
  // cluster: channels complete what is pending when they end.
  reactor::Task<void> close();

 private:
  static reactor::Task<void> keep(std::unique_ptr<fabric::Call> call);
  reactor::Executor& executor_;
  reactor::Gate gate_;
  std::vector<std::unique_ptr<fabric::Call>> late_;
};

}  // namespace namdb::txn
