#include "compute/protocol/snapshot_isolation/transaction.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>

#include "compute/protocol/snapshot_isolation/commit.h"
#include "compute/protocol/snapshot_isolation/index_scan.h"
#include "compute/protocol/snapshot_isolation/scan.h"
#include "compute/txn/catalog_cache.h"
#include "compute/txn/lock_resolver.h"
#include "compute/txn/snapshot_fetcher.h"
#include "compute/txn/transaction_registry.h"

namespace namdb::protocol {

using storage::TableRef;
using txn::RowId;

namespace {

constexpr std::size_t kLinearSearch = 48;
constexpr std::uint32_t kMaxSnapshotAttempts = 1000;
constexpr std::uint32_t kYields = 16;  // turns to wait for something half written before sleeping

}  // namespace

SnapshotTransaction::SnapshotTransaction(txn::WorkerState& worker, SessionState& session)
    : worker_(worker), session_(session), generation_(worker.registry.begin()), batches_(worker.cluster) {}

SnapshotTransaction::~SnapshotTransaction() {
  abort();
}

void SnapshotTransaction::abort() {
  if (ended_) return;
  ended_ = true;
  worker_.registry.end(generation_);
  if (!failure_.ok() || has_writes()) session_.fresh_from_ns = worker_.executor.fresh_now_ns();
}

Access* SnapshotTransaction::find(std::uint32_t table, std::span<const std::byte> key, std::uint64_t hash,
                                  RowId& row) {
  const auto same = [&](const Access& access) {
    return access.key_hash == hash && access.table->id == table && std::ranges::equal(access.key, key);
  };
  if (accesses_.size() <= kLinearSearch) {
    for (std::size_t i = 0; i < accesses_.size(); ++i) {
      if (!same(accesses_[i])) continue;
      row = static_cast<RowId>(i);
      return &accesses_[i];
    }
    return nullptr;
  }
  if (by_hash_.empty()) {
    for (std::size_t i = 0; i < accesses_.size(); ++i)
      by_hash_.emplace(accesses_[i].key_hash, static_cast<RowId>(i));
  }
  for (auto [it, end] = by_hash_.equal_range(hash); it != end; ++it) {
    if (!same(accesses_[it->second])) continue;
    row = it->second;
    return &accesses_[row];
  }
  return nullptr;
}

const Access* SnapshotTransaction::find_access(const storage::Table& table, std::span<const std::byte> key) {
  RowId row = 0;
  return accesses_.empty() ? nullptr : find(table.id, key, table.hash_of(key), row);
}

Access& SnapshotTransaction::access(const TableRef& table, std::span<const std::byte> key, RowId& row) {
  NAMDB_CHECK(key.size() == table->schema.key_bytes());
  const std::uint64_t hash = table->hash_of(key);
  if (Access* known = find(table->id, key, hash, row)) return *known;
  worker_.locations.prefetch(hash);
  row = static_cast<RowId>(accesses_.size());
  Access& fresh = accesses_.emplace_back(table, key, hash);
  if (!by_hash_.empty()) by_hash_.emplace(hash, row);
  unfetched_.push_back(row);
  return fresh;
}

RowId SnapshotTransaction::get(const TableRef& table, std::span<const std::byte> key) {
  RowId row = 0;
  access(table, key, row);
  return row;
}

RowId SnapshotTransaction::insert(const TableRef& table, std::span<const std::byte> row_bytes) {
  NAMDB_CHECK(row_bytes.size() == table->schema.row_bytes());
  RowId row = 0;
  Access& access =
      this->access(table, row_bytes.subspan(table->schema.key_offset(), table->schema.key_bytes()), row);
  if (access.found()) {
    access.duplicate = true;
    unfetched_.push_back(row);  // fetch() reports it
    return row;
  }
  const bool replaces = access.write == WriteKind::erase;
  if (!replaces && !access.fetched()) access.insert_asked = true;
  access.image = fabric::LocalBuffer(worker_.cluster.pool(), table->record.locked_bytes());
  access.write = replaces ? WriteKind::update : WriteKind::insert;
  std::ranges::copy(row_bytes, access.image_row().begin());
  return row;
}

bool SnapshotTransaction::found(RowId row) const {
  return accesses_[row].found();
}

layout::RowView SnapshotTransaction::row(RowId row) const {
  const Access& access = accesses_[row];
  NAMDB_CHECK(access.found());
  return {access.table->schema,
          access.write == WriteKind::none ? access.lookup.payload() : access.image_row()};
}

layout::RowWriter SnapshotTransaction::update(RowId row) {
  Access& access = accesses_[row];
  NAMDB_CHECK(access.found());
  if (access.write == WriteKind::none) {
    access.image = fabric::LocalBuffer(worker_.cluster.pool(), access.table->record.locked_bytes());
    std::ranges::copy(access.lookup.payload(), access.image_row().begin());
    access.write = WriteKind::update;
  }
  return {access.table->schema, access.image_row()};
}

void SnapshotTransaction::erase(RowId row) {
  Access& access = accesses_[row];
  NAMDB_CHECK(access.found());
  if (access.write == WriteKind::insert) {
    access.write = WriteKind::none;
    access.insert_asked = false;
    return;
  }
  update(row);  // the tombstone keeps the key
  access.write = WriteKind::erase;
}

bool SnapshotTransaction::has_writes() const {
  return std::ranges::any_of(accesses_, [](const Access& access) { return access.write != WriteKind::none; });
}

Status SnapshotTransaction::check_going_on() const {
  if (worker_.cluster.executor().fresh_now_ns() - snapshot_.started_ns <=
      worker_.cluster.max_transaction_ns())
    return check_interrupt();
  const char* const hint = "make it shorter, or start nam-memoryd with a larger --max-transaction-seconds";
  if (has_writes())
    return Status(ErrorCode::transaction_timeout,
                  "the transaction ran longer than the maximal transaction time", hint);
  return Status(ErrorCode::snapshot_too_old,
                "snapshot too old: the transaction ran longer than the maximal transaction time", hint);
}

reactor::Task<Status> SnapshotTransaction::fetch() {
  Status status = co_await do_fetch();
  if (!status.ok() && failure_.ok()) failure_ = status;
  co_return status;
}

reactor::Task<Status> SnapshotTransaction::do_fetch() {
  reactor::PooledVector<Lookup*> lookups;
  reactor::PooledVector<const storage::Table*> tables;
  reactor::PooledVector<RowId> asked;
  std::swap(asked, unfetched_);
  for (const RowId row : asked) {
    Access& access = accesses_[row];
    if (!access.fetched() && access.lookup.state() == Lookup::State::idle) {
      access.lookup.start(worker_, *access.table, access.key, access.key_hash);
      lookups.push_back(&access.lookup);
      tables.push_back(access.table.get());
    }
  }
  Status status = co_await run_lookups(std::move(lookups), std::move(tables));
  if (!status.ok()) co_return status;
  for (const RowId row : asked) {
    const Access& access = accesses_[row];
    if (access.duplicate || (access.insert_asked && access.stored())) {
      co_return Status(ErrorCode::duplicate_key,
                       "duplicate key value violates unique constraint \"" + access.table->name + "_pkey\"");
    }
  }
  co_return Status();
}

reactor::Task<Status> SnapshotTransaction::check_table(const storage::Table& table) {
  if (std::ranges::find(checked_tables_, table.id, &CheckedTable::id) == checked_tables_.end()) {
    if (!worker_.catalog.current(table)) {
      co_return Status(ErrorCode::catalog_changed, "table \"" + table.name + "\" was dropped or changed");
    }
    // A name means one table as long as the transaction runs.
    const std::size_t name_hash = std::hash<std::string>()(table.name);
    if (std::ranges::find(checked_tables_, name_hash, &CheckedTable::name_hash) != checked_tables_.end()) {
      co_return Status(
          ErrorCode::catalog_changed,
          "table \"" + table.name + "\" was dropped and created again while the transaction ran");
    }
    checked_tables_.push_back({table.id, name_hash});
  }
  co_return Status();
}

reactor::Task<Status> SnapshotTransaction::take_snapshot() {
  if (worker_.sharing == txn::SnapshotSharing::own)
    co_return co_await worker_.snapshots.take(snapshot_, counters_);
  std::uint64_t not_before_ns = worker_.executor.fresh_now_ns();
  if (worker_.sharing == txn::SnapshotSharing::prefetched) {
    // The copy's age is the transaction's, too.
    const std::uint64_t age_ns =
        std::min(txn::kMaxPrefetchedAge_ns, worker_.cluster.max_transaction_ns() / 8);
    not_before_ns = std::max(session_.fresh_from_ns, not_before_ns - std::min(not_before_ns, age_ns));
  }
  auto copy = co_await worker_.fetcher.get(not_before_ns, counters_);
  if (!copy.ok()) co_return copy.status();
  snapshot_.use((*copy)->snapshot, *copy);
  co_return Status();
}

reactor::Task<Status> SnapshotTransaction::use_snapshot() {
  // Monotonic for the session; words of slots that left the vector are checked no further.
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(snapshot_.words, session_.newest_words.size()); ++i) {
    const layout::HeaderWord before(session_.newest_words[i]);
    if (snapshot_.word(i).stamp().slot == before.stamp().slot &&
        snapshot_.word(i).stamp().counter < before.stamp().counter) {
      co_return Status(ErrorCode::snapshot_went_back, "the timestamp vector went backwards");
    }
  }
  session_.newest_words.resize(snapshot_.words);
  for (std::uint64_t i = 0; i < snapshot_.words; ++i) session_.newest_words[i] = snapshot_.word(i).value();
  if (snapshot_.catalog_version() > worker_.catalog.version()) {
    Status status = co_await worker_.catalog.refresh();
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

reactor::Task<Status> SnapshotTransaction::ensure_snapshot() {
  reactor::PooledVector<Lookup*> no_lookups;
  reactor::PooledVector<const storage::Table*> no_tables;
  co_return co_await run_lookups(std::move(no_lookups), std::move(no_tables));
}

reactor::Task<void> SnapshotTransaction::pause(std::uint32_t waits) {
  if (waits <= kYields) {
    co_await worker_.executor.yield();
  } else {
    const std::uint64_t sleep_ns = std::min<std::uint64_t>((waits - kYields) * 20'000, kMillisecond_ns);
    co_await worker_.executor.sleep_for(sleep_ns);
  }
}

reactor::Task<Status> SnapshotTransaction::run_lookups(reactor::PooledVector<Lookup*> lookups,
                                                       reactor::PooledVector<const storage::Table*> tables) {
  if (ended_) co_return Status(ErrorCode::in_failed_transaction, "the transaction has ended");
  std::uint32_t waits = 0;
  std::uint32_t snapshot_attempts = 0;
  std::size_t checked = 0;
  while (!lookups.empty() || !snapshot_.confirmed) {
    Status status;
    if (!snapshot_.taken) {
      status = co_await take_snapshot();
      if (status.ok() && snapshot_.confirmed) status = co_await use_snapshot();
      if (!status.ok()) co_return status;
      if (lookups.empty() && snapshot_.confirmed) break;
    }
    for (Lookup* lookup : lookups) lookup->add_read(batches_);
    if (!snapshot_.confirmed) worker_.snapshots.add_confirmation(snapshot_, batches_);
    status = co_await batches_.run(counters_);
    if (status.ok()) status = check_going_on();
    if (!status.ok()) co_return status;
    if (!snapshot_.confirmed) {
      if (!worker_.snapshots.confirm(snapshot_)) {
        ++counters_.rereads;
        if (++snapshot_attempts > kMaxSnapshotAttempts) {
          co_return Status(ErrorCode::snapshot_unstable, "no two copies of the timestamp vector agreed");
        }
        continue;  // what was read may not belong to the newer copy
      }
      status = co_await use_snapshot();
      if (!status.ok()) co_return status;
    }
    for (; checked < tables.size(); ++checked) {
      status = co_await check_table(*tables[checked]);
      if (!status.ok()) co_return status;
    }
    bool waiting = false;
    for (Lookup* lookup : lookups) {
      std::uint32_t slot = lookup->advance(worker_, snapshot_);
      while (slot != 0) {
        status = co_await worker_.slots.refresh(&counters_);
        if (status.ok()) status = check_going_on();  // "retired" is only true of a snapshot younger than E
        if (!status.ok()) co_return status;
        slot = lookup->advance(worker_, snapshot_);
      }
      if (lookup->state() == Lookup::State::failed) co_return lookup->error();
      if (!lookup->waiting()) continue;
      waiting = true;
      ++counters_.rereads;
      if (lookup->lock_seen().locked()) {
        worker_.locks.note(lookup->lock_address(), lookup->lock_seen(), lookup->lock_body_bytes());
      }
    }
    std::erase_if(lookups, [](const Lookup* lookup) { return lookup->done(); });
    if (waiting) co_await pause(++waits);
  }
  co_return Status();
}

std::unique_ptr<txn::TableScan> SnapshotTransaction::scan(const TableRef& table) {
  return std::make_unique<SnapshotScan>(*this, table);
}

std::unique_ptr<txn::TableScan> SnapshotTransaction::scan_index(const TableRef& table,
                                                                const storage::IndexRef& index,
                                                                txn::IndexRange range) {
  return std::make_unique<SnapshotIndexScan>(*this, table, index, std::move(range));
}

reactor::Task<Status> SnapshotTransaction::commit() {
  if (ended_) co_return Status(ErrorCode::no_active_transaction, "the transaction has ended");
  // A caller that passed over an error must not commit what it knows nothing of.
  Status status = failure_;
  if (status.ok() && !unfetched_.empty()) status = co_await fetch();
  if (status.ok() && has_writes()) {
    status = check_going_on();
    if (status.ok()) {
      SnapshotCommit commit(*this);
      status = co_await commit.run();
    }
  }
  abort();  // of what remains: nothing is held any more
  co_return status;
}

}  // namespace namdb::protocol
