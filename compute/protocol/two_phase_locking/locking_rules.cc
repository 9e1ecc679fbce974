#include "compute/protocol/two_phase_locking/locking_rules.h"

#include <algorithm>
#include <functional>
#include <iterator>

#include "compute/txn/errors.h"
#include "compute/txn/header_guesses.h"
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

LockingRules::LockingRules(StagedTransaction& transaction, Duties duties)
    : OptimisticRules(transaction, duties),
      readers_(transaction.worker().cluster),
      learned_(transaction.worker().registry.learned()) {}

LockingRules::~LockingRules() {
  if (slot_ != nullptr) slot_->drop_holder();
}

reactor::Task<Status> LockingRules::begin_locking() {
  if (slot_ != nullptr) co_return Status();
  auto slot = co_await transaction().worker().slot_keeper.acquire();
  if (!slot.ok()) co_return slot.status();
  slot_ = std::move(*slot);
  slot_->add_holder();
  own_ = {slot_->slot(), draw_priority()};
  co_return Status();
}

LockingRules::Held* LockingRules::held_at(GlobalAddress record) {
  const auto found = std::ranges::find(held_, record, &Held::record);
  return found == held_.end() ? nullptr : &*found;
}

LockingRules::Held& LockingRules::add(reactor::PooledDeque<Held>& locks, GlobalAddress record,
                                      HeaderWord unlocked) {
  Held& lock = locks.emplace_back();
  lock.record = record;
  lock.unlocked = unlocked;
  lock.word = fabric::LocalBuffer(transaction().worker().cluster.pool(), 16);
  return lock;
}

LockingRules::Held& LockingRules::ask_for(GlobalAddress record, HeaderWord unlocked, txn::BatchSet& batches) {
  Held& lock = add(asked_, record, unlocked);
  batches.compare_and_swap(record, unlocked.value(), own_lock().value(), lock.word.data());
  return lock;
}

void LockingRules::lock_along(Lookup& lookup, txn::BatchSet& batches) {
  const auto guess = transaction().worker().header_guesses.find(lookup.record(), learned_);
  if (lookup.shares()) {
    // Either way that memory is still the record's.
    if (guess || lookup.held()) readers_.ask(lookup, own_lock(), batches);
    return;
  }
  if (guess && held_at(lookup.record()) == nullptr) ask_for(lookup.record(), *guess, batches);
}

void LockingRules::hold(GlobalAddress record, HeaderWord unlocked) {
  add(held_, record, unlocked);
}

void LockingRules::take() {
  for (Held& lock : asked_) {
    if (layout::load_word(lock.word.data()) == lock.unlocked.value()) held_.push_back(std::move(lock));
  }
  asked_.clear();
}

void LockingRules::look_at_locks() {
  take();
  readers_.take();
}

reactor::Task<Status> LockingRules::fetched(std::span<const RowId> rows) {
  const auto shares = [this](RowId row) { return transaction().accesses()[row].shares; };
  reactor::PooledVector<RowId> wanted;
  std::ranges::copy_if(rows, std::back_inserter(wanted), std::not_fn(shares));
  Status status = co_await lock_rows(std::move(wanted));
  if (!transaction().worker().cluster.shared_read_locks()) co_return status;
  if (status.ok()) {
    reactor::PooledVector<RowId> to_share;
    std::ranges::copy_if(rows, std::back_inserter(to_share), shares);
    status = co_await share(std::move(to_share));
  }
  if (status.ok()) status = co_await meet_readers();
  co_return status;
}

reactor::PooledVector<LockingRules::SeenWaiter> LockingRules::waiters_of(std::span<const RowId> rows) const {
  reactor::PooledVector<SeenWaiter> waiters;
  for (const RowId row : rows) {
    const Access& access = transaction().accesses()[row];
    if (access.lookup.waiter().value() != 0)
      waiters.push_back({access.lookup.record(), access.table.get(), access.lookup.waiter()});
  }
  return waiters;
}

reactor::Task<Status> LockingRules::lock_rows(reactor::PooledVector<RowId> wanted) {
  StagedTransaction::Wait wait;
  std::uint32_t waits = 0;
  for (std::uint32_t round = 0;;) {
    // Those that have none are absent; a record may go while this tries to lock it.
    std::erase_if(wanted, [this](RowId row) { return !transaction().accesses()[row].lookup.has_record(); });
    const reactor::PooledVector<SeenWaiter> waiters = waiters_of(wanted);
    std::erase_if(wanted, [this](RowId row) { return own(transaction().accesses()[row]); });
    Status status;
    if (!waiters.empty()) status = co_await meet_waiters(&waiters);
    if (!status.ok() || wanted.empty()) co_return status;
    if (round == kMaxRounds) co_return write_conflict(*transaction().accesses()[wanted.front()].table);
    status = co_await ask(&wanted);
    reactor::PooledVector<RowId> changed;  // or so it may be
    for (const RowId row : wanted) {
      const Access& access = transaction().accesses()[row];
      if (access.shared) continue;
      if (status.ok() && access.shown) status = write_conflict(*access.table);
      changed.push_back(row);
    }
    if (status.ok() && !changed.empty()) {
      ++round;
      status = co_await read_again(&changed);
    } else if (status.ok() && !wanted.empty()) {
      const layout::GlobalAddress held = transaction().accesses()[wanted.front()].lookup.record();
      status = co_await transaction().wait_for_others(&wait, held, ++waits);
    }
    if (!status.ok()) co_return status;
  }
}

bool LockingRules::own(Access& access) {
  if (access.locked) return true;
  Held* const lock = held_at(access.lookup.record());
  if (lock == nullptr) return false;
  lock->access = &access;
  access.locked = true;
  const layout::RecordLayout& layout = access.table->record;
  // Nobody shares a tombstone: a word that a reader has taken there is not looked at.
  if (layout.reader_words != 0 && !lock->unlocked.deleted()) {
    // READ with its reader words while it was locked: behind the CAS.
    if (!lock->behind && access.lookup.locks_along() && access.lookup.header_seen() == own_lock()) {
      lock->behind = fabric::LocalBuffer(transaction().worker().cluster.pool(), 8 + 8 * layout.reader_words);
      for (std::uint32_t i = 0; i < layout.reader_words; ++i)
        layout::store_word(lock->reader(i), access.lookup.reader(i).value());
    }
    unmet_.push_back(lock);
  }
  transaction().worker().header_guesses.note(lock->record, lock->unlocked, learned_);
  return true;
}

// Those that it does not get are left in `rows`.
reactor::Task<Status> LockingRules::ask(reactor::PooledVector<RowId>* rows) {
  txn::WorkerState& worker = transaction().worker();
  txn::BatchSet batches(worker.cluster);
  for (const RowId row : *rows) {
    const Access& access = transaction().accesses()[row];
    const layout::RecordLayout& layout = access.table->record;
    Held& lock = ask_for(access.lookup.record(), access.lookup.current().header_word(), batches);
    const GlobalAddress waiter = lock.record + layout.waiter_offset();
    if (layout.reader_words != 0) {
      lock.behind = fabric::LocalBuffer(worker.cluster.pool(), 8 + 8 * layout.reader_words);
      batches.read(waiter, lock.behind.data(), lock.behind.size());
    } else if (has_waiters()) {
      batches.read(waiter, lock.word.data() + 8, 8);
    }
  }
  const Status status = co_await batches.run(transaction().mutable_counters(), layout::Stage::lock);
  if (!status.ok()) {
    slot_->fail();
    co_return lost_connection();
  }
  Status conflict;
  reactor::PooledVector<SeenWaiter> waiters;
  for (std::size_t i = 0; i < asked_.size(); ++i) {
    const HeaderWord found(layout::load_word(asked_[i].word.data()));
    const Access& access = transaction().accesses()[(*rows)[i]];
    const storage::Table& table = *access.table;
    if (has_waiters()) {
      const std::byte* const word = asked_[i].behind ? asked_[i].behind.data() : asked_[i].word.data() + 8;
      const HeaderWord waiter(layout::load_word(word));
      if (found == asked_[i].unlocked && waiter.value() != 0)
        waiters.push_back({asked_[i].record, &table, waiter});
    }
    // Nobody may change what is shared, so whoever did is none that looked.
    if (access.shared && !found.locked() && found != asked_[i].unlocked) conflict = write_conflict(table);
    if (!found.locked()) continue;
    worker.locks.note(asked_[i].record, found, table.record.body_bytes());
    if (meet_lock(found) != Judgement::conflict) continue;
    transaction().meet(asked_[i].record, found);
    conflict = write_conflict(table);
  }
  take();
  std::erase_if(*rows, [this](RowId row) { return own(transaction().accesses()[row]); });
  if (conflict.ok() && !waiters.empty()) conflict = co_await meet_waiters(&waiters);
  co_return conflict;
}

reactor::Task<Status> LockingRules::read_again(const reactor::PooledVector<RowId>* rows) {
  reactor::PooledVector<Lookup*> lookups;
  reactor::PooledVector<const storage::Table*> tables;
  for (const RowId row : *rows) {
    Access& access = transaction().accesses()[row];
    const std::uint32_t reader = access.lookup.share();
    access.lookup = Lookup();
    access.lookup.start(transaction().worker(), *access.table, access.key, access.key_hash);
    if (access.shares) {
      access.lookup.share_along(has_waiters());
      access.lookup.set_share(reader);
    } else {
      access.lookup.lock_along(has_waiters());
    }
    lookups.push_back(&access.lookup);
    tables.push_back(access.table.get());
    ++transaction().mutable_counters().rereads;
  }
  co_return co_await transaction().run_lookups(std::move(lookups), std::move(tables));
}

reactor::Task<Result<std::shared_ptr<txn::ExecutionSlot>>> LockingRules::slot() {
  Status status = co_await begin_locking();
  if (!status.ok()) co_return status;
  co_return slot_;
}

layout::Stamp LockingRules::lock_stamp(layout::Stamp /*stamp*/) {
  return own_;
}

void LockingRules::unlock(txn::BatchSet& batches) {
  for (const Held& lock : held_) {
    if (lock.written()) continue;
    layout::store_word(lock.word.data(), lock.unlocked.value());
    batches.write(lock.record, lock.word.data(), 8);
  }
  readers_.give_back(own_lock(), batches);
}

void LockingRules::unlocked() {
  unmet_.clear();
  held_.clear();
  readers_.clear();
}

void LockingRules::add_other_words(reactor::PooledVector<txn::HeldLock>& locks) {
  readers_.add_to(locks, own_lock());
  readers_.clear();
}

void LockingRules::installed() {
  txn::HeaderGuesses& guesses = transaction().worker().header_guesses;
  for (const Held& lock : held_) {
    if (lock.written())
      guesses.note(lock.record, HeaderWord(layout::load_word(lock.access->image.data())), learned_);
  }
}

bool LockingRules::give_up(std::uint64_t generation, const Status& /*outcome*/, bool /*wrote*/) {
  txn::WorkerState& worker = transaction().worker();
  // What a failed channel held is repaired with its slot.
  if (worker.cluster.failed()) return false;
  reactor::PooledVector<txn::HeldLock> locks;
  for (const Held& lock : held_) locks.push_back({lock.record, lock.unlocked, HeaderWord()});
  add_other_words(locks);
  if (locks.empty()) return false;
  unmet_.clear();
  held_.clear();
  worker.lock_releaser.release(std::move(slot_), std::move(locks), generation);
  return true;
}

}  // namespace namdb::protocol
