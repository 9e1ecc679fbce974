#include "common/fabric/served_region.h"

#include <utility>

namespace namdb::fabric {

void ServedRegion::run_own(Call& call) {
  call.begin();
  call.reply.clear();
  executor.spawn(gate, serve_own(&call));
}

reactor::Task<void> ServedRegion::serve_own(Call* call) {
  Status status = co_await service.on_call(0, call->method, call->request, call->reply);
  call->complete(executor, std::move(status));
}

}  // namespace namdb::fabric
