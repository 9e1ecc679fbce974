#include "compute/sql/execute/function_feed.h"

#include "compute/sql/execute/run.h"

namespace namdb::sql {

reactor::Task<Status> FunctionFeed::load(Run& run, std::uint64_t /*expected*/) {
  if (!begun_) {
    if (Status status = rows_.begin(run.context()); !status.ok()) co_return status;
    begun_ = true;
  }
  values_.clear();
  while (size() < kFetchRows && !exhausted_) {
    values_.resize(values_.size() + columns_);
    exhausted_ = !rows_.next(std::span(values_).last(columns_));
    if (exhausted_) values_.resize(values_.size() - columns_);
  }
  run.work.charge(size() * Work::kRow_units);
  co_return Status();
}

void FunctionFeed::show(const Run& /*run*/, std::size_t row, EvalContext& context) {
  context.values = std::span(values_).subspan(row * columns_, columns_);
}

}  // namespace namdb::sql
