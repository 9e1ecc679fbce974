// SUNDIAL, as RCC runs it (its §4.5): logical leases, and a timestamp that is found when the transaction
// commits. Metadata, and why it is serializable: compute/protocol/timestamp_ordering/timestamp_ordering.h.
//
//   a version holds         from its timestamp to the record's lease, or to its timestamp if that is newer;
//                           records keep one version
//   the commit's timestamp  the oldest that will do: at least those of the versions that were read, newer
//                           than the leases of those that are displaced, than the floors, and than the last
//                           commit of its session. A row that others have overwritten since it was read does
//                           not conflict if its lease reaches that far.
//
// Timestamps start at 0 with the data, and there are no clocks. The serial order is that of timestamps, not
// of time: a transaction may go before one of another session that has already committed, as long as it has
// seen nothing of it. But each version that it reads was the newest one when it was read.
#pragma once

#include "compute/protocol/timestamp_ordering/timestamp_ordering.h"
#include "compute/txn/latest_committed.h"

namespace namdb::protocol {

class Sundial final : public TimestampOrdering {
 public:
  explicit Sundial(TransactionState& transaction)
      : TimestampOrdering(transaction), latest_(transaction.worker(), owner()) {
    order_with(latest_);
    timestamp_ = transaction.session().timestamp;
  }

 protected:
  void after(std::uint64_t timestamp) override { timestamp_ = std::max(timestamp_, timestamp); }

 private:
  LatestCommitted latest_;
};

}  // namespace namdb::protocol
