#include "tools/sqltest/testing/session_client.h"

#include "compute/procedure/testing/procedures.h"
#include "compute/sql/catalog/temporary_name.h"
#include "compute/sql/value/value_format.h"

namespace namdb::sqltest {
namespace {

class OutcomeSink final : public sql::ResultSink {
 public:
  Outcome& outcome() { return outcome_; }
  void begin_rows(std::span<const sql::ResultColumn> columns, const absl::TimeZone& zone) override {
    columns_ = columns;
    zone_ = zone;
    outcome_.names.clear();
    outcome_.rows.clear();
    for (const sql::ResultColumn& column : columns) outcome_.names.push_back(column.name);
  }
  void add_row(std::span<const sql::Datum> values) override {
    auto& row = outcome_.rows.emplace_back();
    for (std::size_t i = 0; i < values.size(); ++i) {
      auto& field = row.emplace_back();
      if (!values[i].null) sql::append_text(field.emplace(), columns_[i].type, values[i], zone_);
    }
  }
  void notice(std::string_view, std::string_view, std::string_view) override {}
  void setting_changed(std::string_view, std::string_view) override {}
  bool congested() const override { return false; }
  reactor::Task<Status> relieve() override { co_return Status(); }
  std::uint64_t position() const override { return outcome_.rows.size(); }
  bool rewind(std::uint64_t position) override {
    outcome_.rows.resize(position);
    return true;
  }
  void complete(const sql::Completion& completion) override {
    outcome_.tag = completion.tag;
    if (completion.counts_rows)
      outcome_.tag += (completion.tag == "INSERT" ? " 0 " : " ") + std::to_string(completion.rows);
  }
  void error(const Status& status, const sql::ErrorFields& fields) override {
    outcome_.sqlstate = fields.sqlstate.empty() ? status.info().sqlstate : std::string_view(fields.sqlstate);
    outcome_.message = sql::without_prefixes(status.message());
  }

 private:
  Outcome outcome_;
  std::span<const sql::ResultColumn> columns_;
  absl::TimeZone zone_;
};

reactor::Task<void> run_query(sql::Session& session, std::string sql, OutcomeSink& sink, bool& done) {
  co_await session.simple_query(std::move(sql), sink);
  done = true;
}

}  // namespace

class SessionClient final : public Client {
 public:
  explicit SessionClient(SessionDatabase& database)
      : database_(database), session_(database.environment_, "tester", "namdb", 1, canceled_) {}

  Outcome run(const std::string& sql) override {
    OutcomeSink sink;
    bool done = false;
    reactor::Gate gate;
    database_.executor_.spawn(gate, run_query(session_, sql, sink, done));
    database_.executor_.run_until([&] { return done && gate.count() == 0; });
    return std::move(sink.outcome());
  }

 private:
  SessionDatabase& database_;
  std::atomic<bool> canceled_{false};
  sql::Session session_;
};

SessionDatabase::SessionDatabase()
    : engine_(executor_),
      worker_statistics_(statistics_),
      ids_(engine_, {}),
      sequences_(engine_),
      locks_(engine_),
      environment_{engine_, procedures_, worker_statistics_} {
  environment_.ids = &ids_;
  environment_.sequences = &sequences_;
  environment_.locks = &locks_;
  environment_.routines = &routines_;
  add_test_procedures(procedures_);
}

SessionDatabase::~SessionDatabase() {
  reactor::Gate gate;
  executor_.spawn(gate, ids_.close());
  executor_.spawn(gate, locks_.close());
  executor_.run_until([&] { return gate.count() == 0; });
}

std::unique_ptr<Client> SessionDatabase::open() {
  return std::make_unique<SessionClient>(*this);
}

}  // namespace namdb::sqltest
