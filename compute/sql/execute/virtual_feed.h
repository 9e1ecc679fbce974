// The rows of a virtual table: all at once. Those of the catalog's relations are made once for a statement,
// or, where its condition asks about one relation, only those about it.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "compute/sql/execute/row_feed.h"
#include "compute/sql/system/virtual_table.h"

namespace namdb::sql {

class VirtualFeed final : public RowFeed {
 public:
  // The source, of a virtual table, outlives the feed, and so does the table of a join that it is, or null.
  VirtualFeed(const Source& source, const JoinedSource* joined)
      : source_(source), joined_(joined), table_(*source.virtual_table) {}

  reactor::Task<Status> load(Run& run, std::uint64_t expected) override;
  bool exhausted() const override { return exhausted_; }
  std::size_t size() const override { return rows_.size(); }
  void show(const Run& run, std::size_t row, EvalContext& context) override;

 private:
  Status load_catalog(Run& run);
  // Counts the memory of rows that were made.
  static Status count(Run& run, const SystemRelation& relation, CatalogRows& made);

  const Source& source_;
  const JoinedSource* joined_;
  const VirtualTable& table_;
  bool exhausted_ = false;
  std::span<const std::vector<Datum>> rows_;
  VirtualRows own_rows_;  // of tables that are not the catalog's
  Arena own_arena_;
  std::unique_ptr<CatalogRows> wanted_rows_;  // about one relation
};

}  // namespace namdb::sql
