#include "compute/protocol/waitdie/wait_die.h"

#include <algorithm>

#include "common/calls/lock_calls.h"
#include "common/calls/word_stream.h"
#include "common/layout/age.h"
#include "common/layout/record_trailer.h"
#include "compute/cluster/call_set.h"
#include "compute/txn/errors.h"
#include "compute/txn/snapshot.h"

namespace namdb::protocol {

using layout::HeaderWord;

namespace {

// For how long a lease of a slot that was seen counts as current.
constexpr std::uint64_t kLeaseCounts_ns = 100 * kMillisecond_ns;

}  // namespace

std::uint32_t WaitDie::draw_priority() {
  SessionState& session = transaction().session();
  txn::WorkerState& worker = transaction().worker();
  const std::uint64_t now_ns = worker.executor.now_ns();
  const bool again =
      session.priority != 0 && now_ns - session.priority_taken_ns < worker.cluster.max_transaction_ns();
  if (!again) {
    session.priority = TwoPhaseLocking::draw_priority();
    session.priority_taken_ns = now_ns;
  }
  return session.priority;
}

bool WaitDie::older_than(layout::Stamp other) const {
  return layout::older(own_stamp(), other);
}

ReadDecision WaitDie::meet_lock(HeaderWord lock) {
  const layout::Stamp other = lock.stamp();
  // Of the attempt before, which had the same priority, and is being released.
  if (lock == own_lock()) return ReadDecision::locked_by_other;
  if (other.slot == layout::kCollectorSlot) return ReadDecision::locked_by_other;
  lockers().priorities.meet(other.counter);
  if (own_stamp().none()) return ReadDecision::locked_by_other;  // it holds no lock
  return older_than(other) ? ReadDecision::locked_by_other : ReadDecision::conflict;
}

bool WaitDie::waits_for(const Lookup& lookup) const {
  return lookup.locked_by_other() && lookup.wants_lock() && !lookup.shares() && lookup.lock_seen().locked() &&
         lookup.lock_seen() != own_lock();
}

LockRead WaitDie::add_lock(Lookup& lookup, txn::BatchSet& batches) {
  const HeaderWord before = lookup.waiter();
  if (waits_for(lookup) && !has_locked(lookup.record()) && before != own_lock() &&
      (before.value() == 0 || older_than(before.stamp()))) {
    Announced& own = posted_.emplace_back();
    own.word = lookup.record() + layout::waiter_offset(lookup.table().record);
    own.before = before;
    own.found = fabric::LocalBuffer(transaction().worker().cluster.pool(), 8);
    layout::store_word(own.found.data(), ~before.value());  // stays if no answer comes
    batches.compare_and_swap(own.word, before.value(), own_lock().value(), own.found.data());
  }
  return TwoPhaseLocking::add_lock(lookup, batches);
}

void WaitDie::check_locks() {
  for (Announced& own : posted_) {
    if (layout::load_word(own.found.data()) == own.before.value()) announced_.push_back(std::move(own));
  }
  posted_.clear();
  TwoPhaseLocking::check_locks();
}

reactor::Task<Result<QueueWait>> WaitDie::wait_for_locks(std::span<Lookup* const> lookups) {
  txn::Cluster& cluster = transaction().worker().cluster;
  if (!cluster.stages().two_sided(Stage::lock)) co_return QueueWait::no_queue;
  txn::CallSet calls(cluster);
  reactor::PooledVector<const Lookup*> waiting;
  for (const Lookup* lookup : lookups) {
    if (!waits_for(*lookup)) continue;
    std::string& request = calls.request(lookup->record().server());
    if (request.size() + calls::LockRequest::kEncoded_bytes > fabric::kMaxCall_bytes) continue;
    waiting.push_back(lookup);
    calls::LockRequest lock;
    lock.offset = lookup->record().offset();
    lock.seen = lookup->lock_seen();
    lock.own = own_lock();
    append(request, lock);
  }
  if (waiting.empty()) co_return QueueWait::no_queue;
  const Status status = co_await calls.run(calls::kLockMethod, transaction().mutable_counters());
  if (!status.ok()) calls.give_up();
  reactor::PooledVector<std::string_view> replies;
  for (std::size_t i = 0; i < calls.size(); ++i)
    replies.push_back(calls.reply(static_cast<layout::ServerId>(i)));
  bool lost = !status.ok();
  for (const Lookup* lookup : waiting) {
    std::string_view& reply = replies[lookup->record().server()];
    std::uint64_t found = 0;
    const bool answered = calls::take_word(reply, found);
    lost = lost || !answered;
    if (answered && !HeaderWord(found).locked()) hold(lookup->record(), HeaderWord(found));
  }
  if (!lost) co_return QueueWait::waited;
  own_slot().channel_failed();
  co_return lost_connection(status);
}

reactor::Task<Status> WaitDie::meet_waiters(const reactor::PooledVector<SeenWaiter>* waiters) {
  txn::WorkerState& worker = transaction().worker();
  Status conflict;
  for (const SeenWaiter& seen : *waiters) {
    const layout::Stamp other = seen.waiter.stamp();
    if (other == own_stamp() || older_than(other)) continue;
    const bool known = worker.slots.leased(other.slot) &&
                       worker.executor.now_ns() < worker.slots.refreshed_ns() + kLeaseCounts_ns;
    if (!known) {
      Status status = co_await worker.slots.refresh(&transaction().mutable_counters());
      if (!status.ok()) co_return status;
    }
    if (!worker.slots.leased(other.slot)) {
      Status status = co_await clear(&seen);
      if (!status.ok()) co_return status;
      continue;
    }
    lockers().priorities.meet(other.counter);
    lockers().guesses.note(seen.record, HeaderWord(), learned());
    conflict = write_conflict(*seen.table);
  }
  co_return conflict;
}

// The waiter is dead.
reactor::Task<Status> WaitDie::clear(const SeenWaiter* seen) {
  txn::BatchSet batches(transaction().worker().cluster);
  const fabric::LocalBuffer found(transaction().worker().cluster.pool(), 8);
  batches.compare_and_swap(seen->record + layout::waiter_offset(seen->table->record), seen->waiter.value(), 0,
                           found.data());
  const Status status = co_await batches.run(transaction().mutable_counters(), Stage::lock);
  if (!status.ok()) {
    own_slot().channel_failed();
    co_return lost_connection(status);
  }
  co_return Status();
}

void WaitDie::add_unlocks(txn::BatchSet& batches) {
  TwoPhaseLocking::add_unlocks(batches);
  for (const Announced& each : announced_)
    batches.compare_and_swap(each.word, own_lock().value(), 0, each.found.data());
}

bool WaitDie::unlocks_beside(layout::ServerId server) const {
  return TwoPhaseLocking::unlocks_beside(server) ||
         std::ranges::any_of(announced_,
                             [server](const Announced& each) { return each.word.server() != server; });
}

void WaitDie::after_unlock() {
  announced_.clear();
  TwoPhaseLocking::after_unlock();
}

void WaitDie::add_other_words(reactor::PooledVector<HeldLock>& locks) {
  for (const Announced& each : announced_) locks.push_back({each.word, HeaderWord(), own_lock()});
  announced_.clear();
  TwoPhaseLocking::add_other_words(locks);
}

GenerationEnd WaitDie::end(std::uint64_t generation, const Status& outcome, bool wrote) {
  if (outcome.ok() || !outcome.info().retry) transaction().session().priority = 0;
  return TwoPhaseLocking::end(generation, outcome, wrote);
}

std::unique_ptr<WorkerProtocol> make_waitdie_protocol(txn::WorkerState& worker) {
  return std::make_unique<PlainLockingProtocol<WaitDie>>(worker);
}

}  // namespace namdb::protocol
