// Looking up the rows at both ends of foreign keys: many keys at a time.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compute/sql/execute/gathered_memory.h"
#include "compute/sql/execute/gathered_rows.h"
#include "compute/sql/execute/run.h"
#include "compute/sql/plan/foreign_key_graph.h"

namespace namdb::sql {

// Values of a foreign key's columns that have no NULL among them, each once.
class ForeignKeyValues {
 public:
  // `memory` outlives it.
  explicit ForeignKeyValues(GatheredMemory& memory) : memory_(memory) {}
  ~ForeignKeyValues();
  ForeignKeyValues(const ForeignKeyValues&) = delete;
  ForeignKeyValues& operator=(const ForeignKeyValues&) = delete;

  // The values of a row; `others`: of the same row after its change, kept with them. Without effect if they
  // are there.
  Status add(Run& run, const layout::RowView& row, const std::vector<std::uint32_t>& columns,
             const layout::RowView* others);
  std::size_t size() const { return rows_.size(); }
  std::span<const Datum> operator[](std::size_t i) const { return rows_[i]; }
  std::span<const Datum> others(std::size_t i) const { return others_[i]; }
  // The position of a row's values; nullopt: they are not there.
  std::optional<std::size_t> find(Run& run, const layout::RowView& row,
                                  const std::vector<std::uint32_t>& columns) const;

 private:
  GatheredMemory& memory_;
  std::size_t counted_bytes_ = 0;
  GatheredRows rows_;
  GatheredRows others_;
  absl::flat_hash_map<std::string, std::size_t> places_;
};

// How many of these columns are NULL.
std::size_t count_nulls(const layout::RowView& row, const std::vector<std::uint32_t>& columns);
// Whether the rows differ in these columns.
bool differ(Run& run, const layout::RowView& left, const layout::RowView& right,
            const std::vector<std::uint32_t>& columns);

// Looks up the parents that have those values, from `first` on, at most kForeignKeysAtOnce of them. `parents`
// gets one for each; none where there is no such row. `hold`: they are held until the commit.
inline constexpr std::size_t kForeignKeysAtOnce = 1024;
reactor::Task<Status> find_parents(Run* run, const ForeignKeyGraph* graph,
                                   const ForeignKeyGraph::Reference* reference,
                                   const ForeignKeyValues* values, std::size_t first, bool hold,
                                   std::vector<std::optional<txn::RowId>>* parents);

struct FoundChild {
  txn::RowId row = 0;
  std::size_t value = 0;  // the position of its values
};
// Looks up the children that have one of those values, as the transaction sees them. `any`: one will do.
reactor::Task<Status> find_children(Run* run, const ForeignKeyGraph* graph,
                                    const ForeignKeyGraph::Reference* reference,
                                    const ForeignKeyValues* values, bool any,
                                    std::vector<FoundChild>* children);

}  // namespace namdb::sql
