#include "compute/txn/read_write_set.h"

#include <algorithm>
#include <cstring>

namespace namdb::protocol {

using txn::RowId;

namespace {

constexpr std::size_t kLinearSearch = 48;
constexpr std::size_t kPrefetched =
    256;  // rows of a fetch; of many that are inserted no location is asked for

// An order of a column's fields, by their bytes; that of the values, where those are not negative.
int compare_fields(const layout::Column& column, const std::byte* left, const std::byte* right) {
  const std::uint32_t length_bytes = column.field_bytes();
  if (column.is_string()) {
    const int order = std::memcmp(left + 2, right + 2, length_bytes - 2);
    return order != 0 ? order : std::memcmp(left, right, 2);
  }
  for (std::uint32_t i = length_bytes; i-- != 0;) {
    if (left[i] != right[i]) return left[i] < right[i] ? -1 : 1;
  }
  return 0;
}

bool comes_behind(const layout::Schema& schema, std::span<const std::byte> key,
                  std::span<const std::byte> other) {
  std::size_t at = 0;
  for (const std::uint32_t position : schema.key()) {
    const layout::Column& column = schema.columns()[position];
    const int order = compare_fields(column, key.data() + at, other.data() + at);
    if (order != 0) return order > 0;
    at += column.field_bytes();
  }
  return false;
}

}  // namespace

Access* ReadWriteSet::find(std::uint32_t table, std::span<const std::byte> key, std::uint64_t hash,
                           RowId& row) {
  if (accesses_.size() > kLinearSearch) return find_place(table, key, hash, row);
  const std::uint64_t wanted = place(table, hash);
  for (std::size_t i = 0; i < accesses_.size(); ++i) {
    if (first_places_[i] != wanted || !is_of(accesses_[i], table, key, hash)) continue;
    row = static_cast<RowId>(i);
    return &accesses_[i];
  }
  return nullptr;
}

bool ReadWriteSet::is_of(const Access& access, std::uint32_t table, std::span<const std::byte> key,
                         std::uint64_t hash) {
  return access.key_hash == hash && access.table->id == table && std::ranges::equal(access.key, key);
}

Access* ReadWriteSet::find_place(std::uint32_t table, std::span<const std::byte> key, std::uint64_t hash,
                                 RowId& row) {
  for (; indexed_ != accesses_.size(); ++indexed_) {
    const Access& access = accesses_[indexed_];
    places_.add(place(access.table->id, access.key_hash), static_cast<RowId>(indexed_));
  }
  const auto found =
      places_.find(place(table, hash), [&](RowId each) { return is_of(accesses_[each], table, key, hash); });
  if (!found) return nullptr;
  row = *found;
  return &accesses_[row];
}

bool ReadWriteSet::comes_last(const storage::Table& table, std::span<const std::byte> key) {
  if (accesses_.size() <= kLinearSearch) return false;
  if (!last_) {
    for (std::size_t i = 0; i < accesses_.size(); ++i) {
      if (accesses_[i].table->id != table.id) continue;
      if (!last_ || comes_behind(table.schema, accesses_[i].key, accesses_[*last_].key))
        last_ = static_cast<RowId>(i);
    }
    if (!last_) return false;
  }
  const Access& last = accesses_[*last_];
  return last.table->id == table.id && comes_behind(table.schema, key, last.key);
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
  if (comes_last(*table, key)) {
    last_ = added;
  } else if (Access* known = find(table->id, key, hash, row)) {
    return *known;
  }
  if (added <= kLinearSearch) first_places_.push_back(place(table->id, hash));
  if (unfetched_.size() < kPrefetched) locations.prefetch(hash);
  row = added;
  unfetched_.push_back(row);
  return accesses_.emplace_back(hold(table), key, hash);
}

// To count references takes an atomic operation each time, which waits for all stores before it.
const storage::TableRef& ReadWriteSet::hold(const storage::TableRef& table) {
  const auto known = std::ranges::find(tables_, table);
  return known != tables_.end() ? *known : tables_.emplace_back(table);
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
