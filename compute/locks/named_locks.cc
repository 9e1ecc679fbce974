#include "compute/locks/named_locks.h"

#include <algorithm>
#include <utility>

#include "common/layout/key.h"
#include "common/layout/row.h"

namespace namdb::txn {
namespace {

enum LockColumn : std::uint32_t { kSpace, kKey, kSlot, kHolder };

// Of an engine's attempts: many sessions may want one lock.
constexpr std::uint32_t kMoreAttempts = 16;
// An answer that a slot has not ended counts for so long.
constexpr std::uint64_t kAskAgain_ns = 100 * kMillisecond_ns;
constexpr std::size_t kMostSlots = 4096;
constexpr std::uint64_t kReleasePause_ns = 20 * kMillisecond_ns;

TableDefinition locks_definition() {
  std::vector<layout::Column> columns = {{.name = "space", .not_null = true},
                                         {.name = "key", .not_null = true},
                                         {.name = "slot", .not_null = true},
                                         {.name = "holder", .not_null = true}};
  TableDefinition made;
  made.name = NamedLocks::kTable;
  made.schema = std::move(*layout::Schema::create(std::move(columns), {kSpace, kKey}));
  return made;
}

layout::Key key_of(const storage::Table& table, const LockName& name) {
  layout::Key key(table.schema);
  key.integer(name.space).integer(name.key);
  return key;
}

// The transaction's outcome is known, or it is repeated.
bool tries_again(const Status& status) {
  return !status.ok() && (status.info().retry || status.code() == ErrorCode::unknown_outcome);
}

reactor::Task<Status> fetch_and_commit(Transaction* transaction) {
  if (Status status = co_await transaction->fetch(); !status.ok()) co_return status;
  co_return co_await transaction->commit();
}

}  // namespace

NamedLocks::Holder NamedLocks::draw_holder() {
  return static_cast<Holder>(engine_.executor().random().next() >> 1);
}

reactor::Task<Result<std::shared_ptr<const SlotLease>>> NamedLocks::lease() {
  while (leasing_) co_await changed_.wait();
  if (lease_ == nullptr || lease_->ended()) {
    leasing_ = true;
    auto leased = co_await engine_.lease_slot();
    leasing_ = false;
    changed_.notify_all();
    if (!leased.ok()) co_return leased.status();
    lease_ = std::move(*leased);
  }
  co_return lease_;
}

reactor::Task<Result<bool>> NamedLocks::has_ended(std::uint32_t slot) {
  const std::uint64_t now_ns = engine_.executor().fresh_now_ns();
  const auto known = slots_.find(slot);
  if (known != slots_.end() && (known->second.ended || now_ns - known->second.asked_ns < kAskAgain_ns))
    co_return known->second.ended;
  const auto ended = co_await engine_.slot_ended(slot);
  if (!ended.ok()) co_return ended.status();
  if (slots_.size() >= kMostSlots) slots_.clear();
  slots_[slot] = {*ended, now_ns};
  co_return *ended;
}

reactor::Task<Status> NamedLocks::try_take(std::vector<WantedLock>* wanted, const SlotLease* lease,
                                           Holder holder) {
  Status status;
  for (std::uint32_t attempt = 1; attempt <= kMoreAttempts * engine_.retry_options().max_attempts;) {
    std::vector<std::uint32_t> unknown;  // slots of holders of which it is not known whether they have ended
    status = co_await take_once(wanted, lease->slot(), holder, &unknown);
    if (!status.ok() && !tries_again(status)) co_return status;
    bool ended = false;
    for (const std::uint32_t slot : unknown) {
      const auto result = co_await has_ended(slot);
      if (!result.ok()) co_return result.status();
      ended = ended || *result;
    }
    // A lock of such a holder is free.
    if (status.ok() && !ended) co_return status;
    if (!status.ok()) co_await engine_.backoff(attempt++);
  }
  co_return status;
}

reactor::Task<Status> NamedLocks::take_once(std::vector<WantedLock>* wanted, std::uint32_t slot,
                                            Holder holder, std::vector<std::uint32_t>* unknown) {
  const auto table = co_await find_or_create(&engine_, locks_definition());
  if (!table.ok()) co_return table.status();
  const auto session = engine_.open_session();
  const auto transaction = engine_.begin(*session);
  std::vector<RowId> ids;
  for (const WantedLock& lock : *wanted) {
    const layout::Key key = key_of(**table, lock.name);
    ids.push_back(transaction->get(*table, key.bytes()));
  }
  Status status = co_await transaction->fetch();
  if (!status.ok()) co_return status;
  bool writes = false;
  for (std::size_t i = 0; i < wanted->size(); ++i) {
    WantedLock& lock = (*wanted)[i];
    lock.taken = true;
    if (!transaction->found(ids[i])) {
      layout::Row row((*table)->schema);
      layout::RowWriter values = row.writer();
      const std::pair<LockColumn, std::int64_t> columns[] = {
          {kSpace, lock.name.space}, {kKey, lock.name.key}, {kSlot, slot}, {kHolder, holder}};
      for (const auto& [column, value] : columns) {
        if (Status set = values.set_integer(column, value); !set.ok()) co_return set;
      }
      transaction->insert(*table, row.bytes());
      writes = true;
      continue;
    }
    const layout::RowView held = transaction->row(ids[i]);
    const auto held_slot = static_cast<std::uint32_t>(held.integer(kSlot));
    if (held_slot == slot && held.integer(kHolder) == holder) continue;
    const auto known = slots_.find(held_slot);
    if (held_slot == slot || known == slots_.end() || !known->second.ended) {
      lock.taken = false;
      if (held_slot != slot) unknown->push_back(held_slot);
      continue;
    }
    layout::RowWriter values = transaction->update(ids[i]);
    if (Status set = values.set_integer(kSlot, slot); !set.ok()) co_return set;
    if (Status set = values.set_integer(kHolder, holder); !set.ok()) co_return set;
    writes = true;
  }
  // Without a commit nothing is validated, and there is nothing to conclude but that others hold some.
  if (!writes) co_return Status();
  // A duplicate that the fetch finds is another session's row, which came meanwhile.
  status = co_await fetch_and_commit(transaction.get());
  if (!status.ok() && status.code() == ErrorCode::duplicate_key)
    co_return Status(ErrorCode::serialization_failure, "the lock was taken meanwhile");
  co_return status;
}

void NamedLocks::release(std::vector<LockName> names, std::shared_ptr<const SlotLease> lease, Holder holder,
                         std::shared_ptr<Releases> releases) {
  ++releases->under_way;
  engine_.executor().spawn(gate_,
                           release_all(std::move(names), std::move(lease), holder, std::move(releases)));
}

// A lock that is not given back stays while this worker lives, so this goes on until it is.
reactor::Task<void> NamedLocks::release_all(std::vector<LockName> names,
                                            std::shared_ptr<const SlotLease> lease, Holder holder,
                                            std::shared_ptr<Releases> releases) {
  for (std::uint32_t attempt = 1; !lease->ended(); ++attempt) {
    const Status status = co_await erase_once(&names, lease->slot(), holder);
    if (status.ok() || gate_.closing()) break;
    if (tries_again(status)) {
      co_await engine_.backoff(attempt);
    } else {
      co_await engine_.executor().sleep_for(kReleasePause_ns);
    }
  }
  --releases->under_way;
  releases->changed.notify_all();
  changed_.notify_all();
}

reactor::Task<Status> NamedLocks::erase_once(const std::vector<LockName>* names, std::uint32_t slot,
                                             Holder holder) {
  std::string table_name = kTable;
  const auto table = co_await engine_.table(std::move(table_name));
  if (!table.ok()) co_return table.status().code() == ErrorCode::undefined_table ? Status() : table.status();
  const auto session = engine_.open_session();
  const auto transaction = engine_.begin(*session);
  std::vector<RowId> ids;
  for (const LockName& name : *names) {
    const layout::Key key = key_of(**table, name);
    ids.push_back(transaction->get(*table, key.bytes()));
  }
  Status status = co_await transaction->fetch();
  if (!status.ok()) co_return status;
  for (const RowId id : ids) {
    if (!transaction->found(id)) continue;
    const layout::RowView held = transaction->row(id);
    if (held.integer(kSlot) == slot && held.integer(kHolder) == holder) transaction->erase(id);
  }
  co_return co_await transaction->commit();
}

reactor::Task<void> NamedLocks::wait_for_change(std::uint64_t until_ns) {
  co_await changed_.wait_until(until_ns);
}

reactor::Task<void> NamedLocks::close() {
  co_await gate_.close();
  lease_.reset();
}

}  // namespace namdb::txn
