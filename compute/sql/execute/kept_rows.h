// Rows of a portal that are kept, in memory that counts as one of all clients.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compute/sql/execute/inner_sink.h"
#include "compute/sql/system/memory_budget.h"
#include "compute/sql/value/datum.h"

namespace namdb::sql {

class KeptRows {
 public:
  // `budget`: of all clients; null: none.
  explicit KeptRows(MemoryBudget* budget) : share_(budget) {}

  std::size_t size() const { return rows_.size(); }
  std::span<const Datum> operator[](std::size_t row) const { return rows_[row]; }
  void add(std::span<const Datum> values) { rows_.push_back(arena_.keep(values)); }
  // Keeps only that many of the first rows.
  void cut(std::size_t size) {
    rows_.resize(size);
    if (size == 0) arena_.reset();
  }
  void clear() {
    rows_.clear();
    arena_.reset();
  }
  // So much was added since count() that it should be called.
  bool wants_count() const { return bytes() > share_.bytes() + kUncounted_bytes; }
  // Error out_of_memory: the rows may not take as much as they do.
  Status count();

 private:
  static constexpr std::size_t kUncounted_bytes = 4 << 10;

  std::size_t bytes() const { return arena_.allocated_bytes() + rows_.capacity() * sizeof(rows_[0]); }

  std::vector<std::span<const Datum>> rows_;
  Arena arena_;
  MemoryShare share_;
};

// Keeps the rows of a portal's statement, or gives them on to the statement that reads it, or both. Messages
// go on.
class CursorSink final : public InnerSink {
 public:
  // `kept`: receives the rows from that one on, counted from 0; null: none are kept.
  CursorSink(ResultSink& outer, bool gives_rows, KeptRows* kept, std::uint64_t keep_from)
      : InnerSink(outer), gives_rows_(gives_rows), kept_(kept), keep_from_(keep_from) {}

  std::uint64_t rows() const { return rows_; }

  void add_row(std::span<const Datum> values) override {
    if (kept_ != nullptr && rows_ >= keep_from_) kept_->add(values);
    if (gives_rows_) outer().add_row(values);
    ++rows_;
  }
  bool congested() const override {
    return (kept_ != nullptr && kept_->wants_count()) || (gives_rows_ && outer().congested());
  }
  reactor::Task<Status> relieve() override;
  // For rows that are all kept and not given on.
  std::uint64_t position() const override { return rows_; }
  bool rewind(std::uint64_t position) override;

 private:
  const bool gives_rows_;
  KeptRows* const kept_;
  const std::uint64_t keep_from_;
  std::uint64_t rows_ = 0;
};

}  // namespace namdb::sql
