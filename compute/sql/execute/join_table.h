// A table of a join that is read whole and kept in memory, with its rows by the values of its hash keys.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/reactor/task.h"
#include "compute/sql/execute/gathered_memory.h"
#include "compute/sql/execute/run.h"
#include "compute/sql/plan/plan.h"

namespace namdb::sql {

class JoinTableRows {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  // The plan outlives this. `slots`: of a joined row.
  JoinTableRows(const JoinedSource& joined, std::size_t slots);

  // Reads the rows that meet the source's filter. Lets other sessions have their turns.
  reactor::Task<Status> read(Run& run);

  // Rows whose keys equal those bytes, which must not contain a NULL; without hash keys, all rows. They come
  // as they were read. kNone: no more.
  std::uint32_t first(std::string_view key) const;
  std::uint32_t next(std::uint32_t row) const;
  // All of them: those that match nothing because a key is NULL, too, with JoinKind::full.
  std::uint32_t size() const { return static_cast<std::uint32_t>(rows_.size()); }
  // One value for each of the plan's reads.
  std::span<const Datum> values(std::uint32_t row) const { return {rows_[row], joined_.reads.size()}; }

 private:
  reactor::Task<Status> add(Run& run, std::span<Datum> slots);
  Status keep(Run& run, std::span<const Datum> slots);

  const JoinedSource& joined_;
  std::vector<Datum> slots_;  // of the row that is added
  Arena arena_;               // of the rows that are kept
  std::vector<const Datum*> rows_;
  // Of rows with equal keys the last one, and behind each of them the next one as they were read; behind the
  // last one the first.
  std::vector<std::uint32_t> next_;
  absl::flat_hash_map<std::string_view, std::uint32_t> last_;
  GatheredMemory memory_;
};

// The values of the expressions, as bytes by which rows are found. `null`: one of them is NULL, so that the
// row matches none. When the work is paused it is called again.
Status join_key(const std::vector<ExprPtr>& keys, const EvalContext& context, std::string& bytes, bool& null);

}  // namespace namdb::sql
