// The rows that a transaction has asked for by key, with what it is going to write of them: one Access each,
// in the order in which they were asked for. An access stays where it is until the transaction ends.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "common/reactor/stable_vector.h"
#include "compute/api/table.h"
#include "compute/api/transaction.h"
#include "compute/cluster/location_cache.h"
#include "compute/txn/access.h"
#include "compute/txn/row_places.h"

namespace namdb::protocol {

class ReadWriteSet {
 public:
  using Rows = reactor::PooledInlinedVector<txn::RowId, 16>;

  Accesses& accesses() { return accesses_; }
  Access& operator[](txn::RowId row) { return accesses_[row]; }
  const Access& operator[](txn::RowId row) const { return accesses_[row]; }

  // The row with that key, added to the set and to the rows to fetch if it is not there yet; `row` is its
  // position. `locations`: prefetches what is cached of a new row's place.
  Access& access(const storage::TableRef& table, std::span<const std::byte> key,
                 storage::LocationCache& locations, txn::RowId& row);
  // Null if there is none.
  const Access* find(const storage::Table& table, std::span<const std::byte> key);

  // The next fetch() has the row, too.
  void fetch_next(txn::RowId row) { unfetched_.push_back(row); }
  bool has_unfetched() const { return !unfetched_.empty(); }
  Rows take_unfetched() { return std::exchange(unfetched_, {}); }

  bool has_writes() const;

  // Writes are kept as they were at a savepoint, so that they can be brought back. The number of those kept
  // is the savepoint's mark.
  std::size_t savepoint() {
    ++period_;
    return kept_.size();
  }
  // Before each change of what is to be written of a row.
  void before_write(txn::RowId row) {
    if (period_ != 0 && accesses_[row].saved != period_) keep(row);
  }
  void rollback_to(std::size_t mark);
  // The transaction has ended: frees the rows that were asked for last.
  void drop_last(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) accesses_.pop_back();
  }

 private:
  // Rows of several tables with the same key are not alike.
  static std::uint64_t place(std::uint32_t table, std::uint64_t hash) {
    return hash ^ (table * 0x9e3779b97f4a7c15ULL);
  }
  // The write of a row as it was.
  struct Kept {
    txn::RowId row = 0;
    WriteKind write = WriteKind::none;
    bool insert_asked = false;
    std::vector<std::byte> image_row;
  };
  void keep(txn::RowId row);

  Access* find(std::uint32_t table, std::span<const std::byte> key, std::uint64_t hash, txn::RowId& row);
  static bool is_of(const Access& access, std::uint32_t table, std::span<const std::byte> key,
                    std::uint64_t hash);
  // The same in places_.
  Access* find_place(std::uint32_t table, std::span<const std::byte> key, std::uint64_t hash,
                     txn::RowId& row);
  // There are many rows, and the key comes behind those of all others of the table. Known of one table only.
  bool comes_last(const storage::Table& table, std::span<const std::byte> key);

  // The set's own reference to the table: one for all of its rows.
  const storage::TableRef& hold(const storage::TableRef& table);

  reactor::StableVector<storage::TableRef> tables_;
  Accesses accesses_;
  reactor::PooledInlinedVector<std::uint64_t, 16> first_places_;  // of the first rows, place() of each
  // Used once there are many rows; has the rows before indexed_. Rows that come in the order of their keys,
  // as in most large loads, enter it only when a row is looked up.
  RowPlaces places_;
  std::size_t indexed_ = 0;
  std::optional<txn::RowId> last_;  // the row of its table with the greatest key, once there are many rows
  Rows unfetched_;
  std::vector<Kept> kept_;
  std::uint32_t period_ = 0;  // 0: there was no savepoint
};

}  // namespace namdb::protocol
