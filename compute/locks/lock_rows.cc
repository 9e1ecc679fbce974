#include "compute/locks/lock_rows.h"

#include <initializer_list>
#include <map>
#include <utility>

#include "common/layout/key.h"
#include "common/layout/row.h"
#include "compute/api/server_table.h"

namespace namdb::txn {
namespace {

enum LockColumn : std::uint32_t { kSpace, kKey, kSlot, kHolder };
enum ShareColumn : std::uint32_t { kShareSpace, kShareKey, kSharePlace, kShareSlot, kShareHolder };

// The slot of a lock that sessions share.
constexpr std::int64_t kShared = -1;

TableDefinition locks_definition() {
  std::vector<layout::Column> columns = {{.name = "space", .not_null = true},
                                         {.name = "key", .not_null = true},
                                         {.name = "slot", .not_null = true},
                                         {.name = "holder", .not_null = true}};
  TableDefinition made;
  made.name = kLocksTable;
  made.schema = std::move(*layout::Schema::create(std::move(columns), {kSpace, kKey}));
  return made;
}

TableDefinition shares_definition() {
  std::vector<layout::Column> columns = {{.name = "space", .not_null = true},
                                         {.name = "key", .not_null = true},
                                         {.name = "place", .not_null = true},
                                         {.name = "slot", .not_null = true},
                                         {.name = "holder", .not_null = true}};
  TableDefinition made;
  made.name = kLockSharesTable;
  made.schema = std::move(*layout::Schema::create(std::move(columns), {kShareSpace, kShareKey, kSharePlace}));
  return made;
}

Status not_of_one_moment() {
  return Status(ErrorCode::serialization_failure, "the lock was changed meanwhile");
}

Status set_integers(layout::RowWriter& values,
                    std::initializer_list<std::pair<std::uint32_t, std::int64_t>> columns) {
  for (const auto& [column, value] : columns) {
    if (Status status = values.set_integer(column, value); !status.ok()) return status;
  }
  return {};
}

}  // namespace

reactor::Task<Status> LockRows::begin(bool shares) {
  auto table = co_await find_or_create(&engine_, locks_definition());
  if (!table.ok()) co_return table.status();
  table_ = std::move(*table);
  if (shares) {
    auto found = co_await find_or_create(&engine_, shares_definition());
    if (!found.ok()) co_return found.status();
    shares_ = std::move(*found);
  }
  session_ = engine_.open_session();
  transaction_ = engine_.begin(*session_);
  co_return Status();
}

reactor::Task<Status> LockRows::read(std::vector<LockName> names, bool shares) {
  if (Status begun = co_await begin(shares); !begun.ok()) co_return begun;
  std::map<LockName, std::size_t> places;
  for (const LockName& name : names) {
    const auto [place, added] = places.try_emplace(name, locks_.size());
    places_.push_back(place->second);
    if (!added) continue;
    layout::Key key(table_->schema);
    key.integer(name.space).integer(name.key);
    Lock& lock = locks_.emplace_back();
    lock.name = name;
    lock.row = transaction_->get(table_, key.bytes());
  }
  Status status = co_await transaction_->fetch();
  if (!status.ok()) co_return status;
  bool any_shares = false;
  for (Lock& lock : locks_) {
    if (!transaction_->found(lock.row)) continue;
    const layout::RowView row = transaction_->row(lock.row);
    if (row.integer(kSlot) != kShared) {
      lock.mode = LockMode::exclusive;
      lock.owners.push_back({static_cast<std::uint32_t>(row.integer(kSlot)), row.integer(kHolder)});
      continue;
    }
    lock.mode = LockMode::shared;
    const auto count = static_cast<std::size_t>(row.integer(kHolder));
    if (count > kMostShares) co_return Status(ErrorCode::corrupt_data, "a lock is shared by too many");
    lock.shares.resize(count);
    any_shares = true;
  }
  if (any_shares) co_return co_await read_shares();
  co_return Status();
}

reactor::Task<Status> LockRows::read_shares() {
  if (shares_ == nullptr) {
    std::string name = kLockSharesTable;
    auto found = co_await engine_.table(std::move(name));
    if (!found.ok()) co_return found.status();
    shares_ = std::move(*found);
  }
  for (Lock& lock : locks_) {
    for (std::size_t i = 0; i < lock.shares.size(); ++i) {
      layout::Key key(shares_->schema);
      key.integer(lock.name.space).integer(lock.name.key).integer(static_cast<std::int64_t>(i + 1));
      lock.shares[i] = transaction_->get(shares_, key.bytes());
    }
  }
  Status status = co_await transaction_->fetch();
  if (!status.ok()) co_return status;
  for (Lock& lock : locks_) {
    for (const RowId share : lock.shares) {
      if (!transaction_->found(share)) co_return not_of_one_moment();
      const layout::RowView row = transaction_->row(share);
      lock.owners.push_back({static_cast<std::uint32_t>(row.integer(kShareSlot)), row.integer(kShareHolder)});
    }
  }
  co_return Status();
}

Status LockRows::write_row(Lock& lock, std::int64_t slot, std::int64_t holder) {
  const bool is_new = lock.mode == LockMode::none;
  lock.mode = slot == kShared ? LockMode::shared : LockMode::exclusive;
  if (!is_new) {
    layout::RowWriter values = transaction_->update(lock.row);
    return set_integers(values, {{kSlot, slot}, {kHolder, holder}});
  }
  layout::Row row(table_->schema);
  layout::RowWriter values = row.writer();
  Status status = set_integers(
      values, {{kSpace, lock.name.space}, {kKey, lock.name.key}, {kSlot, slot}, {kHolder, holder}});
  if (status.ok()) lock.row = transaction_->insert(table_, row.bytes());
  return status;
}

Status LockRows::write_share(Lock& lock, std::size_t place, const LockOwner& owner) {
  if (place < lock.shares.size()) {
    lock.owners[place] = owner;
    layout::RowWriter values = transaction_->update(lock.shares[place]);
    return set_integers(values, {{kShareSlot, owner.slot}, {kShareHolder, owner.holder}});
  }
  layout::Row row(shares_->schema);
  layout::RowWriter values = row.writer();
  Status status = set_integers(values, {{kShareSpace, lock.name.space},
                                        {kShareKey, lock.name.key},
                                        {kSharePlace, static_cast<std::int64_t>(place + 1)},
                                        {kShareSlot, owner.slot},
                                        {kShareHolder, owner.holder}});
  if (!status.ok()) return status;
  lock.shares.push_back(transaction_->insert(shares_, row.bytes()));
  lock.owners.push_back(owner);
  return status;
}

void LockRows::erase_shares(Lock& lock) {
  for (const RowId share : lock.shares) transaction_->erase(share);
  lock.shares.clear();
  lock.owners.clear();
}

Status LockRows::set_exclusive(std::size_t number, const LockOwner& owner) {
  Lock& lock = at(number);
  erase_shares(lock);
  lock.owners = {owner};
  return write_row(lock, owner.slot, owner.holder);
}

Status LockRows::set_shared(std::size_t number, const LockOwner& owner) {
  Lock& lock = at(number);
  erase_shares(lock);
  Status status = write_share(lock, 0, owner);
  return status.ok() ? write_row(lock, kShared, 1) : status;
}

Status LockRows::add_share(std::size_t number, const LockOwner& owner, std::optional<std::size_t> instead) {
  Lock& lock = at(number);
  NAMDB_CHECK(instead || lock.shares.size() < kMostShares);
  Status status = write_share(lock, instead.value_or(lock.shares.size()), owner);
  return status.ok() ? write_row(lock, kShared, static_cast<std::int64_t>(lock.shares.size())) : status;
}

Status LockRows::remove_share(std::size_t number, std::size_t owner) {
  Lock& lock = at(number);
  if (lock.shares.size() == 1) {
    erase(number);
    return Status();
  }
  const std::size_t last = lock.shares.size() - 1;
  if (owner != last) {
    Status status = write_share(lock, owner, lock.owners[last]);
    if (!status.ok()) return status;
  }
  transaction_->erase(lock.shares[last]);
  lock.shares.pop_back();
  lock.owners.pop_back();
  return write_row(lock, kShared, static_cast<std::int64_t>(last));
}

void LockRows::erase(std::size_t number) {
  Lock& lock = at(number);
  erase_shares(lock);
  lock.owners.clear();
  lock.mode = LockMode::none;
  transaction_->erase(lock.row);
}

reactor::Task<Status> LockRows::commit() {
  // A duplicate that the fetch finds is another session's row, which came meanwhile.
  Status status = co_await fetch_and_commit(transaction_.get());
  if (!status.ok() && status.code() == ErrorCode::duplicate_key) co_return not_of_one_moment();
  co_return status;
}

}  // namespace namdb::txn
