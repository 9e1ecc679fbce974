// The rows of a virtual table: all at once. Those of the catalog's relations are made once for a statement.
#pragma once

#include <span>
#include <vector>

#include "compute/sql/execute/row_feed.h"
#include "compute/sql/system/virtual_table.h"

namespace namdb::sql {

class VirtualFeed final : public RowFeed {
 public:
  explicit VirtualFeed(const VirtualTable& table) : table_(table) {}

  reactor::Task<Status> load(Run& run, std::uint64_t expected) override;
  bool exhausted() const override { return exhausted_; }
  std::size_t size() const override { return rows_.size(); }
  void show(const Run& run, std::size_t row, EvalContext& context) override;

 private:
  Status load_catalog(Run& run);

  const VirtualTable& table_;
  bool exhausted_ = false;
  std::span<const std::vector<Datum>> rows_;
  VirtualRows own_rows_;  // of tables that are not the catalog's
  Arena own_arena_;
};

}  // namespace namdb::sql
