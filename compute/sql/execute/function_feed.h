// The rows of functions in FROM that read no other table's rows.
#pragma once

#include <vector>

#include "compute/sql/execute/row_feed.h"
#include "compute/sql/execute/set_function.h"

namespace namdb::sql {

class FunctionFeed final : public RowFeed {
 public:
  // The function outlives the feed.
  explicit FunctionFeed(const SetFunction& function) : rows_(function), columns_(function.columns.size()) {}

  reactor::Task<Status> load(Run& run, std::uint64_t expected) override;
  bool exhausted() const override { return exhausted_; }
  std::size_t size() const override { return values_.size() / columns_; }
  void show(const Run& run, std::size_t row, EvalContext& context) override;

 private:
  SetFunctionRows rows_;
  std::size_t columns_;
  bool begun_ = false;
  bool exhausted_ = false;
  std::vector<Datum> values_;  // of the batch's rows, end to end
};

}  // namespace namdb::sql
