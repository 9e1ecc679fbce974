// Multi-version concurrency control, as RCC runs it (its §4.4): a transaction takes its timestamp when it
// begins, and reads of every row the newest version that is older. Metadata, and why it is serializable:
// compute/protocol/timestamp_ordering/timestamp_ordering.h.
//
//   versions   a record keeps the last ones in its ring, which is overwritten round and round: a transaction
//              that finds its version gone aborts. Versions are neither moved nor freed.
//   reads      if a row's current version is older than the transaction, that version; the commit raises the
//              row's lease, or finds that all later versions are newer than the transaction (RCC raises the
//              lease when the row is read, with one more round trip). Otherwise the newest older version,
//              which cannot change any more. A transaction waits for a lock only until a commit that is under
//              way has installed.
//   writes     of rows whose versions and lease are all older than the transaction; else it aborts
//   clocks     are brought together by heartbeats and on demand (compute/cluster/timestamp_clock.h). A
//              transaction that meets a newer timestamp before it has read anything takes a newer one itself.
//
// The serial order is that of timestamps, not of time: where clocks are apart, a transaction may miss what
// another compute server has just committed; commits of its own session it never misses.
#pragma once

#include "compute/protocol/timestamp_ordering/timestamp_ordering.h"
#include "compute/txn/latest_committed.h"

namespace namdb::protocol {

class MultiversionControl final : public TimestampOrdering, public CatalogVisibility {
 public:
  explicit MultiversionControl(TransactionState& transaction)
      : TimestampOrdering(transaction), CatalogVisibility(transaction.worker()) {
    order_with(*this);
  }

  reactor::Task<Status> prepare() override;
  ReadDecision check_visibility(const RecordRead& read) override;
  Status may_write(const Access& access) const override;

 protected:
  void after(std::uint64_t timestamp) override { newest_ = std::max(newest_, timestamp); }
  Status place() override;
  reactor::Task<Status> check_again(const SeenRows* rows) override;

 private:
  txn::TimestampClock& clock() const;

  std::uint64_t newest_ = 0;  // the transaction must not be older
  bool has_read_ = false;
  bool waits_ = true;
};

}  // namespace namdb::protocol
