// Multi-version concurrency control, as RCC runs it (its §4.4): a transaction takes its timestamp when it
// begins, and reads of every row the newest version that is older. Metadata, and why it is serializable:
// compute/protocol/timestamp_ordering/timestamp_ordering.h.
//
//   versions   a record keeps the last ones in its ring, which is overwritten round and round: a transaction
//              that finds its version gone aborts. Versions are neither moved nor freed.
//   reads      of a row whose current version is older than the transaction, that one; the commit raises the
//              row's lease, or finds that all later versions are newer than the transaction (RCC raises it
//              when the row is read: a round trip more). Of another row the newest older version, which
//              cannot change any more. A transaction waits for a lock only until a commit that is under way
//              has installed.
//   ranges     of indexes are read again at commit, once their table's floor has reached the transaction:
//              commits that lock anything after that are newer. A new entry is a conflict only if its row has
//              these values in the version that the transaction sees. Likewise a key that was not there
//   writes     of rows whose versions and lease are all older than the transaction; else it aborts
//   clocks     are brought together by heartbeats and on demand (compute/cluster/timestamp_clock.h). A
//              transaction that meets a newer timestamp before it has read anything takes a newer one itself.
//
// The serial order is that of timestamps, not of time: where clocks are apart, a transaction may miss what
// another compute server has just committed; commits of its own session it never misses.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "compute/protocol/timestamp_ordering/timestamp_ordering.h"
#include "compute/txn/latest_committed.h"

namespace namdb::protocol {

class MultiversionControl final : public TimestampOrdering, public CatalogVisibility, private NewRows {
 public:
  explicit MultiversionControl(TransactionState& transaction)
      : TimestampOrdering(transaction), CatalogVisibility(transaction.worker()) {
    order_with(*this);
  }

  reactor::Task<Status> prepare() override;
  ReadDecision check_visibility(const RecordRead& read) override;
  bool absence_is_certain(layout::HeaderWord chain_lock) override;
  bool holds(layout::GlobalAddress record) const override { return owner().has_locked(record); }
  Status may_write(const Access& access) const override;
  Status go_after_locked(std::uint64_t newest) override;
  void read_beside(txn::BatchSet& batches) override { read_forgotten(batches); }
  void have_read() override { saw_forgotten(); }

 protected:
  void after(std::uint64_t timestamp) override { newest_ = std::max(newest_, timestamp); }
  Status place() override;
  reactor::Task<Status> check_again(const SeenRows* rows) override;
  NewRows* new_rows() override { return this; }

 private:
  // An entry counts if its row has these values in the version that the transaction sees.
  reactor::Task<Status> check_entries(const SeenRange* range,
                                      const std::vector<std::string>* entries) override;
  reactor::Task<Status> check_keys(const std::vector<AbsentKey>* keys) override;
  // Looks for these rows as they are at the transaction's timestamp. Where there is no record now, nothing
  // must have been forgotten that may have been one then.
  struct SeenAgain {
    std::vector<storage::TableRef> tables;
    std::deque<Lookup> lookups;
  };
  reactor::Task<Status> look_again(const std::vector<AbsentKey>* keys, SeenAgain* seen);
  reactor::Task<Status> run_without_waiting(Lookups lookups);
  txn::TimestampClock& clock() const;
  static Status too_old();

  std::uint64_t newest_ = 0;  // the transaction must not be older
  bool has_read_ = false;
  bool has_read_older_ = false;  // than the current one: its timestamp stays
  bool waits_ = true;
  bool met_chain_lock_ = false;  // while it does not wait
};

}  // namespace namdb::protocol
