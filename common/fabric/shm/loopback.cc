#include "common/fabric/shm/loopback.h"

#include "common/fabric/shm/execute.h"

namespace namdb::fabric::shm {

LoopbackChannel::LoopbackChannel(ServedRegion& served) : Channel(served.executor), served_(served) {}

void LoopbackChannel::do_post(Batch& batch) {
  batch.begin();
  const ServerRegion& region = served_.region;
  for (const Operation& operation : batch.operations()) {
    failed_ = failed_ || (!operation_fits(operation, region.length_bytes) &&
                          !reads_growth(operation, region.capacity_bytes));
  }
  if (failed_) {
    return batch.complete(executor(), Status(ErrorCode::internal,
                                             "a one-sided operation is misaligned or outside of the region"));
  }
  execute_to_end(region.base, region.length_bytes, batch.operations());
  batch.complete(executor(), Status());
}

}  // namespace namdb::fabric::shm
