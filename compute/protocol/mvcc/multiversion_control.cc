#include "compute/protocol/mvcc/multiversion_control.h"

#include <deque>

#include "compute/cluster/catalog_cache.h"
#include "compute/txn/errors.h"
#include "compute/txn/lookup_runner.h"
#include "compute/txn/worker_protocol.h"

namespace namdb::protocol {

txn::TimestampClock& MultiversionControl::clock() const {
  return transaction().worker().cluster.timestamps();
}

reactor::Task<Status> MultiversionControl::prepare() {
  if (timestamp_ == 0) {
    clock().meet(transaction().session().timestamp);
    timestamp_ = clock().next();
  }
  co_return co_await CatalogVisibility::prepare();
}

ReadDecision MultiversionControl::check_visibility(const RecordRead& read) {
  if (ignores_locks()) return ReadDecision::visible;
  if (read.current && read.header.locked())
    return waits_ ? ReadDecision::locked_by_other : ReadDecision::conflict;
  // One READ shows words of different moments.
  if (read.current && read.header != read.body.header_word()) return ReadDecision::torn;
  const std::uint64_t timestamp = read.body.timestamp();
  if (timestamp >= timestamp_) {
    clock().meet(timestamp);
    if (has_read_) return ReadDecision::invisible;
    timestamp_ = clock().next();
  }
  has_read_ = true;
  return ReadDecision::visible;
}

Status MultiversionControl::may_write(const Access& access) const {
  if (access.lookup.current_is_visible()) return {};
  clock().meet(access.lookup.current().timestamp());
  return write_conflict(*access.table);
}

Status MultiversionControl::place() {
  if (newest_ <= timestamp_) return {};
  clock().meet(newest_);
  return Status(ErrorCode::serialization_failure,
                "could not serialize access: a newer transaction has read or written what this one writes");
}

reactor::Task<Status> MultiversionControl::check_again(const SeenRows* rows) {
  std::deque<Lookup> lookups;
  Lookups pointers;
  std::vector<storage::TableRef> tables;
  for (const SeenRow& row : *rows) {
    tables.push_back(transaction().worker().catalog.find_id(row.table));
    if (tables.back() == nullptr) co_return changed_reads();
    Lookup& lookup = lookups.emplace_back();
    lookup.start_at(transaction().worker(), *tables.back(), row.record, row.incarnation);
    pointers.push_back(&lookup);
  }
  // Their holders may wait for locks of this transaction.
  waits_ = false;
  LookupTables no_tables;
  const Status status = co_await run_lookups(&transaction(), std::move(pointers), std::move(no_tables));
  waits_ = true;
  if (!status.ok()) co_return status;
  for (std::size_t i = 0; i < rows->size(); ++i) {
    const Lookup& lookup = lookups[i];
    const bool present = lookup.state() == Lookup::State::present;
    const layout::Stamp version =
        present ? layout::decode_body_header(lookup.body().data()).stamp : layout::Stamp{};
    // A version that is still current has been locked meanwhile, and may be displaced at an older timestamp.
    if (!lookup.has_record() || lookup.current_is_visible() || version != (*rows)[i].version)
      co_return changed_reads();
  }
  co_return Status();
}

std::unique_ptr<WorkerProtocol> make_mvcc_protocol(txn::WorkerState& /*worker*/) {
  return std::make_unique<UnsharedProtocol<MultiversionControl>>();
}

}  // namespace namdb::protocol
