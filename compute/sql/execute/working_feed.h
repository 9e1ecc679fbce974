// The rows that the last round of a recursive query has given.
#pragma once

#include <span>

#include "compute/sql/execute/row_feed.h"
#include "compute/sql/plan/plan.h"

namespace namdb::sql {

class WorkingFeed final : public RowFeed {
 public:
  explicit WorkingFeed(const WorkingTable& table) : table_(table) {}

  reactor::Task<Status> load(Run& run, std::uint64_t expected) override;
  bool exhausted() const override { return exhausted_; }
  std::size_t size() const override { return rows_.size(); }
  void show(const Run& run, std::size_t row, EvalContext& context) override;

 private:
  const WorkingTable& table_;
  bool exhausted_ = false;
  std::span<const std::span<const Datum>> rows_;
};

}  // namespace namdb::sql
