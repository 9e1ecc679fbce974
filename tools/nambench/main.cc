// nambench: loads and drives the workloads, and measures the parts that they stand on. Composition root:
// flags in, a report out. Results go to standard output (--json: one object), progress and errors to standard
// error. Exit codes: 0 done and all checks ok, 1 failed, 2 wrong usage, 3 nothing to connect to.
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/base/crash_handler.h"
#include "common/base/standard_output.h"
#include "tools/nambench/comparison/compare_command.h"
#include "tools/nambench/comparison/factors_command.h"
#include "tools/nambench/comparison/hybrid_command.h"
#include "tools/nambench/engine/engine_flags.h"
#include "tools/nambench/engine/engine_host.h"
#include "tools/nambench/engine/engine_run.h"
#include "tools/nambench/micro/micro_commands.h"
#include "tools/nambench/report/command.h"
#include "tools/nambench/run_command.h"
#include "tools/nambench/workload/workload_options.h"
#include "tools/support/report/progress.h"
#include "tools/support/report/text_table.h"
#include "tools/support/servers/server_thread.h"
#include "tools/support/wire/wire_load.h"
#include "workloads/workload.h"

namespace namdb::nambench {
namespace {

nlohmann::ordered_json to_json(const support::LoadReport& report) {
  nlohmann::ordered_json json;
  json["workload"] = report.workload;
  json["population"] = report.population;
  json["mode"] = report.mode;
  json["rows"] = report.rows;
  json["seconds"] = report.seconds;
  json["rows_per_second"] = static_cast<double>(report.rows) / report.seconds;
  nlohmann::ordered_json tables = nlohmann::ordered_json::object();
  for (const support::LoadedTable& table : report.tables) tables[table.name] = table.rows;
  json["tables"] = tables;
  json["hash"] = support::hash_text(report.hash);
  return json;
}

std::string to_text(const support::LoadReport& report) {
  support::TextTable table({"table", "rows"});
  for (const support::LoadedTable& loaded : report.tables)
    table.add({loaded.name, std::to_string(loaded.rows)});
  return table.to_text() + "\nloaded " + report.workload + ", " + report.population + ": " +
         std::to_string(report.rows) + " rows in " + support::decimal(report.seconds, 1) + " s, " +
         support::decimal(static_cast<double>(report.rows) / report.seconds, 0) +
         " rows/s; hash of all rows " + support::hash_text(report.hash) + '\n';
}

class LoadCommand : public Command {
 public:
  explicit LoadCommand(CLI::App& app) {
    add_population_options(app, workload_);
    app.add_flag("--replace", options_.replace, "Drop tables of the same names first");
    app.add_option("--tables", options_.tables, "Only these tables, joined by commas")->delimiter(',');
    app.add_option("--connections", options_.connections, "Connections to load over")
        ->capture_default_str()
        ->check(CLI::Range(1, 1000));
    app.add_option("--pipeline", options_.pipeline, "INSERTs under way on each connection")
        ->capture_default_str()
        ->check(CLI::Range(1, 1000));
    app.add_option("--rows-per-insert", options_.rows_per_insert,
                   "Rows of one INSERT (by their size, up to 32)")
        ->check(CLI::Range(1, 1000));
    app.add_flag_callback(
        "--postgresql", [this] { options_.dialect = workloads::SqlDialect::postgresql; },
        "The server is PostgreSQL: create unlogged tables");
    add_common(app, common_);
    add_wire(app, wire_);
    add_engine(app, engine_, false);
  }

  int run() override {
    options_.endpoints = wire_.endpoints();
    if (Status status = engine_.check(); !status.ok()) return fail(status);
    Result<std::unique_ptr<workloads::Workload>> workload = make_workload(workload_);
    if (!workload.ok()) return fail(workload.status());
    Result<support::LoadReport> report = [&] {
      support::Progress progress(common_.quiet);
      return engine_.engine ? load_engine(**workload, progress)
                            : support::wire_load(**workload, options_, progress);
    }();
    if (!report.ok()) return fail(report.status());
    print(common_.json ? to_json(*report).dump(2) + "\n" : to_text(*report));
    return 0;
  }

 private:
  Result<support::LoadReport> load_engine(const workloads::Workload& workload, support::Progress& progress) {
    std::vector<std::unique_ptr<support::ServerThread>> servers;
    auto host = engine_.open(servers);
    if (!host.ok()) return host.status();
    EngineLoadOptions options;
    options.rows_per_insert = options_.rows_per_insert;
    options.replace = options_.replace;
    options.tables = options_.tables;
    return engine_load(workload, *host.value(), options, progress);
  }

  WorkloadOptions workload_;
  support::WireLoadOptions options_;
  Wire wire_;
  EngineFlags engine_;
};

class SchemaCommand : public Command {
 public:
  explicit SchemaCommand(CLI::App& app) {
    add_population_options(app, workload_);
    app.add_flag("--postgresql", postgresql_, "Unlogged tables for PostgreSQL");
    add_common(app, common_);
  }
  int run() override {
    Result<std::unique_ptr<workloads::Workload>> workload = make_workload(workload_);
    if (!workload.ok()) return fail(workload.status());
    nlohmann::ordered_json json = nlohmann::ordered_json::array();
    std::string text;
    for (const workloads::TableLoad& table : workload.value()->tables()) {
      const auto dialect = postgresql_ ? workloads::SqlDialect::postgresql : workloads::SqlDialect::namdb;
      const std::string sql = create_table_sql(table.spec, table.size_hint_rows, dialect);
      json.push_back(sql);
      text += sql + ";\n";
    }
    for (const workloads::TableLoad& table : workload.value()->tables()) {
      for (const workloads::IndexSpec& index : table.spec.indexes) {
        json.push_back(create_index_sql(table.spec, index));
        text += create_index_sql(table.spec, index) + ";\n";
      }
    }
    print(common_.json ? json.dump(2) + "\n" : text);
    return 0;
  }

 private:
  WorkloadOptions workload_;
  bool postgresql_ = false;
};

int main_program(int argc, char** argv) {
  CLI::App app("Loads and drives namdb's workloads, and measures the parts that they stand on.", "nambench");
  app.require_subcommand(1);
  app.footer("Exit codes: 0 done, 1 failed, 2 wrong usage, 3 nothing to connect to. See docs/benchmarks.md.");
  LoadCommand load(*app.add_subcommand("load", "Create a workload's tables and fill them"));
  RunCommand run(*app.add_subcommand("run", "Run a workload on loaded tables and report"));
  SchemaCommand schema(
      *app.add_subcommand("schema", "Print a workload's CREATE TABLE and CREATE INDEX statements"));
  CompareCommand compare(*app.add_subcommand(
      "compare", "Compare the protocols on several workloads, in a report with pictures"));
  FactorsCommand factors(*app.add_subcommand("factors", "Find out what each optimisation is worth"));
  HybridCommand hybrid(
      *app.add_subcommand("hybrid", "Find the stages of a protocol that are better two-sided"));
  DiskCommand disk(*app.add_subcommand("disk", "Measure a folder's disk as the log uses it"));
  FabricCommand fabric(*app.add_subcommand("fabric", "Measure the transports against what they stand on"));
  HashCommand hash(*app.add_subcommand("hash", "Count what lookups in the hash index cost"));
  OracleCommand oracle(
      *app.add_subcommand("oracle", "Measure the timestamp vector against a global counter"));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsage;
  }
  const std::string command = app.get_subcommands().front()->get_name();
  if (command == "load") return load.run();
  if (command == "run") return run.run();
  if (command == "compare") return compare.run();
  if (command == "factors") return factors.run();
  if (command == "hybrid") return hybrid.run();
  if (command == "disk") return disk.run();
  if (command == "fabric") return fabric.run();
  if (command == "hash") return hash.run();
  if (command == "oracle") return oracle.run();
  return schema.run();
}

}  // namespace
}  // namespace namdb::nambench

int main(int argc, char** argv) {
  namdb::install_crash_handler(argv[0]);
  // Log lines of the transports are not part of a report.
  spdlog::set_default_logger(spdlog::stderr_logger_st("nambench"));
  spdlog::set_level(spdlog::level::warn);
  namdb::ignore_broken_pipes();
  return namdb::finish_standard_output("nambench", namdb::nambench::main_program(argc, argv));
}
