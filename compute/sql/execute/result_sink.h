// The receiver of a running statement's rows and messages: the wire protocol's encoder, or a test.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "common/base/error.h"
#include "common/reactor/task.h"
#include "compute/sql/plan/plan.h"

namespace namdb::sql {

struct ErrorFields;

struct Completion {
  std::string_view tag;  // "INSERT"; empty for an empty statement
  std::uint64_t rows = 0;
  bool counts_rows = false;  // the tag is followed by the number of rows
  bool suspended = false;    // the row limit was reached; there may be more
};

// The data that a client sends for COPY FROM STDIN.
class CopySource {
 public:
  virtual ~CopySource() = default;
  // The next part of it, valid until the next call; nullopt: the client has sent all. Errors query_canceled:
  // the client gives up; connection_failure, protocol_violation.
  virtual reactor::Task<Result<std::optional<std::string_view>>> next() = 0;
};

class ResultSink {
 public:
  virtual ~ResultSink() = default;

  // Called once before the rows of an execution, if the statement returns rows. `zone` is the session's, in
  // which timestamptz is shown as text.
  virtual void begin_rows(std::span<const ResultColumn> columns, const absl::TimeZone& zone) = 0;
  // The rows of the executions that begin now are to be in binary form, or again as the client asked for:
  // those of a BINARY cursor, by the simple protocol.
  virtual void show_binary(bool /*on*/) {}
  // `values` has one for each column; valid during the call.
  virtual void add_row(std::span<const Datum> values) = 0;
  // `severity`: "NOTICE" or "WARNING".
  virtual void notice(std::string_view severity, std::string_view sqlstate, std::string_view message) = 0;
  // A setting that is reported to clients (PostgreSQL's GUC_REPORT) has a new value.
  virtual void setting_changed(std::string_view name, std::string_view value) = 0;

  // Too many rows wait for the client: the producer awaits relieve() before it gives more. An error of
  // relieve() ends the statement: the client is gone.
  virtual bool congested() const = 0;
  virtual reactor::Task<Status> relieve() = 0;

  // Takes back everything that was added since position() returned `position`; false when some of it has been
  // sent already.
  virtual std::uint64_t position() const = 0;
  virtual bool rewind(std::uint64_t position) = 0;

  // COPY FROM STDIN: asks the client for its data, of rows with so many columns. Null: it cannot send any.
  // Lives as long as the sink.
  virtual CopySource* begin_copy_in(std::size_t /*columns*/, bool /*binary*/) { return nullptr; }
  // COPY TO STDOUT: the data comes, in parts; false: the client cannot take any.
  virtual bool begin_copy_out(std::size_t /*columns*/, bool /*binary*/) { return false; }
  virtual void copy_data(std::string_view /*bytes*/) {}
  virtual void end_copy_out() {}

  // For each statement of a simple query, one of these two.
  virtual void complete(const Completion& completion) = 0;
  virtual void error(const Status& status, const ErrorFields& fields) = 0;
};

}  // namespace namdb::sql
