#include "tools/nambench/run_command.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tools/nambench/comparison/compare_report.h"
#include "tools/nambench/comparison/timeline_plot.h"
#include "tools/nambench/engine/engine_run.h"
#include "tools/nambench/report/distribution_report.h"
#include "tools/nambench/report/timeline.h"
#include "tools/support/servers/server_thread.h"
#include "workloads/workload.h"

namespace namdb::nambench {
namespace {

Result<std::vector<TimelineEvent>> read_events(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (!in) return Status(ErrorCode::invalid_parameter_value, "cannot read " + file);
  return parse_timeline_events(text);
}

}  // namespace

RunCommand::RunCommand(CLI::App& app) {
  add_population_options(app, workload_);
  add_run_options(app, workload_);
  app.add_option("--clients", options_.clients, "Clients, each with a connection")
      ->capture_default_str()
      ->check(CLI::Range(1, 10'000));
  app.add_option("--pipeline", options_.pipeline, "Calls under way on each connection")
      ->capture_default_str()
      ->check(CLI::Range(1, 10'000));
  app.add_flag("--route", options_.route,
               "Connect each client to the compute server beside the memory server that its calls are about "
               "(nam-computed --beside)");
  app.add_option("--seconds,--duration", options_.length.seconds, "Seconds to measure")
      ->capture_default_str()
      ->check(CLI::Range(0.01, 1e6));
  app.add_option("--warmup", options_.length.warmup_seconds, "Seconds before, not measured")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1e6));
  app.add_option("--transactions", options_.length.transactions_per_client,
                 "Run so many transactions of each client instead, all measured")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40));
  app.add_option("--rounds", rounds_, "With several --remote-percent: measurements of each, in turns")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000))
      ->group("tpcc");
  app.add_option(
      "--timeline", timeline_,
      "Also write the calls that ended in each second to this file (.csv), and a picture of them beside "
      "it (.svg)");
  app.add_option(
         "--timeline-events", timeline_events_,
         "The picture also shows the events in this file, which is read when the run has ended: lines of "
         "begin_ns,end_ns,name by the monotonic clock")
      ->type_name("FILE");
  app.add_flag("--reconnect", options_.reconnect,
               "A client whose connection breaks opens another one. Otherwise that ends the run");
  app.add_flag("!--no-check", options_.check, "Do not compare the workload's sums before and after");
  app.add_flag("--check", options_.check_rows,
               "Also look at every row afterwards, in one snapshot: TPC-C's consistency conditions");
  add_common(app, common_);
  add_wire(app, wire_);
  add_engine(app, engine_, true);
  app.add_option("--coroutines", coroutines_, "Transactions under way at once")
      ->capture_default_str()
      ->check(CLI::Range(1, 10'000))
      ->group("Engine");
  app.add_option("--computation-us", computation_us_,
                 "Computation of each transaction between its last read and its commit, in microseconds")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1e6))
      ->group("Engine");
  app.add_flag("--stage-times", engine_.host.stage_times,
               "Also count where the time of the transactions goes, by stage")
      ->group("Engine");
}

int RunCommand::run() {
  options_.endpoints = wire_.endpoints();
  if (Status status = engine_.check(); !status.ok()) return fail(status);
  if (!engine_.engine && (computation_us_ > 0 || engine_.host.stage_times)) {
    return fail(
        Status(ErrorCode::invalid_parameter_value,
               "--computation-us and --stage-times go with --engine: through the wire the transactions "
               "run in the compute servers"));
  }
  if (timeline_.empty() && !timeline_events_.empty()) {
    return fail(Status(ErrorCode::invalid_parameter_value, "--timeline-events goes with --timeline"));
  }
  if (!timeline_.empty() && !workload_.remote_percent.empty()) {
    return fail(Status(ErrorCode::invalid_parameter_value,
                       "--timeline is of one run, and --remote-percent makes several"));
  }
  // Flags that do not fit the workload are found before anything is connected.
  if (Result<std::unique_ptr<workloads::Workload>> dry = make_workload(workload_); !dry.ok()) {
    return fail(dry.status());
  }
  support::Progress progress(common_.quiet);
  return engine_.engine ? run_engine(progress) : run_wire(progress);
}

int RunCommand::run_wire(support::Progress& progress) {
  Result<std::unique_ptr<support::Connection>> view = support::Connection::open(options_.endpoints.front());
  if (!view.ok()) return fail(view.status());
  if (Status status = detect_population(workload_, **view); !status.ok()) return fail(status);
  return run_on(**view, progress, [&](const workloads::Workload& workload) {
    return support::wire_run(workload, options_, progress);
  });
}

int RunCommand::run_engine(support::Progress& progress) {
  std::vector<std::unique_ptr<support::ServerThread>> servers;
  auto host = engine_.open(servers);
  if (!host.ok()) return fail(host.status());
  EngineView view(*host.value());
  if (engine_.in_process) {
    const Result<std::unique_ptr<workloads::Workload>> workload = make_workload(workload_);
    if (!workload.ok()) return fail(workload.status());
    const Result<support::LoadReport> loaded = engine_load(*workload.value(), *host.value(), {}, progress);
    if (!loaded.ok()) return fail(loaded.status());
  } else if (Status status = detect_population(workload_, view); !status.ok()) {
    return fail(status);
  }
  return run_on(view, progress, [&](const workloads::Workload& workload) {
    return engine_run(workload, *host.value(),
                      {.coroutines = coroutines_,
                       .length = options_.length,
                       .computation_ns = static_cast<std::uint64_t>(computation_us_ * 1e3),
                       .check = options_.check,
                       .check_rows = options_.check_rows},
                      progress);
  });
}

int RunCommand::run_on(support::DatabaseView& view, support::Progress& progress, const RunOne& run_one) {
  if (!workload_.remote_percent.empty()) return run_degrees(view, progress, run_one);
  const Result<std::unique_ptr<workloads::Workload>> workload = make_workload(workload_);
  if (!workload.ok()) return fail(workload.status());
  Result<support::RunReport> report = run_one(*workload.value());
  progress.end_line();
  if (!report.ok()) return fail(report.status());
  report->seed = workload_.seed;
  if (Status status = write_timeline(*report); !status.ok()) return fail(status);
  print(common_.json ? to_json(*report).dump(2) + "\n" : to_text(*report));
  return report->checks_ok() ? 0 : kFailed;
}

Status RunCommand::write_timeline(const support::RunReport& report) const {
  if (timeline_.empty()) return {};
  const std::filesystem::path file(timeline_);
  const std::string folder = file.has_parent_path() ? file.parent_path().string() : ".";
  Status status = write_file(folder, file.filename().string(), timeline_csv(report));
  if (!status.ok()) return status;
  std::vector<TimelineEvent> events;
  if (!timeline_events_.empty()) {
    Result<std::vector<TimelineEvent>> read = read_events(timeline_events_);
    if (!read.ok()) return read.status();
    events = std::move(*read);
  }
  return write_file(folder, file.stem().string() + ".svg", timeline_plot(report, events).to_svg());
}

int RunCommand::run_degrees(support::DatabaseView& view, support::Progress& progress, const RunOne& run_one) {
  const Result<std::uint32_t> servers = view.memory_servers();
  if (!servers.ok()) return fail(servers.status());
  const Result<bool> partitioned = view.partitioned("stock");
  if (!partitioned.ok()) return fail(partitioned.status());
  std::vector<DistributionRuns> degrees;
  std::vector<std::unique_ptr<workloads::Workload>> workloads;
  for (const double percent : workload_.remote_percent) {
    WorkloadOptions options = workload_;
    options.distribution = percent / 100;
    options.memory_servers = *servers;
    Result<std::unique_ptr<workloads::Workload>> workload = make_workload(options);
    if (!workload.ok()) return fail(workload.status());
    workloads.push_back(std::move(workload).value());
    degrees.push_back({percent, {}});
  }
  for (std::uint32_t round = 0; round < rounds_; ++round) {
    for (std::size_t i = 0; i < degrees.size(); ++i) {
      Result<support::RunReport> report = run_one(*workloads[i]);
      if (!report.ok()) return fail(report.status());
      report->seed = workload_.seed;
      if (!*partitioned) {
        report->notes.emplace_back(
            "the tables are not partitioned by warehouse (load --by-warehouse): every transaction is "
            "distributed");
      }
      degrees[i].runs.push_back(std::move(*report));
    }
  }
  progress.end_line();
  print(common_.json ? to_json(degrees).dump(2) + "\n" : to_text(degrees));
  return checks_ok(degrees) ? 0 : kFailed;
}

}  // namespace namdb::nambench
