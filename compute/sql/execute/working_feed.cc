#include "compute/sql/execute/working_feed.h"

#include "compute/sql/execute/run.h"

namespace namdb::sql {

reactor::Task<Status> WorkingFeed::load(Run& run, std::uint64_t /*expected*/) {
  exhausted_ = true;
  const auto rows = run.state.working.find(&table_);
  if (rows == run.state.working.end())
    co_return Status(ErrorCode::internal, "a recursive query has not begun");
  rows_ = rows->second;
  run.work.charge(rows_.size() * Work::kRow_units);
  co_return Status();
}

void WorkingFeed::show(const Run& /*run*/, std::size_t row, EvalContext& context) {
  context.values = rows_[row];
}

}  // namespace namdb::sql
