// Sinks of statements that run for another statement, or whose rows are dropped.
#pragma once

#include "compute/sql/execute/result_sink.h"

namespace namdb::sql {

// Its rows are the derived class's; messages go on to the sink of the statement around it.
class InnerSink : public ResultSink {
 public:
  // `outer` outlives this.
  explicit InnerSink(ResultSink& outer) : outer_(outer) {}

  void begin_rows(std::span<const ResultColumn>, const absl::TimeZone&) override {}
  void notice(std::string_view severity, std::string_view sqlstate, std::string_view message) override {
    outer_.notice(severity, sqlstate, message);
  }
  void setting_changed(std::string_view name, std::string_view value) override {
    outer_.setting_changed(name, value);
  }
  void complete(const Completion&) override {}
  void error(const Status&, const ErrorFields&) override {}

 protected:
  ResultSink& outer() const { return outer_; }

 private:
  ResultSink& outer_;
};

// Drops rows and messages.
class SilentSink final : public ResultSink {
 public:
  void begin_rows(std::span<const ResultColumn>, const absl::TimeZone&) override {}
  void add_row(std::span<const Datum>) override {}
  void notice(std::string_view, std::string_view, std::string_view) override {}
  void setting_changed(std::string_view, std::string_view) override {}
  bool congested() const override { return false; }
  reactor::Task<Status> relieve() override { co_return Status(); }
  std::uint64_t position() const override { return 0; }
  bool rewind(std::uint64_t) override { return true; }
  void complete(const Completion&) override {}
  void error(const Status&, const ErrorFields&) override {}
};

}  // namespace namdb::sql
