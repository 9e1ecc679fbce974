#include "tools/namsim/workloads/sql_client.h"

#include <charconv>

#include "compute/sql/execute/result_sink.h"
#include "compute/sql/value/value_format.h"

namespace namdb::sim {
namespace {

class AnswerSink final : public sql::ResultSink {
 public:
  explicit AnswerSink(SqlAnswer& answer) : answer_(answer) {}

  void begin_rows(std::span<const sql::ResultColumn> columns, const absl::TimeZone&) override {
    types_.clear();
    answer_.columns.clear();
    answer_.rows.clear();
    for (const sql::ResultColumn& column : columns) {
      types_.push_back(column.type);
      answer_.columns.push_back(column.name);
    }
  }
  void add_row(std::span<const sql::Datum> values) override {
    std::vector<std::string>& row = answer_.rows.emplace_back(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i].null) {
        row[i] = "NULL";
      } else {
        sql::append_text(row[i], types_[i], values[i]);
      }
    }
  }
  void notice(std::string_view, std::string_view, std::string_view) override {}
  void setting_changed(std::string_view, std::string_view) override {}
  bool congested() const override { return false; }
  reactor::Task<Status> relieve() override { co_return Status(); }
  std::uint64_t position() const override { return answer_.rows.size(); }
  bool rewind(std::uint64_t position) override {
    answer_.rows.resize(position);
    return true;
  }
  void complete(const sql::Completion& completion) override { answer_.affected = completion.rows; }
  void error(const Status& status, const sql::ErrorFields&) override {
    if (answer_.status.ok()) answer_.status = status;
  }

 private:
  SqlAnswer& answer_;
  std::vector<sql::Type> types_;
};

}  // namespace

std::int64_t SqlAnswer::integer(std::size_t row, std::size_t column) const {
  const std::string& text = rows.at(row).at(column);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  NAMDB_CHECK(error == std::errc{} && end == text.data() + text.size());
  return value;
}

SqlClient::SqlClient(txn::Engine& engine, const procedure::ProcedureRegistry& procedures)
    : worker_statistics_(statistics_),
      environment_{.engine = engine, .procedures = procedures, .statistics = worker_statistics_},
      session_(environment_, "simulated", "namdb", 1, canceled_) {}

reactor::Task<SqlAnswer> SqlClient::run(std::string text) {
  SqlAnswer answer;
  AnswerSink sink(answer);
  co_await session_.simple_query(std::move(text), sink);
  co_return answer;
}

}  // namespace namdb::sim
