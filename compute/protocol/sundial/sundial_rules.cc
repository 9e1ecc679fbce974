#include "compute/protocol/sundial/sundial_rules.h"

#include <algorithm>
#include <deque>

#include "common/layout/region_map.h"
#include "compute/protocol/stages/chain_locks.h"
#include "compute/txn/lock_resolver.h"

namespace namdb::protocol {

using layout::GlobalAddress;
using layout::HeaderWord;

namespace {

Status changed() {
  return Status(ErrorCode::serialization_failure,
                "could not serialize access: what the transaction has read was changed by another one");
}

// The newest timestamp at which somebody counts on the version.
std::uint64_t held_until(const Lookup& lookup) {
  return std::max(lookup.lease(), lookup.current().timestamp());
}

}  // namespace

// A word that is raised to the timestamp, and the header word that is looked at behind that, if any.
struct SundialRules::Renewal {
  GlobalAddress word;
  std::uint64_t known;
  const Access* row;  // null: a floor
  fabric::LocalBuffer words;
  bool done = false;
};

SundialRules::SundialRules(StagedTransaction& transaction)
    : OptimisticRules(transaction, {.validates_reads = true, .has_timestamps = true}),
      timestamp_(transaction.session().timestamp) {}

bool SundialRules::give_up(std::uint64_t /*generation*/, const Status& outcome, bool /*wrote*/) {
  SessionState& session = transaction().session();
  if (outcome.ok()) session.timestamp = std::max(session.timestamp, timestamp_);
  return false;
}

GlobalAddress SundialRules::floor_of(std::size_t server) const {
  return {static_cast<layout::ServerId>(server), layout::kTimestampFloor_offset};
}

void SundialRules::saw_record(const Lookup& lookup) {
  if (lookup.has_record()) after(lookup.current().timestamp());
  OptimisticRules::saw_record(lookup);
}

void SundialRules::saw_latest(const Lookup& lookup) {
  if (lookup.has_record()) after(lookup.current().timestamp());
}

void SundialRules::behind_lock(const Access& access, txn::BatchSet& batches) {
  const GlobalAddress record = access.lookup.record();
  displaced_.push_back({access.lookup.current().timestamp(),
                        fabric::LocalBuffer(transaction().worker().cluster.pool(), 8), record.server()});
  batches.read(record + access.table->record.lease_offset(), displaced_.back().lease.data(), 8);
}

void SundialRules::add_floor_reads(txn::BatchSet& batches) {
  txn::Cluster& cluster = transaction().worker().cluster;
  if (!floors_) floors_ = fabric::LocalBuffer(cluster.pool(), 8 * cluster.server_count());
  for (std::size_t server = 0; server < cluster.server_count(); ++server)
    batches.read(floor_of(server), floors_.data() + 8 * server, 8);
}

// Those of all servers: on one that nothing is written to it costs no round trip more.
void SundialRules::behind_locks(txn::BatchSet& batches) {
  if (!displaced_.empty()) add_floor_reads(batches);
}

void SundialRules::after_floors() {
  const std::size_t servers = transaction().worker().cluster.server_count();
  for (std::size_t server = 0; server < servers; ++server)
    after(layout::load_word(floors_.data() + 8 * server) + 1);
}

reactor::Task<Status> SundialRules::read_floors() {
  txn::BatchSet batches(transaction().worker().cluster);
  add_floor_reads(batches);
  const Status status = co_await batches.run(transaction().mutable_counters(), layout::Stage::validate);
  if (!status.ok()) co_return lost_connection();
  after_floors();
  co_return Status();
}

void SundialRules::add_reads(bool commits, reactor::PooledVector<const Access*>* by_key) {
  for (const Access& access : transaction().accesses()) {
    if (!access.fetched() || (commits && access.write != WriteKind::none)) continue;
    if (!access.lookup.has_record()) {
      saw_record(access.lookup);
      continue;
    }
    after(access.lookup.current().timestamp());
    by_key->push_back(&access);
  }
}

reactor::Task<Status> SundialRules::validate(const Locked& locked) {
  reactor::PooledVector<const Access*> by_key;
  add_reads(true, &by_key);
  for (const Displaced& displaced : displaced_)
    after(std::max(layout::load_word(displaced.lease.data()), displaced.timestamp) + 1);
  // Chains may have been locked, and entries added, behind the floors that were READ along.
  const bool floors_are_old = !locked.chains.empty() || locked.changes_indexes || !floors_;
  const bool raises_floors = !read_set().empty() || locked.leaves_entries;
  Status status;
  if (floors_are_old || raises_floors) {
    status = co_await read_floors();
  } else {
    after_floors();
  }
  if (status.ok()) status = co_await raise(&by_key, raises_floors);
  if (!status.ok() || read_set().empty()) co_return status;
  co_return co_await read_set().validate(&transaction(), own_lock(), &locked.chains);
}

reactor::Task<Status> SundialRules::confirm_reads() {
  const ReadSet::Mark mark = read_set().mark();
  reactor::PooledVector<const Access*> by_key;
  add_reads(false, &by_key);
  Status status;
  const bool floors = !read_set().empty();
  if (floors) status = co_await read_floors();
  if (status.ok()) status = co_await raise(&by_key, floors);
  if (status.ok() && floors) status = co_await read_set().validate(&transaction(), own_lock(), nullptr);
  read_set().forget(mark);
  co_return status;
}

reactor::Task<Status> SundialRules::raise(const reactor::PooledVector<const Access*>* by_key, bool floors) {
  txn::Cluster& cluster = transaction().worker().cluster;
  std::deque<Renewal> renewals;
  for (const Access* const row : *by_key) {
    if (held_until(row->lookup) >= timestamp_) continue;
    renewals.push_back({row->lookup.record() + row->table->record.lease_offset(), row->lookup.lease(), row,
                        fabric::LocalBuffer(cluster.pool(), 16)});
  }
  for (std::size_t server = 0; floors && server < cluster.server_count(); ++server) {
    renewals.push_back({floor_of(server), layout::load_word(floors_.data() + 8 * server), nullptr,
                        fabric::LocalBuffer(cluster.pool(), 16)});
  }
  txn::BatchSet batches(cluster);
  while (!renewals.empty()) {
    for (Renewal& renewal : renewals) {
      batches.compare_and_swap(renewal.word, renewal.known, timestamp_, renewal.words.data());
      if (renewal.row != nullptr) batches.read(renewal.row->lookup.record(), renewal.words.data() + 8, 8);
    }
    Status status = co_await batches.run(transaction().mutable_counters(), layout::Stage::validate);
    if (!status.ok()) co_return lost_connection();
    for (Renewal& renewal : renewals) {
      status = look(renewal);
      if (!status.ok()) co_return status;
    }
    std::erase_if(renewals, [](const Renewal& renewal) { return renewal.done; });
  }
  co_return Status();
}

Status SundialRules::look(Renewal& renewal) {
  const std::uint64_t found = layout::load_word(renewal.words.data());
  renewal.done = found == renewal.known || found >= timestamp_;
  renewal.known = found;  // somebody else has raised it, not far enough
  if (renewal.row == nullptr) return {};
  const Lookup& lookup = renewal.row->lookup;
  const HeaderWord header(layout::load_word(renewal.words.data() + 8));
  if (header == lookup.current().header_word()) return {};
  if (header.locked()) transaction().worker().locks.note(lookup.record(), header, lookup.body_bytes());
  return changed();
}

}  // namespace namdb::protocol
