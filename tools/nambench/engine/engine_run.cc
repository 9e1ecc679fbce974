#include "tools/nambench/engine/engine_run.h"

#include <time.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "tools/nambench/engine/engine_call.h"
#include "tools/nambench/engine/time_shares.h"
#include "tools/support/report/text_table.h"
#include "tools/support/workload/workload_definitions.h"

namespace namdb::nambench {
namespace {

// Loaders meet each other in the bucket chains, and large batches meet often: they try so much longer.
constexpr std::uint32_t kPatience = 16;

using workloads::Workload;

// Of this thread.
double processor_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

// The coroutines of one run. A transaction over shared memory may never have to wait, so each gives the
// others, and the worker's heartbeat, their turn after every transaction.
class Run {
 public:
  Run(const Workload& workload, EngineHost& host, const EngineRunOptions& options,
      support::RunRecorder& recorder, support::Progress& progress)
      : workload_(workload),
        engine_(host.engine()),
        options_(options),
        recorder_(recorder),
        progress_(progress) {
    const support::Definitions& definitions = support::workload_definitions();
    const EngineCallOptions call{.computation_ns = options.computation_ns,
                                 .timed = host.stage_times() != nullptr};
    for (const workloads::TransactionType& type : workload.transactions()) {
      procedures_.emplace_back(engine_, definitions.at(type.procedure), call);
    }
    hashes_.resize(options.coroutines);
  }

  reactor::Task<void> main() {
    reactor::Gate gate;
    recorder_.start(support::steady_now_ns());
    for (std::uint64_t i = 0; i < options_.coroutines; ++i) engine_.executor().spawn(gate, client(i));
    co_await gate.close();
  }

  std::span<const support::ClientHash> hashes() const { return hashes_; }
  const Status& status() const { return status_; }
  void add_metrics(support::RunReport& report) const {
    for (support::TypeReport& type : report.types) {
      for (const EngineProcedure& procedure : procedures_) {
        if (procedure.definition().name == type.procedure) type.server = procedure.metrics();
      }
    }
  }

 private:
  reactor::Task<void> client(std::uint64_t index) {
    const std::unique_ptr<txn::Session> session = engine_.open_session();
    const std::unique_ptr<workloads::CallSource> calls = workload_.open_client(index, options_.coroutines);
    workloads::Call call;
    std::vector<procedure::Value> results;
    std::uint64_t start_ns = support::steady_now_ns();
    for (std::uint64_t done = 0; status_.ok() && recorder_.go_on(start_ns, done); ++done) {
      calls->next(call);
      EngineProcedure& procedure = procedures_[call.type];
      Status status = co_await procedure.call(*session, call.arguments, results);
      const std::uint64_t end_ns = support::steady_now_ns();
      support::RunRecorder::Outcome outcome;
      if (!status.ok()) {
        outcome.sqlstate = status.info().sqlstate;
        outcome.message = status.message();
        if (status.code() == ErrorCode::connection_failure || status.code() == ErrorCode::undefined_table) {
          status_ = status;
        }
      } else {
        forget_times(procedure.definition(), results);
        outcome.results = results;
      }
      recorder_.record(call, outcome, start_ns, end_ns, hashes_[index]);
      if (progress_.due(end_ns)) progress_.show(end_ns, recorder_.progress_line(end_ns));
      co_await engine_.executor().yield();
      start_ns = options_.coroutines == 1 ? end_ns : support::steady_now_ns();
    }
  }

  // Points in time differ from run to run: they stay out of the results' hash.
  static void forget_times(const procedure::Definition& definition, std::vector<procedure::Value>& results) {
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (definition.results[i].type == layout::ColumnType::timestamp) results[i] = procedure::Value();
    }
  }

  const Workload& workload_;
  txn::Engine& engine_;
  const EngineRunOptions& options_;
  support::RunRecorder& recorder_;
  support::Progress& progress_;
  std::vector<EngineProcedure> procedures_;
  std::vector<support::ClientHash> hashes_;
  Status status_;
};

// The coroutines of one load.
class Load {
 public:
  Load(const Workload& workload, std::vector<std::size_t> tables, txn::Engine& engine,
       const EngineLoadOptions& options, support::Progress& progress)
      : workload_(workload),
        engine_(engine),
        options_(options),
        progress_(progress),
        producer_(workload, tables, options.rows_per_insert),
        tables_(std::move(tables)),
        begin_ns_(support::steady_now_ns()) {}

  reactor::Task<void> main() {
    status_ = co_await create_tables();
    if (!status_.ok()) co_return;
    begin_ns_ = support::steady_now_ns();
    reactor::Gate gate;
    for (std::uint32_t i = 0; i < options_.coroutines; ++i) engine_.executor().spawn(gate, loader());
    co_await gate.close();
    if (status_.ok()) status_ = co_await create_indexes();
  }

  const Status& status() const { return status_; }
  support::LoadReport report() const {
    return support::make_load_report(workload_, tables_, producer_,
                                     static_cast<double>(support::steady_now_ns() - begin_ns_) / 1e9);
  }

 private:
  reactor::Task<Status> create_tables() {
    refs_.resize(workload_.tables().size());
    for (const std::size_t table : tables_) {
      const workloads::TableSpec& spec = workload_.tables()[table].spec;
      const Result<storage::TableRef> present = co_await engine_.table(spec.name);
      if (!present.ok()) continue;
      if (!options_.replace) {
        co_return Status(ErrorCode::duplicate_table,
                         "table " + spec.name + " is there already; nothing was changed",
                         "--replace drops it and loads it anew");
      }
      Status status = co_await engine_.drop_table(spec.name);
      if (!status.ok()) co_return status;
    }
    for (const std::size_t table : tables_) {
      const workloads::TableLoad& load = workload_.tables()[table];
      txn::TableDefinition definition;
      definition.name = load.spec.name;
      definition.schema = load.schema;
      definition.size_hint_rows = load.size_hint_rows;
      definition.ring_slots = load.spec.ring_versions;
      Status status = co_await engine_.create_table(std::move(definition));
      if (!status.ok()) co_return status;
      Result<storage::TableRef> created = co_await engine_.table(load.spec.name);
      if (!created.ok()) co_return created.status();
      refs_[table] = std::move(created).value();
    }
    co_return Status();
  }

  // Behind the rows: building is faster than keeping.
  reactor::Task<Status> create_indexes() {
    for (const std::size_t table : tables_) {
      const workloads::TableSpec& spec = workload_.tables()[table].spec;
      for (const workloads::IndexSpec& index : spec.indexes) {
        txn::IndexDefinition definition{.name = index.name, .table = spec.name, .columns = index.columns};
        Status status = co_await engine_.create_index(std::move(definition));
        if (!status.ok()) co_return status;
      }
    }
    co_return Status();
  }

  reactor::Task<void> loader() {
    const std::unique_ptr<txn::Session> session = engine_.open_session();
    while (status_.ok()) {
      const std::optional<support::RowBatch> batch = producer_.next();
      if (!batch) co_return;
      Status status;
      for (std::uint32_t number = 1;; ++number) {
        status = co_await insert(*session, *batch);
        if (status.ok() || !status.info().retry || number >= kPatience * engine_.retry_options().max_attempts)
          break;
        co_await engine_.backoff(number);
      }
      if (!status.ok() && status_.ok())
        status_ = support::load_failure(workload_, producer_, batch->table, status);
      show_progress();
      co_await engine_.executor().yield();
    }
  }

  reactor::Task<Status> insert(txn::Session& session, const support::RowBatch& batch) {
    const std::unique_ptr<txn::Transaction> transaction = engine_.begin(session);
    for (const layout::Row& row : batch.rows) transaction->insert(refs_[batch.table], row.bytes());
    if (Status status = co_await transaction->fetch(); !status.ok()) co_return status;
    co_return co_await transaction->commit();
  }

  void show_progress() {
    const std::uint64_t now_ns = support::steady_now_ns();
    if (!progress_.due(now_ns)) return;
    const double seconds = static_cast<double>(now_ns - begin_ns_) / 1e9;
    const auto rows = static_cast<double>(producer_.total_rows());
    progress_.show(now_ns, "loading " + std::string(workload_.name()) + ": " +
                               support::decimal(100 * producer_.done(), 0) + " %, " +
                               support::decimal(rows, 0) + " rows, " + support::decimal(rows / seconds, 0) +
                               " rows/s");
  }

  const Workload& workload_;
  txn::Engine& engine_;
  const EngineLoadOptions& options_;
  support::Progress& progress_;
  support::RowProducer producer_;
  std::vector<std::size_t> tables_;
  std::vector<storage::TableRef> refs_;
  std::uint64_t begin_ns_;
  Status status_;
};

}  // namespace

Result<support::RunReport> engine_run(const Workload& workload, EngineHost& host,
                                      const EngineRunOptions& options, support::Progress& progress) {
  EngineView view(host);
  std::vector<std::int64_t> values_before;
  if (options.check) {
    Result<std::vector<std::int64_t>> values = support::check_values(workload, view);
    if (!values.ok()) return values.status();
    values_before = std::move(values).value();
  }
  support::RunRecorder recorder(workload, options.length);
  Run run(workload, host, options, recorder, progress);
  if (host.stage_times() != nullptr) *host.stage_times() = {};
  const double processor_before_s = processor_seconds();
  host.run(run.main());
  const double processor_s = processor_seconds() - processor_before_s;
  txn::StageTimes stage_times;
  if (host.stage_times() != nullptr) stage_times = *host.stage_times();
  if (!run.status().ok()) return run.status();
  support::RunReport report = recorder.report(support::steady_now_ns(), run.hashes());
  report.mode = "engine";
  report.clients = options.coroutines;
  report.processor_us =
      processor_s * 1e6 / static_cast<double>(std::max<std::uint64_t>(recorder.finished(), 1));
  run.add_metrics(report);
  if (host.stage_times() != nullptr) report.time_shares = time_shares(stage_times, report.types);
  if (options.check && recorder.unknown_outcomes()) {
    report.notes.push_back("sums were not checked: some calls have an unknown outcome");
  } else if (options.check) {
    Result<std::vector<std::int64_t>> values = support::check_values(workload, view);
    if (!values.ok()) return values.status();
    report.checks = support::judge_checks(workload, values_before, *values, recorder.change());
  }
  if (options.check_rows) {
    Result<std::vector<support::CheckResult>> found = support::check_rows(workload, view);
    if (!found.ok()) return found.status();
    for (support::CheckResult& result : *found) report.checks.push_back(std::move(result));
  }
  return report;
}

Result<support::LoadReport> engine_load(const Workload& workload, EngineHost& host,
                                        const EngineLoadOptions& options, support::Progress& progress) {
  Result<std::vector<std::size_t>> tables = support::choose_tables(workload, options.tables);
  if (!tables.ok()) return tables.status();
  Load load(workload, *tables, host.engine(), options, progress);
  host.run(load.main());
  if (!load.status().ok()) return load.status();
  support::LoadReport report = load.report();
  report.mode = "engine";
  EngineView view(host);
  if (Status status = support::verify_loaded(report, view); !status.ok()) return status;
  return report;
}

}  // namespace namdb::nambench
