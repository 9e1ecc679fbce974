// The rows of one source: by primary key, by a scan, of a virtual or a derived table, of a function, or one
// row without columns. They are not filtered.
#pragma once

#include <memory>
#include <vector>

#include "compute/sql/execute/query_feed.h"
#include "compute/sql/execute/row_feed.h"
#include "compute/sql/execute/set_function.h"
#include "compute/sql/execute/source_keys.h"
#include "compute/sql/execute/source_scan.h"
#include "compute/sql/system/virtual_table.h"

namespace namdb::sql {

class SourceFeed final : public RowFeed {
 public:
  // The source outlives the feed.
  explicit SourceFeed(const Source& source) : source_(source), scan_(source) {
    if (source.derived != nullptr) derived_ = std::make_unique<QueryFeed>(*source.derived);
    if (source.function != nullptr) function_ = std::make_unique<SetFunctionRows>(*source.function);
  }

  reactor::Task<Status> load(Run& run, std::uint64_t expected) override;
  bool exhausted() const override { return derived_ != nullptr ? derived_->exhausted() : exhausted_; }
  std::size_t size() const override;
  void show(const Run& run, std::size_t row, EvalContext& context) override;

 private:
  reactor::Task<Status> load_by_key(Run& run);
  Status load_function(Run& run);
  Status load_catalog(Run& run, const SystemRelation& relation);

  const Source& source_;
  bool exhausted_ = false;
  std::unique_ptr<QueryFeed> derived_;
  // Of a function: its rows, and those of them that were loaded last, end to end.
  std::unique_ptr<SetFunctionRows> function_;
  bool function_has_begun_ = false;
  std::vector<Datum> function_values_;
  SourceScan scan_;
  std::vector<layout::Row> batch_;
  // For access by primary key: all keys, and the rows of those that were fetched last.
  Keys keys_;
  bool have_keys_ = false;
  std::size_t key_position_ = 0;
  std::vector<txn::RowId> key_rows_;
  std::span<const std::span<const Datum>> working_rows_;
  std::span<const std::vector<Datum>> virtual_rows_;
  VirtualRows own_virtual_rows_;  // of tables that are not the catalog's
  Arena virtual_arena_;
  layout::RowView view_;
};

}  // namespace namdb::sql
