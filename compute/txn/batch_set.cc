#include "compute/txn/batch_set.h"

#include <algorithm>

namespace namdb::txn {

bool BatchSet::empty() const {
  return std::all_of(batches_.begin(), batches_.end(),
                     [](const fabric::Batch& batch) { return batch.empty(); });
}

bool BatchSet::only(layout::ServerId server) const {
  for (std::size_t i = 0; i < batches_.size(); ++i) {
    if (i != server && !batches_[i].empty()) return false;
  }
  return true;
}

reactor::Task<Status> BatchSet::run(fabric::OperationCounters& counters) {
  bool posted = false;
  for (std::size_t i = 0; i < batches_.size(); ++i) {
    if (batches_[i].empty()) continue;
    counters.count(batches_[i].operations());
    cluster_.channel(static_cast<layout::ServerId>(i)).post(batches_[i]);
    posted = true;
  }
  if (posted) ++counters.round_trips;
  Status first;
  for (fabric::Batch& batch : batches_) {
    if (batch.empty()) continue;
    // Every batch is awaited, failed or not: its buffers belong to the channel until then.
    const Status& status = co_await batch.done();
    if (!status.ok() && first.ok()) first = status;
    batch.clear();
  }
  co_return first;
}

}  // namespace namdb::txn
