#include "compute/protocol/two_phase_locking/two_phase_locking.h"

#include <algorithm>
#include <functional>
#include <iterator>

#include "common/layout/record_trailer.h"
#include "compute/txn/errors.h"
#include "compute/txn/lock_resolver.h"
#include "compute/txn/slot_keeper.h"
#include "compute/txn/transaction_registry.h"

namespace namdb::protocol {

using layout::GlobalAddress;
using layout::HeaderWord;
using txn::RowId;

namespace {

// Rounds of asking for a lock whose record was changed between its READ and the CAS.
constexpr std::uint32_t kMaxRounds = 64;

}  // namespace

TwoPhaseLocking::TwoPhaseLocking(TransactionState& transaction, LockerState& lockers)
    : transaction_(transaction),
      lockers_(lockers),
      latest_(transaction.worker(), *this),
      validator_(transaction, *this),
      readers_(transaction.worker().cluster),
      learned_(transaction.worker().registry.learned()) {
  decide_by({.visibility = &latest_, .locking = this, .validation = &validator_});
}

TwoPhaseLocking::~TwoPhaseLocking() {
  if (slot_ != nullptr) slot_->drop_holder();
}

reactor::Task<Status> TwoPhaseLocking::begin_locking() {
  if (slot_ != nullptr) co_return Status();
  auto slot = co_await transaction().worker().slot_keeper.acquire();
  if (!slot.ok()) co_return slot.status();
  slot_ = std::move(*slot);
  slot_->add_holder();
  own_ = {slot_->slot(), draw_priority()};
  co_return Status();
}

TwoPhaseLocking::Held* TwoPhaseLocking::find_lock(GlobalAddress record) {
  const auto found = std::ranges::find(held_, record, &Held::record);
  return found == held_.end() ? nullptr : &*found;
}

TwoPhaseLocking::Held& TwoPhaseLocking::add(reactor::StableVector<Held>& locks, GlobalAddress record,
                                            HeaderWord unlocked) {
  Held& lock = locks.emplace_back();
  lock.record = record;
  lock.unlocked = unlocked;
  lock.word = fabric::LocalBuffer(transaction().worker().cluster.pool(), 16);
  return lock;
}

TwoPhaseLocking::Held& TwoPhaseLocking::post_lock(GlobalAddress record, HeaderWord unlocked,
                                                  txn::BatchSet& batches) {
  Held& lock = add(posted_, record, unlocked);
  layout::store_word(lock.word.data(), ~unlocked.value());  // stays if no answer comes
  batches.compare_and_swap(record, unlocked.value(), own_lock().value(), lock.word.data());
  return lock;
}

LockRead TwoPhaseLocking::add_lock(Lookup& lookup, txn::BatchSet& batches) {
  const StageCode stages = transaction().worker().cluster.stages();
  if (!lookup.shares() && stages.two_sided(Stage::read) && stages.two_sided(Stage::lock)) {
    if (has_locked(lookup.record())) return LockRead::separate;
    Held& lock = add(posted_, lookup.record(), HeaderWord());
    layout::store_word(lock.word.data(), 0);  // stays if no answer comes
    batches.lock(lookup.record(), lookup.record_name(), own_lock(), lookup.read_buffer(), lookup.read_bytes(),
                 lock.word.data());
    return LockRead::included;
  }
  const auto guess = lockers_.guesses.find(lookup.record(), learned_);
  if (lookup.shares()) {
    // In both cases the memory is still the record's.
    if (guess || lookup.locked_by_other()) readers_.post(lookup, own_lock(), batches);
    return LockRead::separate;
  }
  if (guess && !has_locked(lookup.record())) post_lock(lookup.record(), *guess, batches);
  return LockRead::separate;
}

void TwoPhaseLocking::hold(GlobalAddress record, HeaderWord unlocked) {
  add(held_, record, unlocked);
}

void TwoPhaseLocking::collect() {
  for (Held& lock : posted_) {
    const HeaderWord found(layout::load_word(lock.word.data()));
    const bool by_name = lock.unlocked.value() == 0;
    if (by_name) lock.unlocked = found;
    if (found == lock.unlocked && found.value() != 0) held_.push_back(std::move(lock));
  }
  posted_.clear();
}

void TwoPhaseLocking::check_locks() {
  collect();
  readers_.collect();
}

reactor::Task<Status> TwoPhaseLocking::after_fetch(std::span<const RowId> rows) {
  const auto shares = [this](RowId row) { return transaction().accesses()[row].shares; };
  reactor::PooledVector<RowId> wanted;
  std::ranges::copy_if(rows, std::back_inserter(wanted), std::not_fn(shares));
  Status status = co_await lock_rows(std::move(wanted));
  if (!status.ok() || !transaction().worker().cluster.shared_read_locks()) co_return status;
  reactor::PooledVector<RowId> to_share;
  std::ranges::copy_if(rows, std::back_inserter(to_share), shares);
  status = co_await share(std::move(to_share));
  if (!status.ok()) co_return status;
  co_return co_await meet_readers();
}

reactor::PooledVector<TwoPhaseLocking::SeenWaiter> TwoPhaseLocking::waiters_of(
    std::span<const RowId> rows) const {
  reactor::PooledVector<SeenWaiter> waiters;
  for (const RowId row : rows) {
    const Access& access = transaction().accesses()[row];
    if (access.lookup.waiter().value() != 0)
      waiters.push_back({access.lookup.record(), access.table.get(), access.lookup.waiter()});
  }
  return waiters;
}

reactor::Task<Status> TwoPhaseLocking::lock_rows(reactor::PooledVector<RowId> wanted) {
  LockWait wait;
  std::uint32_t waits = 0;
  for (std::uint32_t round = 0;;) {
    // Rows without a record are absent; a record may go while this tries to lock it.
    std::erase_if(wanted, [this](RowId row) {
      const Access& access = transaction().accesses()[row];
      return access.passed_over || !access.lookup.has_record();
    });
    const reactor::PooledVector<SeenWaiter> waiters = waiters_of(wanted);
    std::erase_if(wanted, [this](RowId row) { return claim(transaction().accesses()[row]); });
    Status status;
    if (!waiters.empty()) status = co_await meet_waiters(&waiters);
    if (!status.ok() || wanted.empty()) co_return status;
    if (round == kMaxRounds) co_return write_conflict(*transaction().accesses()[wanted.front()].table);
    status = co_await request_locks(&wanted);
    if (!status.ok()) co_return status;
    reactor::PooledVector<RowId> changed;  // perhaps
    for (const RowId row : wanted) {
      const Access& access = transaction().accesses()[row];
      if (access.shared) continue;
      if (access.shown) co_return write_conflict(*access.table);
      changed.push_back(row);
    }
    if (!changed.empty()) {
      ++round;
      status = co_await read_again(&changed);
    } else if (!wanted.empty()) {
      const layout::GlobalAddress locked = transaction().accesses()[wanted.front()].lookup.record();
      status = co_await wait_for_lock(&transaction(), &wait, locked, ++waits);
    }
    if (!status.ok()) co_return status;
  }
}

bool TwoPhaseLocking::claim(Access& access) {
  if (access.locked) return true;
  Held* const lock = find_lock(access.lookup.record());
  if (lock == nullptr) return false;
  lock->access = &access;
  access.locked = true;
  const layout::RecordLayout& layout = access.table->record;
  // Tombstones are not shared: a word that a reader has taken there does not count.
  if (layout.reader_words != 0 && !lock->unlocked.deleted()) {
    // READ with its reader words while it was locked: behind the CAS.
    if (!lock->behind && access.lookup.wants_lock() && access.lookup.header_seen() == own_lock()) {
      lock->behind = fabric::LocalBuffer(transaction().worker().cluster.pool(), 8 + 8 * layout.reader_words);
      for (std::uint32_t i = 0; i < layout.reader_words; ++i)
        layout::store_word(lock->reader(i), access.lookup.reader(i).value());
    }
    unmet_.push_back(lock);
  }
  lockers_.guesses.note(lock->record, lock->unlocked, learned_);
  return true;
}

// A version that was shown stays read.
void TwoPhaseLocking::pass_over(Access& access) {
  access.passed_over = true;
  if (access.shown) {
    access.only_read = true;
  } else {
    access.lookup.pass_over();
  }
}

// The rows that are not locked are left in `rows`.
reactor::Task<Status> TwoPhaseLocking::request_locks(reactor::PooledVector<RowId>* rows) {
  txn::WorkerState& worker = transaction().worker();
  txn::BatchSet batches(worker.cluster);
  for (const RowId row : *rows) {
    const Access& access = transaction().accesses()[row];
    const layout::RecordLayout& layout = access.table->record;
    Held& lock = post_lock(access.lookup.record(), access.lookup.current().header_word(), batches);
    const GlobalAddress waiter = lock.record + layout::waiter_offset(layout);
    if (layout.reader_words != 0) {
      lock.behind = fabric::LocalBuffer(worker.cluster.pool(), 8 + 8 * layout.reader_words);
      batches.read(waiter, lock.behind.data(), lock.behind.size());
    } else if (reads_trailer()) {
      batches.read(waiter, lock.word.data() + 8, 8);
    }
  }
  const Status status = co_await batches.run(transaction().mutable_counters(), Stage::lock);
  if (!status.ok()) {
    collect();
    slot_->channel_failed();
    co_return lost_connection(status);
  }
  Status conflict;
  reactor::PooledVector<SeenWaiter> waiters;
  for (std::size_t i = 0; i < posted_.size(); ++i) {
    const HeaderWord found(layout::load_word(posted_[i].word.data()));
    const Access& access = transaction().accesses()[(*rows)[i]];
    const storage::Table& table = *access.table;
    if (reads_trailer()) {
      const std::byte* const word = posted_[i].behind ? posted_[i].behind.data() : posted_[i].word.data() + 8;
      const HeaderWord waiter(layout::load_word(word));
      if (found == posted_[i].unlocked && waiter.value() != 0)
        waiters.push_back({posted_[i].record, &table, waiter});
    }
    // No transaction that checks the reader words changes a shared row, so this one was changed by one that
    // does not check them.
    if (access.shared && !found.locked() && found != posted_[i].unlocked) conflict = write_conflict(table);
    if (!found.locked()) continue;
    worker.locks.note(posted_[i].record, found, table.record.body_bytes());
    if (transaction().passes_over_locked()) {
      pass_over(transaction().accesses()[(*rows)[i]]);
      continue;
    }
    if (meet_lock(found) != ReadDecision::conflict) continue;
    transaction().meet(posted_[i].record, found);
    conflict = write_conflict(table);
  }
  collect();
  std::erase_if(*rows, [this](RowId row) {
    Access& access = transaction().accesses()[row];
    return access.passed_over || claim(access);
  });
  if (!conflict.ok() || waiters.empty()) co_return conflict;
  co_return co_await meet_waiters(&waiters);
}

reactor::Task<Status> TwoPhaseLocking::read_again(const reactor::PooledVector<RowId>* rows) {
  Lookups lookups;
  LookupTables tables;
  for (const RowId row : *rows) {
    Access& access = transaction().accesses()[row];
    const std::uint32_t reader = access.lookup.share();
    access.lookup = Lookup();
    access.lookup.start(transaction().worker(), *access.table, access.key, access.key_hash);
    if (access.shares) {
      access.lookup.read_with_shared_lock(reads_trailer());
      access.lookup.set_share(reader);
    } else {
      access.lookup.read_with_lock(reads_trailer());
    }
    lookups.push_back(&access.lookup);
    tables.push_back(access.table.get());
    ++transaction().mutable_counters().rereads;
  }
  co_return co_await run_lookups(&transaction(), std::move(lookups), std::move(tables));
}

reactor::Task<Result<std::shared_ptr<txn::ExecutionSlot>>> TwoPhaseLocking::commit_slot() {
  Status status = co_await begin_locking();
  if (!status.ok()) co_return status;
  co_return slot_;
}

void TwoPhaseLocking::add_unlocks(txn::BatchSet& batches) {
  for (const Held& lock : held_) {
    if (lock.written()) continue;
    layout::store_word(lock.word.data(), lock.unlocked.value());
    batches.write(lock.record, lock.word.data(), 8);
  }
  readers_.give_back(own_lock(), batches);
}

bool TwoPhaseLocking::unlocks_beside(layout::ServerId server) const {
  const auto is_beside = [server](const Held& lock) {
    return !lock.written() && lock.record.server() != server;
  };
  return std::ranges::any_of(held_, is_beside) || readers_.any_beside(server);
}

void TwoPhaseLocking::after_unlock() {
  unmet_.clear();
  held_.clear();
  readers_.clear();
}

void TwoPhaseLocking::add_other_words(reactor::PooledVector<HeldLock>& locks) {
  readers_.add_to(locks, own_lock());
  readers_.clear();
}

void TwoPhaseLocking::after_install() {
  HeaderGuesses& guesses = lockers_.guesses;
  for (const Held& lock : held_) {
    if (lock.written())
      guesses.note(lock.record, HeaderWord(layout::load_word(lock.access->image.data())), learned_);
  }
}

GenerationEnd TwoPhaseLocking::end(std::uint64_t generation, const Status& outcome, bool /*wrote*/) {
  txn::WorkerState& worker = transaction().worker();
  // The locks of a lost server are undone once the slot is closed. So are those of a commit whose outcome is
  // not known: if it is committed, it is installed under its locks.
  const bool unknown = !outcome.ok() && outcome.code() == ErrorCode::unknown_outcome;
  if (unknown || worker.cluster.failed()) return GenerationEnd::by_caller;
  reactor::PooledVector<HeldLock> locks;
  for (const Held& lock : held_) locks.push_back({lock.record, lock.unlocked, HeaderWord()});
  add_other_words(locks);
  if (locks.empty()) return GenerationEnd::by_caller;
  unmet_.clear();
  held_.clear();
  lockers_.releaser.release(std::move(slot_), std::move(locks), generation);
  return GenerationEnd::behind_locks;
}

}  // namespace namdb::protocol
