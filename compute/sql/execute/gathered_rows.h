// Rows of a query within a statement, kept for the statement.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compute/sql/execute/result_sink.h"
#include "compute/sql/value/datum.h"

namespace namdb::sql {

class GatheredRows final : public ResultSink {
 public:
  std::size_t size() const { return rows_.size(); }
  std::span<const Datum> operator[](std::size_t row) const { return rows_[row]; }
  std::span<const std::span<const Datum>> rows() const { return rows_; }
  void replace(std::size_t row, std::span<const Datum> values) { rows_[row] = arena_.keep(values); }
  std::size_t bytes() const { return arena_.allocated_bytes(); }
  void clear() {
    rows_.clear();
    arena_.reset();
  }

  void begin_rows(std::span<const ResultColumn>, const absl::TimeZone&) override {}
  void add_row(std::span<const Datum> values) override { rows_.push_back(arena_.keep(values)); }
  // A query has no messages of its own.
  void notice(std::string_view, std::string_view, std::string_view) override {}
  void setting_changed(std::string_view, std::string_view) override {}
  bool congested() const override { return false; }
  reactor::Task<Status> relieve() override { co_return Status(); }
  std::uint64_t position() const override { return rows_.size(); }
  bool rewind(std::uint64_t) override { return false; }
  void complete(const Completion&) override {}
  void error(const Status&, const ErrorFields&) override {}

 private:
  std::vector<std::span<const Datum>> rows_;
  Arena arena_;
};

}  // namespace namdb::sql
