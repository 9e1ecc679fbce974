// Prepared statements, and portals: statements with their parameters, ready to run or suspended.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "compute/sql/execute/result_sink.h"
#include "compute/sql/execute/select_cursor.h"
#include "compute/sql/plan/plan.h"
#include "compute/sql/system/statistics.h"

namespace namdb::sql {

struct PreparedStatement {
  std::string text;
  std::vector<Type> declared;      // parameter types that the client gave
  std::vector<Oid> declared_oids;  // the same types, by the OIDs that the client sent
  std::shared_ptr<const Plan> plan;
  TransactionStatistics* statistics = nullptr;  // null for statements that are not counted
  MemoryShare memory;                           // without the plan, which has its own
  std::size_t session_bytes = 0;                // as they count for the session's limit

  std::size_t size_bytes() const {
    return sizeof(PreparedStatement) + text.capacity() + declared.capacity() * sizeof(Type) +
           declared_oids.capacity() * sizeof(Oid);
  }
};

// Keeps the rows of a statement that cannot be suspended, when its portal is executed with a row limit.
class RowBuffer final : public ResultSink {
 public:
  // Passes messages on to `outer`.
  explicit RowBuffer(ResultSink& outer) : outer_(outer) {}

  void begin_rows(std::span<const ResultColumn> columns, const absl::TimeZone&) override {
    columns_ = columns;
  }
  void add_row(std::span<const Datum> values) override;
  void notice(std::string_view severity, std::string_view sqlstate, std::string_view message) override {
    outer_.notice(severity, sqlstate, message);
  }
  void setting_changed(std::string_view name, std::string_view value) override {
    outer_.setting_changed(name, value);
  }
  bool congested() const override { return false; }
  reactor::Task<Status> relieve() override { co_return Status(); }
  std::uint64_t position() const override { return rows_.size(); }
  bool rewind(std::uint64_t position) override {
    rows_.resize(position);
    return true;
  }
  void complete(const Completion&) override {}
  void error(const Status&, const ErrorFields&) override {}

  std::deque<std::vector<Datum>>& rows() { return rows_; }

 private:
  ResultSink& outer_;
  std::span<const ResultColumn> columns_;
  std::deque<std::vector<Datum>> rows_;
  Arena arena_;
};

struct Portal {
  bool valid = false;
  std::shared_ptr<PreparedStatement> prepared;
  std::shared_ptr<const Plan> plan;  // the plan whose parameter types `parameters` has
  std::string storage;               // what the parameters' strings borrow from
  Arena arrays;                      // the parameters that are arrays
  std::vector<Datum> parameters;
  std::vector<std::int16_t> result_formats;
  std::size_t size_bytes = 0;  // of its parameters, as counted for the session's limit
  MemoryShare memory;          // of long parameters

  // State of a suspended execution.
  std::unique_ptr<SelectCursor> cursor;
  StatementState state;  // of the execution
  std::unique_ptr<RowBuffer> buffered;
  Completion buffered_completion;
  bool finished = false;

  void reset() {
    valid = false;
    cursor.reset();
    state.clear();
    buffered.reset();
    finished = false;
    prepared.reset();
    plan.reset();
    arrays.reset();
    if (memory.bytes() == 0) return;
    storage = std::string();
    memory.release();
  }
};

}  // namespace namdb::sql
