#include "compute/protocol/mvcc/multiversion_rules.h"

#include <deque>

#include "compute/cluster/catalog_cache.h"
#include "compute/txn/errors.h"
#include "compute/txn/make_rules.h"

namespace namdb::protocol {

txn::TimestampClock& MultiversionRules::clock() const {
  return transaction().worker().cluster.timestamps();
}

reactor::Task<Status> MultiversionRules::prepare() {
  if (timestamp_ == 0) {
    clock().meet(transaction().session().timestamp);
    timestamp_ = clock().next();
  }
  co_return co_await TimestampRules::prepare();
}

Judgement MultiversionRules::judge(const SeenRecord& seen) {
  if (looks_through()) return Judgement::visible;
  if (seen.current && seen.header.locked()) return waits_ ? Judgement::held : Judgement::conflict;
  // One READ shows words of different moments.
  if (seen.current && seen.header != seen.body.header_word()) return Judgement::torn;
  const std::uint64_t timestamp = seen.body.timestamp();
  if (timestamp >= timestamp_) {
    clock().meet(timestamp);
    if (has_read_) return Judgement::invisible;
    timestamp_ = clock().next();
  }
  has_read_ = true;
  return Judgement::visible;
}

Status MultiversionRules::may_write(const Access& access) const {
  if (access.lookup.current_is_visible()) return {};
  clock().meet(access.lookup.current().timestamp());
  return write_conflict(*access.table);
}

Status MultiversionRules::place() {
  if (newest_ <= timestamp_) return {};
  clock().meet(newest_);
  return Status(ErrorCode::serialization_failure,
                "could not serialize access: a newer transaction has read or written what this one writes");
}

reactor::Task<Status> MultiversionRules::look_again(const SeenRows* rows) {
  std::deque<Lookup> lookups;
  reactor::PooledVector<Lookup*> pointers;
  std::vector<storage::TableRef> tables;
  for (const SeenRow& row : *rows) {
    tables.push_back(transaction().worker().catalog.find_id(row.table));
    if (tables.back() == nullptr) co_return changed_reads();
    Lookup& lookup = lookups.emplace_back();
    lookup.start_at(transaction().worker(), *tables.back(), row.record, row.incarnation);
    pointers.push_back(&lookup);
  }
  // Who holds them may wait for what this transaction holds.
  waits_ = false;
  reactor::PooledVector<const storage::Table*> no_tables;
  const Status status = co_await transaction().run_lookups(std::move(pointers), std::move(no_tables));
  waits_ = true;
  if (!status.ok()) co_return status;
  for (std::size_t i = 0; i < rows->size(); ++i) {
    const Lookup& lookup = lookups[i];
    const bool present = lookup.state() == Lookup::State::present;
    const layout::Stamp version =
        present ? layout::decode_body_header(lookup.body().data()).stamp : layout::Stamp{};
    // What is still the current one has been locked meanwhile, and may be changed at an older timestamp.
    if (!lookup.has_record() || lookup.current_is_visible() || version != (*rows)[i].version)
      co_return changed_reads();
  }
  co_return Status();
}

std::unique_ptr<Rules> make_mvcc_rules(StagedTransaction& transaction) {
  return std::make_unique<MultiversionRules>(transaction);
}

}  // namespace namdb::protocol
