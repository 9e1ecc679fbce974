#include "compute/txn/staged_transaction.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <iterator>
#include <optional>
#include <string>

#include "compute/cluster/catalog_cache.h"
#include "compute/cluster/stage_times.h"
#include "compute/txn/lock_resolver.h"
#include "compute/txn/run_reads.h"
#include "compute/txn/transaction_registry.h"

namespace namdb::protocol {

using storage::TableRef;
using txn::RowId;

namespace {

constexpr std::size_t kLinearSearch = 48;
constexpr std::uint32_t kYields = 16;  // turns to wait for something half written before sleeping
constexpr std::uint32_t kWaitsPerLook = 256;
// What the lookups of a step READ of older versions at once, unless one of them needs more.
constexpr std::size_t kOlderAtOnce_bytes = std::size_t{8} << 20;
constexpr const char* kOlderHint =
    "make it shorter, or start nam-memoryd with a larger --max-transaction-seconds";

}  // namespace

StagedTransaction::StagedTransaction(txn::WorkerState& worker, SessionState& session, MakeRules make_rules)
    : worker_(worker),
      session_(session),
      generation_(worker.registry.begin()),
      began_ns_(worker.executor.now_ns()),
      batches_(worker.cluster),
      rules_(make_rules(*this)) {
  worker_.running.add(*this);
}

StagedTransaction::~StagedTransaction() {
  abort();
}

void StagedTransaction::abort() {
  if (ended_) return;
  ended_ = true;
  worker_.running.remove(*this);
  const bool taken = rules_->give_up(generation_, failure_.ok() ? outcome_ : failure_, has_writes());
  if (!taken && !generation_given_) worker_.registry.end(generation_);
}

Access* StagedTransaction::find_row(std::uint32_t table, std::span<const std::byte> key, std::uint64_t hash,
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

const Access* StagedTransaction::find_access(const storage::Table& table, std::span<const std::byte> key) {
  RowId row = 0;
  return accesses_.empty() ? nullptr : find_row(table.id, key, table.hash_of(key), row);
}

Access& StagedTransaction::access(const TableRef& table, std::span<const std::byte> key, RowId& row) {
  NAMDB_CHECK(key.size() == table->schema.key_bytes());
  const std::uint64_t hash = table->hash_of(key);
  if (Access* known = find_row(table->id, key, hash, row)) return *known;
  worker_.locations.prefetch(hash);
  row = static_cast<RowId>(accesses_.size());
  Access& fresh = accesses_.emplace_back(table, key, hash);
  if (!by_hash_.empty()) by_hash_.emplace(hash, row);
  unfetched_.push_back(row);
  return fresh;
}

RowId StagedTransaction::get(const TableRef& table, std::span<const std::byte> key) {
  RowId row = 0;
  Access& wanted = access(table, key, row);
  if (!wanted.only_read) return row;
  wanted.only_read = wanted.shares = false;
  // The next fetch() has the version that was read locked.
  if (wanted.fetched() && rules_->locks_rows()) {
    wanted.shown = true;
    unfetched_.push_back(row);
  }
  return row;
}

RowId StagedTransaction::read(const TableRef& table, std::span<const std::byte> key) {
  RowId row = 0;
  const std::size_t known = accesses_.size();
  Access& wanted = access(table, key, row);
  if (accesses_.size() == known) return row;
  const bool locks_rows = rules_->locks_rows();
  // Where they lock others out, readers ask as writers do.
  wanted.only_read = !locks_rows || worker_.read_locks != txn::ReadLocks::exclusive;
  wanted.shares = locks_rows && wanted.only_read && worker_.read_locks != txn::ReadLocks::none &&
                  table->record.reader_words != 0;
  return row;
}

RowId StagedTransaction::insert(const TableRef& table, std::span<const std::byte> row_bytes) {
  NAMDB_CHECK(row_bytes.size() == table->schema.row_bytes());
  RowId row = 0;
  Access& access =
      this->access(table, row_bytes.subspan(table->schema.key_offset(), table->schema.key_bytes()), row);
  if (access.found()) {
    // fetch() reports it, and has it once only.
    if (access.fetched() && !access.duplicate) unfetched_.push_back(row);
    access.duplicate = true;
    return row;
  }
  const bool replaces = access.write == WriteKind::erase;
  if (!replaces && !access.fetched()) access.insert_asked = true;
  access.image = fabric::LocalBuffer(worker_.cluster.pool(), table->record.locked_bytes());
  access.write = replaces ? WriteKind::update : WriteKind::insert;
  std::ranges::copy(row_bytes, access.image_row().begin());
  return row;
}

bool StagedTransaction::found(RowId row) const {
  return accesses_[row].found();
}

layout::RowView StagedTransaction::row(RowId row) const {
  const Access& access = accesses_[row];
  NAMDB_CHECK(access.found());
  return {access.table->schema,
          access.write == WriteKind::none ? access.lookup.payload() : access.image_row()};
}

layout::RowWriter StagedTransaction::update(RowId row) {
  Access& access = accesses_[row];
  NAMDB_CHECK(access.found());
  if (access.write == WriteKind::none) {
    access.image = fabric::LocalBuffer(worker_.cluster.pool(), access.table->record.locked_bytes());
    std::ranges::copy(access.lookup.payload(), access.image_row().begin());
    access.write = WriteKind::update;
  }
  return {access.table->schema, access.image_row()};
}

void StagedTransaction::erase(RowId row) {
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

bool StagedTransaction::has_writes() const {
  return std::ranges::any_of(accesses_, [](const Access& access) { return access.write != WriteKind::none; });
}

Status StagedTransaction::too_old() const {
  if (has_writes() || worker_.cluster.protocol().single_version)
    return Status(ErrorCode::transaction_timeout,
                  "the transaction ran longer than the maximal transaction time", kOlderHint);
  return Status(ErrorCode::snapshot_too_old,
                "snapshot too old: the transaction ran longer than the maximal transaction time", kOlderHint);
}

Status StagedTransaction::check_going_on() const {
  const std::uint64_t age_ns = worker_.cluster.executor().fresh_now_ns() - rules_->started_ns();
  return age_ns <= worker_.cluster.max_transaction_ns() ? check_interrupt() : too_old();
}

std::uint64_t StagedTransaction::running_since_ns() const {
  const std::uint64_t started_ns = rules_->started_ns();
  return started_ns != 0 ? started_ns : began_ns_;
}

void StagedTransaction::expire() {
  if (busy_ != 0 || ended_) return;
  expired_ = true;
  failure_ = Status(ErrorCode::transaction_timeout,
                    "the transaction was ended: it was idle, and older than the maximal transaction time",
                    kOlderHint);
  abort();
}

Status StagedTransaction::check_open() const {
  if (!ended_) return {};
  return failure_.ok() ? Status(ErrorCode::in_failed_transaction, "the transaction has ended") : failure_;
}

reactor::Task<Status> StagedTransaction::fetch() {
  if (ended_ && !failure_.ok()) co_return failure_;
  const Busy busy(*this);
  Status status = co_await do_fetch();
  if (!status.ok() && failure_.ok()) failure_ = status;
  co_return status;
}

reactor::Task<Status> StagedTransaction::do_fetch() {
  reactor::PooledVector<Lookup*> lookups;
  reactor::PooledVector<const storage::Table*> tables;
  reactor::PooledVector<RowId> asked;
  std::swap(asked, unfetched_);
  Status status;
  reactor::PooledVector<RowId> to_lock;
  if (rules_->locks_rows()) {
    std::ranges::copy_if(asked, std::back_inserter(to_lock),
                         [this](RowId row) { return !accesses_[row].only_read || accesses_[row].shares; });
    if (!to_lock.empty()) status = co_await rules_->will_fetch();
    if (!status.ok()) co_return status;
  }
  for (const RowId row : asked) {
    Access& access = accesses_[row];
    if (!access.fetched() && access.lookup.state() == Lookup::State::idle) {
      access.lookup.start(worker_, *access.table, access.key, access.key_hash);
      if (rules_->has_timestamps()) {
        access.lookup.lease_along();
      } else if (access.shares) {
        access.lookup.share_along(rules_->has_waiters());
      } else if (!access.only_read) {
        access.lookup.lock_along(rules_->has_waiters());
      }
      lookups.push_back(&access.lookup);
      tables.push_back(access.table.get());
    }
  }
  if (worker_.cluster.optimisations().speculative_reads) {
    status = co_await run_lookups(std::move(lookups), std::move(tables));
  } else {
    status = co_await run_one_by_one(&lookups, &tables);
  }
  if (status.ok() && !to_lock.empty()) status = co_await rules_->fetched(to_lock);
  if (!status.ok()) co_return status;
  for (const RowId row : asked) {
    const Access& access = accesses_[row];
    if (access.duplicate || (access.insert_asked && access.stored())) {
      note_primary_violation(row);
      Status duplicate(ErrorCode::duplicate_key, "duplicate key value violates unique constraint \"" +
                                                     access.table->name +
                                                     (access.table->schema.chained() ? "\"" : "_pkey\""));
      co_return co_await confirmed(std::move(duplicate));
    }
  }
  co_return Status();
}

void StagedTransaction::note_primary_violation(RowId id) {
  const Access& access = accesses_[id];
  // The entries of an index are no rows of its table.
  if (access.table->schema.chained() || !access.found()) return;
  const std::span<const std::byte> bytes = row(id).bytes();
  violation_ = std::make_unique<txn::Violation>(
      txn::Violation{access.table, access.table->name + "_pkey", {}, {bytes.begin(), bytes.end()}});
  const std::span<const std::uint32_t> key = access.table->schema.key();
  violation_->columns.assign(key.begin(), key.end());
}

void StagedTransaction::note_violation(const TableRef& table, const storage::Index& index,
                                       layout::RowView row) {
  violation_ = std::make_unique<txn::Violation>(
      txn::Violation{table, index.name, {}, {row.bytes().begin(), row.bytes().end()}});
  for (const layout::IndexColumn& column : index.shape.columns())
    violation_->columns.push_back(column.column);
}

reactor::Task<Status> StagedTransaction::check_table(const storage::Table& table) {
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

reactor::Task<Status> StagedTransaction::check_still_there(std::uint32_t table, std::uint32_t waits) {
  if (waits % kWaitsPerLook != 0) co_return Status();
  const Status status = co_await worker_.catalog.refresh();
  co_return status.ok() ? still_there(table) : status;
}

reactor::Task<Status> StagedTransaction::damage(std::uint32_t table, Status error) {
  Status status = co_await worker_.catalog.refresh();
  if (status.ok()) status = still_there(table);
  if (!status.ok()) co_return status;
  ++worker_.damaged_reads;
  co_return error;
}

Status StagedTransaction::still_there(std::uint32_t table) const {
  if (worker_.catalog.find_id(table) != nullptr) return {};
  return Status(ErrorCode::catalog_changed, "a table was dropped while the transaction ran");
}

reactor::Task<Status> StagedTransaction::begin_reading() {
  reactor::PooledVector<Lookup*> no_lookups;
  reactor::PooledVector<const storage::Table*> no_tables;
  co_return co_await run_lookups(std::move(no_lookups), std::move(no_tables));
}

reactor::Task<Status> StagedTransaction::run_one_by_one(
    const reactor::PooledVector<Lookup*>* lookups,
    const reactor::PooledVector<const storage::Table*>* tables) {
  Status status;
  for (std::size_t i = 0; i < lookups->size() && status.ok(); ++i) {
    reactor::PooledVector<Lookup*> one(1, (*lookups)[i]);
    reactor::PooledVector<const storage::Table*> its_table(1, (*tables)[i]);
    status = co_await run_lookups(std::move(one), std::move(its_table));
  }
  co_return status;
}

Status StagedTransaction::Wait::goes_on(const StagedTransaction& transaction, layout::GlobalAddress held) {
  if (since_ns_ == 0) since_ns_ = transaction.worker_.executor.now_ns();
  held_ = held;
  return transaction.check_wait(held, since_ns_);
}

void StagedTransaction::meet(layout::GlobalAddress held, layout::HeaderWord word, std::uint64_t since_ns) {
  if (word.locked()) met_lock_ = {held, since_ns == 0 ? worker_.executor.now_ns() : since_ns};
}

reactor::Task<void> StagedTransaction::pause(std::uint32_t waits) {
  if (waits <= kYields) {
    co_await worker_.executor.yield();
  } else {
    const std::uint64_t sleep_ns = std::min<std::uint64_t>((waits - kYields) * 20'000, kMillisecond_ns);
    co_await worker_.executor.sleep_for(sleep_ns);
  }
}

// The first ones go first until they are done, so that the others have taken no buffers yet.
void StagedTransaction::put_off(reactor::PooledVector<Lookup*>& lookups,
                                reactor::PooledVector<Lookup*>& later) {
  lookups.insert(lookups.end(), later.begin(), later.end());
  later.clear();
  std::size_t bytes = 0;
  std::erase_if(lookups, [&bytes, &later](Lookup* lookup) {
    const std::size_t more = lookup->older_bytes();
    const bool fits = more == 0 || bytes == 0 || bytes + more <= kOlderAtOnce_bytes;
    if (!fits) later.push_back(lookup);
    if (fits) bytes += more;
    return !fits;
  });
}

reactor::Task<Status> StagedTransaction::wait_for_others(Wait* wait, layout::GlobalAddress held,
                                                         std::uint32_t waits) {
  Status status = wait->goes_on(*this, held);
  if (!status.ok()) co_return status;
  const txn::StageTimer timer(worker_.cluster.stage_times(), worker_.executor, counters_);
  co_await pause(waits);
  timer.end(txn::Wait::held);
  co_return check_going_on();
}

reactor::Task<Status> StagedTransaction::run_lookups(reactor::PooledVector<Lookup*> lookups,
                                                     reactor::PooledVector<const storage::Table*> tables,
                                                     Together together) {
  if (ended_) co_return check_open();
  std::uint32_t waits = 0;
  Wait wait;
  std::size_t checked = 0;
  std::optional<RunReads> runs;  // until their bytes were looked at
  if (together == Together::near) runs.emplace(worker_.cluster.pool(), lookups);
  reactor::PooledVector<Lookup*> later;
  while (!lookups.empty() || !later.empty() || !rules_->ready()) {
    put_off(lookups, later);
    Status status;
    if (!rules_->ready()) {
      const txn::StageTimer timer(worker_.cluster.stage_times(), worker_.executor, counters_);
      status = co_await rules_->prepare();
      timer.end(txn::Wait::begin);
      if (!status.ok()) co_return status;
      if (lookups.empty() && rules_->ready()) break;
    }
    if (rules_->locks_rows() || rules_->has_timestamps()) {
      for (Lookup* lookup : lookups) lookup->add_atomics(batches_, *rules_);
    }
    for (Lookup* lookup : lookups) lookup->add_read(batches_);
    if (runs) runs->add_reads(batches_);
    if (!rules_->ready()) rules_->ride(batches_);
    status = co_await batches_.run(counters_, layout::Stage::read);
    if (status.ok() && rules_->locks_rows()) rules_->look_at_locks();
    if (status.ok()) status = check_going_on();
    if (!status.ok()) co_return status;
    if (!rules_->ready()) {
      const Result<bool> counts = co_await rules_->settle();
      if (!counts.ok()) co_return counts.status();
      if (!*counts) continue;
    }
    for (; checked < tables.size(); ++checked) {
      status = co_await check_table(*tables[checked]);
      if (!status.ok()) co_return status;
    }
    const Lookup* waiting = nullptr;
    for (Lookup* lookup : lookups) {
      std::uint32_t slot = lookup->advance(worker_, *rules_);
      while (slot != 0) {
        status = co_await worker_.slots.refresh(&counters_);
        if (status.ok()) status = check_going_on();  // "retired" is only true of a snapshot younger than E
        if (!status.ok()) co_return status;
        slot = lookup->advance(worker_, *rules_);
      }
      const bool failed = lookup->state() == Lookup::State::failed;
      if (!failed && !lookup->waiting()) continue;
      if (lookup->lock_seen().locked()) {
        worker_.locks.note(lookup->lock_address(), lookup->lock_seen(), lookup->lock_body_bytes());
      }
      if (failed && lookup->damaged()) co_return co_await damage(lookup->table().id, lookup->error());
      if (failed) meet(lookup->lock_address(), lookup->lock_seen(), wait.since_ns(lookup->lock_address()));
      if (failed) co_return lookup->error();
      if (waiting == nullptr) waiting = lookup;
      ++counters_.rereads;
    }
    runs.reset();
    const auto done = std::erase_if(lookups, [](const Lookup* lookup) { return lookup->done(); });
    if (waiting == nullptr || done != 0) wait.ends();
    if (waiting == nullptr) continue;
    status = wait.goes_on(*this, waiting->lock_address());
    if (!status.ok()) co_return status;
    const txn::StageTimer timer(worker_.cluster.stage_times(), worker_.executor, counters_);
    bool waited = false;
    if (rules_->has_waiters()) {
      const Result<bool> result = co_await rules_->wait_for_locks(&lookups);
      if (!result.ok()) co_return result.status();
      waited = *result;
    }
    ++waits;
    if (!waited) co_await pause(waits);
    timer.end(txn::Wait::held);
    if (waits % kWaitsPerLook != 0) continue;
    status = co_await worker_.catalog.refresh();
    for (std::size_t i = 0; status.ok() && i < lookups.size(); ++i)
      status = still_there(lookups[i]->table().id);
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

reactor::Task<Status> StagedTransaction::confirm_reads() {
  if (!failure_.ok()) co_return failure_;
  if (ended_) co_return check_open();
  const Busy busy(*this);
  co_return co_await rules_->confirm_reads(false);
}

reactor::Task<Status> StagedTransaction::confirmed(Status error) {
  Status status;
  if (rules_->validates_reads()) status = co_await rules_->confirm_reads(false);
  co_return status.ok() ? std::move(error) : std::move(status);
}

// Who locks a row only at commit does not look for its readers.
void StagedTransaction::ask_for_locks_of_writes() {
  if (!worker_.cluster.shared_read_locks()) return;
  for (const Access& access : accesses_) {
    if (access.write != WriteKind::none && access.only_read && access.stored()) get(access.table, access.key);
  }
}

}  // namespace namdb::protocol
