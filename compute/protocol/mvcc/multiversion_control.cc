#include "compute/protocol/mvcc/multiversion_control.h"

#include <algorithm>
#include <utility>

#include "common/layout/index_key.h"
#include "compute/cluster/catalog_cache.h"
#include "compute/txn/errors.h"
#include "compute/txn/lookup_runner.h"
#include "compute/txn/make_control.h"

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
  const bool own = read.current && read.header.locked() && read.header == owner().own_lock();
  if (read.current && read.header.locked() && !own)
    return waits_ ? owner().meet_lock(read.header) : ReadDecision::conflict;
  // One READ shows words of different moments.
  if (read.current && !own && read.header != read.body.header_word()) return ReadDecision::torn;
  const std::uint64_t timestamp = read.body.timestamp();
  if (timestamp >= timestamp_) {
    clock().meet(timestamp);
    if (has_read_ && !own) {
      has_read_older_ = true;
      return ReadDecision::invisible;
    }
    if (!has_read_) timestamp_ = clock().next();
  }
  // Of a row that it holds the transaction sees the current version: go_after_locked().
  has_read_ = has_read_ || !own;
  return ReadDecision::visible;
}

bool MultiversionControl::absence_is_certain(layout::HeaderWord chain_lock) {
  if (waits_ || CatalogVisibility::absence_is_certain(chain_lock))
    return CatalogVisibility::absence_is_certain(chain_lock);
  met_chain_lock_ = true;
  return true;
}

// As long as all versions that were read were current ones, they may still be so at a newer timestamp: the
// commit finds out.
Status MultiversionControl::go_after_locked(std::uint64_t newest) {
  if (newest < timestamp_) return {};
  clock().meet(newest);
  if (has_read_older_) return too_old();
  timestamp_ = clock().next();
  return {};
}

Status MultiversionControl::may_write(const Access& access) const {
  if (access.lookup.current_is_visible()) return {};
  clock().meet(access.lookup.current().timestamp());
  return write_conflict(*access.table);
}

Status MultiversionControl::place() {
  has_read_ = true;  // from now on the timestamp stays
  if (newest_ <= timestamp_) return {};
  clock().meet(newest_);
  return too_old();
}

Status MultiversionControl::too_old() {
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
  const Status status = co_await run_without_waiting(std::move(pointers));
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

reactor::Task<Status> MultiversionControl::check_entries(const SeenRange* range,
                                                         const std::vector<std::string>* entries) {
  const layout::IndexShape& shape = range->index->shape;
  std::vector<AbsentKey> keys;
  for (const std::string& entry : *entries) {
    auto key = layout::primary_key_of(shape, entry);
    if (!key) co_return changed_reads();
    keys.push_back({range->table, std::move(*key)});
  }
  SeenAgain seen;
  Status status = co_await look_again(&keys, &seen);
  if (!status.ok()) co_return status;
  for (std::size_t i = 0; i < seen.lookups.size(); ++i) {
    const Lookup& lookup = seen.lookups[i];
    if (lookup.state() != Lookup::State::present) continue;
    const layout::RowView row(lookup.table().schema, lookup.payload());
    if (layout::index_key(shape, row).bytes == (*entries)[i]) co_return changed_reads();
  }
  co_return Status();
}

reactor::Task<Status> MultiversionControl::check_keys(const std::vector<AbsentKey>* keys) {
  SeenAgain seen;
  Status status = co_await look_again(keys, &seen);
  if (!status.ok()) co_return status;
  const bool any_there = std::ranges::any_of(
      seen.lookups, [](const Lookup& lookup) { return lookup.state() == Lookup::State::present; });
  co_return any_there ? changed_reads() : Status();
}

reactor::Task<Status> MultiversionControl::look_again(const std::vector<AbsentKey>* keys, SeenAgain* seen) {
  Lookups pointers;
  for (const AbsentKey& absent : *keys) {
    seen->tables.push_back(transaction().worker().catalog.find_id(absent.table));
    if (seen->tables.back() == nullptr) co_return changed_reads();
    const storage::Table& table = *seen->tables.back();
    Lookup& lookup = seen->lookups.emplace_back();
    lookup.start(transaction().worker(), table, absent.key, table.hash_of(absent.key));
    pointers.push_back(&lookup);
  }
  Status status = co_await run_without_waiting(std::move(pointers));
  if (!status.ok()) co_return status;
  const auto is_gone = [](const Lookup& lookup) { return !lookup.has_record(); };
  if (std::ranges::any_of(seen->lookups, is_gone)) status = co_await check_forgotten();
  co_return status;
}

// Holders of locks may wait for locks of this transaction.
reactor::Task<Status> MultiversionControl::run_without_waiting(Lookups lookups) {
  waits_ = met_chain_lock_ = false;
  LookupTables no_tables;
  const Status status = co_await run_lookups(&transaction(), std::move(lookups), std::move(no_tables));
  waits_ = true;
  co_return status.ok() && met_chain_lock_ ? changed_reads() : status;
}

std::unique_ptr<ConcurrencyControl> make_mvcc_control(TransactionState& transaction) {
  return std::make_unique<MultiversionControl>(transaction);
}

}  // namespace namdb::protocol
