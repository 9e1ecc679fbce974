#include "compute/txn/read_write_set.h"

#include <algorithm>

namespace namdb::protocol {

using txn::RowId;

namespace {

constexpr std::size_t kLinearSearch = 48;

}  // namespace

Access* ReadWriteSet::find(std::uint32_t table, std::span<const std::byte> key, std::uint64_t hash,
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
  if (by_place_.empty()) {
    for (std::size_t i = 0; i < accesses_.size(); ++i)
      by_place_[place(accesses_[i].table->id, accesses_[i].key_hash)].push_back(static_cast<RowId>(i));
  }
  const auto known = by_place_.find(place(table, hash));
  if (known == by_place_.end()) return nullptr;
  for (const RowId each : known->second) {
    if (!same(accesses_[each])) continue;
    row = each;
    return &accesses_[row];
  }
  return nullptr;
}

const Access* ReadWriteSet::find(const storage::Table& table, std::span<const std::byte> key) {
  RowId row = 0;
  return accesses_.empty() ? nullptr : find(table.id, key, table.hash_of(key), row);
}

Access& ReadWriteSet::access(const storage::TableRef& table, std::span<const std::byte> key,
                             storage::LocationCache& locations, RowId& row) {
  NAMDB_CHECK(key.size() == table->schema.key_bytes());
  const std::uint64_t hash = table->hash_of(key);
  if (Access* known = find(table->id, key, hash, row)) return *known;
  locations.prefetch(hash);
  row = static_cast<RowId>(accesses_.size());
  Access& fresh = accesses_.emplace_back(table, key, hash);
  if (!by_place_.empty()) by_place_[place(table->id, hash)].push_back(row);
  unfetched_.push_back(row);
  return fresh;
}

bool ReadWriteSet::has_writes() const {
  return std::ranges::any_of(accesses_, [](const Access& access) { return access.write != WriteKind::none; });
}

}  // namespace namdb::protocol
