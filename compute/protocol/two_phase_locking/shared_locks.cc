// How readers share rows, and how writers wait for them or give way (reader_words.h).
#include <vector>

#include "common/layout/record_trailer.h"
#include "compute/protocol/two_phase_locking/two_phase_locking.h"
#include "compute/txn/errors.h"
#include "compute/txn/lock_resolver.h"

namespace namdb::protocol {

using layout::GlobalAddress;
using layout::HeaderWord;
using txn::LockResolver;
using txn::RowId;

namespace {

// For a row that changes, or whose words others take, again and again.
constexpr std::uint32_t kMaxShareRounds = 4;

}  // namespace

reactor::Task<Status> TwoPhaseLocking::share(reactor::PooledVector<RowId> wanted) {
  const reactor::PooledVector<SeenWaiter> waiters = waiters_of(wanted);
  if (!waiters.empty()) {
    Status status = co_await meet_waiters(&waiters);
    if (!status.ok()) co_return status;
  }
  for (std::uint32_t round = 0;; ++round) {
    std::erase_if(wanted, [this](RowId row) { return is_shared(transaction().accesses()[row]); });
    if (wanted.empty() || round == kMaxShareRounds) co_return Status();
    Status status = co_await request_shares(&wanted);
    if (!status.ok() || wanted.empty()) co_return status;
    status = co_await read_again(&wanted);
    if (!status.ok()) co_return status;
  }
}

bool TwoPhaseLocking::is_shared(Access& access) {
  if (access.shared || !access.stored()) return true;
  if (!readers_.has(access.lookup)) return false;
  // That READ, which came behind the CAS of the reader word, found it unlocked.
  access.shared = true;
  lockers_.guesses.note(access.lookup.record(), access.lookup.current().header_word(), learned());
  return true;
}

// Those that are to be read again are left in `rows`.
reactor::Task<Status> TwoPhaseLocking::request_shares(reactor::PooledVector<RowId>* rows) {
  txn::WorkerState& worker = transaction().worker();
  txn::BatchSet batches(worker.cluster);
  std::erase_if(*rows, [&](RowId row) {
    Access& access = transaction().accesses()[row];
    if (readers_.post(access.lookup, own_lock(), batches)) return false;
    // All words are taken, perhaps by dead transactions: the row is validated.
    const layout::RecordLayout& layout = access.table->record;
    for (std::uint32_t i = 0; i < layout.reader_words; ++i)
      worker.locks.note(access.lookup.record() + layout.reader_offset(i), access.lookup.reader(i),
                        LockResolver::kReaderWord);
    return true;
  });
  if (rows->empty()) co_return Status();
  const fabric::LocalBuffer headers(worker.cluster.pool(), 8 * rows->size());
  for (std::size_t i = 0; i < rows->size(); ++i)
    batches.read(transaction().accesses()[(*rows)[i]].lookup.record(), headers.data() + 8 * i, 8);
  const Status status = co_await batches.run(transaction().mutable_counters(), Stage::lock);
  if (!status.ok()) {
    readers_.collect();
    own_slot().channel_failed();
    co_return lost_connection(status);
  }
  readers_.collect();
  Status conflict;
  reactor::PooledVector<RowId> again;
  for (std::size_t i = 0; i < rows->size(); ++i) {
    const RowId row = (*rows)[i];
    Access& access = transaction().accesses()[row];
    const HeaderWord found(layout::load_word(headers.data() + 8 * i));
    if (found == access.lookup.current().header_word() && is_shared(access)) continue;
    again.push_back(row);
    if (!found.locked()) continue;
    worker.locks.note(access.lookup.record(), found, access.table->record.body_bytes());
    if (meet_lock(found) != ReadDecision::conflict) continue;
    transaction().meet(access.lookup.record(), found);
    conflict = write_conflict(*access.table);
  }
  *rows = std::move(again);
  co_return conflict;
}

reactor::Task<Status> TwoPhaseLocking::meet_readers() {
  // INSERT of a row that is there ends in duplicate_key: its readers do not matter.
  std::erase_if(unmet_, [](const Held* lock) {
    const Access& access = *lock->access;
    return access.duplicate || (access.insert_asked && access.stored());
  });
  LockWait wait;
  for (std::uint32_t waits = 0;;) {
    std::optional<layout::GlobalAddress> read_by_others;
    Status conflict;
    for (Held*& lock : unmet_) {
      if (!lock->behind) continue;
      const Result<bool> read = meet_readers_of(*lock, wait.since_ns(lock->record));
      if (!read.ok()) {
        conflict = read.status();
      } else if (*read) {
        read_by_others = lock->access->lookup.record();
      } else {
        lock = nullptr;
      }
    }
    std::erase(unmet_, nullptr);
    if (!conflict.ok() || unmet_.empty()) co_return conflict;
    if (read_by_others) {
      Status status = co_await wait_for_lock(&transaction(), &wait, *read_by_others, ++waits);
      if (!status.ok()) co_return status;
    }
    Status status = co_await read_reader_words();
    if (!status.ok()) co_return status;
  }
}

Result<bool> TwoPhaseLocking::meet_readers_of(const Held& lock, std::uint64_t since_ns) {
  const storage::Table& table = *lock.access->table;
  bool read = false;
  for (std::uint32_t i = 0; i < table.record.reader_words; ++i) {
    const HeaderWord reader(layout::load_word(lock.reader(i)));
    if (reader.value() == 0 || reader == own_lock()) continue;
    transaction().worker().locks.note(lock.record + table.record.reader_offset(i), reader,
                                      LockResolver::kReaderWord);
    if (meet_lock(reader) == ReadDecision::conflict) {
      transaction().meet(lock.record, reader, since_ns);
      return write_conflict(table);
    }
    read = true;
  }
  return read;
}

// A word that the first READ did not show belongs to a reader that finds the row locked.
reactor::Task<Status> TwoPhaseLocking::read_reader_words() {
  txn::WorkerState& worker = transaction().worker();
  constexpr std::size_t kBehind_bytes = 8 + 8 * layout::kReaderWords;
  const fabric::LocalBuffer now(worker.cluster.pool(), kBehind_bytes * unmet_.size());
  txn::BatchSet batches(worker.cluster);
  for (std::size_t i = 0; i < unmet_.size(); ++i) {
    const GlobalAddress waiter = unmet_[i]->record + layout::waiter_offset(unmet_[i]->access->table->record);
    batches.read(waiter, now.data() + i * kBehind_bytes, kBehind_bytes);
  }
  ++transaction().mutable_counters().rereads;
  const Status status = co_await batches.run(transaction().mutable_counters(), Stage::lock);
  if (!status.ok()) {
    own_slot().channel_failed();
    co_return lost_connection(status);
  }
  for (std::size_t i = 0; i < unmet_.size(); ++i) {
    Held& lock = *unmet_[i];
    const bool first = !lock.behind;
    if (first) lock.behind = fabric::LocalBuffer(worker.cluster.pool(), kBehind_bytes);
    for (std::uint32_t word = 0; word < layout::kReaderWords; ++word) {
      const std::uint64_t found = layout::load_word(now.data() + i * kBehind_bytes + 8 + 8 * word);
      const bool same = first || layout::load_word(lock.reader(word)) == found;
      layout::store_word(lock.reader(word), same ? found : 0);
    }
  }
  co_return Status();
}

}  // namespace namdb::protocol
