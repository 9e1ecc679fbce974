// The rows of one source: by primary key, by a scan, of rows that are made and not stored, or one row without
// columns. They are not filtered.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "compute/sql/execute/row_feed.h"
#include "compute/sql/execute/source_keys.h"
#include "compute/sql/execute/source_scan.h"

namespace namdb::sql {

class SourceFeed final : public RowFeed {
 public:
  // The source outlives the feed.
  explicit SourceFeed(const Source& source);
  // The feed of a table of a join.
  explicit SourceFeed(const JoinedSource& joined);
  // If it is a scan (SourceScan::read_only).
  void read_only(std::vector<std::uint32_t> columns) { scan_.read_only(std::move(columns)); }

  reactor::Task<Status> load(Run& run, std::uint64_t expected) override;
  bool exhausted() const override { return made_ != nullptr ? made_->exhausted() : exhausted_; }
  std::size_t size() const override;
  void show(const Run& run, std::size_t row, EvalContext& context) override;
  const txn::RowBlock* stored() const override {
    return made_ == nullptr && source_.table != nullptr && source_.key.empty() ? &batch_ : nullptr;
  }

 private:
  SourceFeed(const Source& source, const JoinedSource* joined);
  reactor::Task<Status> load_by_key(Run& run);

  const Source& source_;
  bool exhausted_ = false;
  std::unique_ptr<RowFeed> made_;  // of a source that is not stored; otherwise null
  SourceScan scan_;
  txn::RowBlock batch_;
  // For access by primary key: all keys, and the rows of those that were fetched last.
  Keys keys_;
  bool have_keys_ = false;
  std::size_t key_position_ = 0;
  std::vector<txn::RowId> key_rows_;
  layout::RowView view_;
};

}  // namespace namdb::sql
