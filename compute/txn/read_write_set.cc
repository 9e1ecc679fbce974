#include "compute/txn/read_write_set.h"

#include <algorithm>

namespace namdb::protocol {

using txn::RowId;

namespace {

constexpr std::size_t kLinearSearch = 48;

}  // namespace

Access* ReadWriteSet::find(std::uint32_t table, std::span<const std::byte> key, std::uint64_t hash,
                           RowId& row) {
  if (accesses_.size() <= kLinearSearch) {
    for (std::size_t i = 0; i < accesses_.size(); ++i) {
      if (!is_of(accesses_[i], table, key, hash)) continue;
      row = static_cast<RowId>(i);
      return &accesses_[i];
    }
    return nullptr;
  }
  index_places();
  return find_place(table, key, hash, row);
}

bool ReadWriteSet::is_of(const Access& access, std::uint32_t table, std::span<const std::byte> key,
                         std::uint64_t hash) {
  return access.key_hash == hash && access.table->id == table && std::ranges::equal(access.key, key);
}

Access* ReadWriteSet::find_place(std::uint32_t table, std::span<const std::byte> key, std::uint64_t hash,
                                 RowId& row) {
  const auto found =
      places_.find(place(table, hash), [&](RowId each) { return is_of(accesses_[each], table, key, hash); });
  if (!found) return nullptr;
  row = *found;
  return &accesses_[row];
}

void ReadWriteSet::index_places() {
  if (!places_.empty()) return;
  for (std::size_t i = 0; i < accesses_.size(); ++i)
    places_.add(place(accesses_[i].table->id, accesses_[i].key_hash), static_cast<RowId>(i));
}

const Access* ReadWriteSet::find(const storage::Table& table, std::span<const std::byte> key) {
  RowId row = 0;
  return accesses_.empty() ? nullptr : find(table.id, key, table.hash_of(key), row);
}

Access& ReadWriteSet::access(const storage::TableRef& table, std::span<const std::byte> key,
                             storage::LocationCache& locations, RowId& row) {
  NAMDB_CHECK(key.size() == table->schema.key_bytes());
  const std::uint64_t hash = table->hash_of(key);
  const auto added = static_cast<RowId>(accesses_.size());
  if (accesses_.size() <= kLinearSearch) {
    if (Access* known = find(table->id, key, hash, row)) return *known;
    if (!places_.empty()) places_.add(place(table->id, hash), added);
  } else {
    index_places();
    if (Access* known = find_place(table->id, key, hash, row)) return *known;
    places_.add(place(table->id, hash), added);
  }
  locations.prefetch(hash);
  row = added;
  unfetched_.push_back(row);
  return accesses_.emplace_back(table, key, hash);
}

void ReadWriteSet::keep(RowId row) {
  Access& access = accesses_[row];
  access.saved = period_;
  Kept& kept = kept_.emplace_back();
  kept.row = row;
  kept.write = access.write;
  kept.insert_asked = access.insert_asked;
  if (access.write == WriteKind::none) return;
  const std::span<const std::byte> image = access.image_row();
  kept.image_row.assign(image.begin(), image.end());
}

void ReadWriteSet::rollback_to(std::size_t mark) {
  while (kept_.size() > mark) {
    const Kept kept = std::move(kept_.back());
    kept_.pop_back();
    Access& access = accesses_[kept.row];
    // Others may know the transaction by its id.
    if (access.table->name == storage::kTransactionsTable) continue;
    access.write = kept.write;
    access.insert_asked = kept.insert_asked;
    if (kept.write != WriteKind::none) std::ranges::copy(kept.image_row, access.image_row().begin());
  }
  for (std::size_t row = 0; row < accesses_.size(); ++row) accesses_[row].duplicate = false;
  // Later changes are kept anew.
  ++period_;
}

bool ReadWriteSet::has_writes() const {
  return std::ranges::any_of(accesses_, [](const Access& access) { return access.write != WriteKind::none; });
}

}  // namespace namdb::protocol
