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

#include "tools/nambench/command.h"
#include "tools/nambench/engine_host.h"
#include "tools/nambench/engine_run.h"
#include "tools/nambench/micro_commands.h"
#include "tools/nambench/progress.h"
#include "tools/nambench/server_thread.h"
#include "tools/nambench/text_table.h"
#include "tools/nambench/wire_load.h"
#include "tools/nambench/wire_run.h"
#include "tools/nambench/workload_options.h"
#include "workloads/workload.h"

namespace namdb::nambench {
namespace {

struct Wire {
  Endpoint endpoint;
  std::vector<std::uint16_t> ports;

  std::vector<Endpoint> endpoints() const {
    std::vector<Endpoint> all;
    for (const std::uint16_t port : ports) {
      all.push_back(endpoint);
      all.back().port = port;
    }
    if (all.empty()) all.push_back(endpoint);
    return all;
  }
};

void add_wire(CLI::App& command, Wire& wire) {
  const std::string group = "Connection";
  command.add_option("--host", wire.endpoint.host, "Host, or the folder of a unix socket")
      ->capture_default_str()
      ->group(group);
  command
      .add_option("--port", wire.ports,
                  "SQL port (5433); several, joined by commas, for several compute servers of one host")
      ->delimiter(',')
      ->group(group);
  command.add_option("--user", wire.endpoint.user, "User")->capture_default_str()->group(group);
  command.add_option("--database", wire.endpoint.database, "Database")->capture_default_str()->group(group);
}

// The flags of engine mode.
struct EngineFlags {
  bool engine = false;
  bool in_process = false;
  std::string fabric = "shm";
  std::uint64_t region_mib = 1024;
  std::uint64_t location_cache_mib = 64;
  EngineHostOptions host;

  Status check() const {
    const auto invalid = [](const char* message) {
      return Status(ErrorCode::invalid_parameter_value, message);
    };
    if (!engine && (in_process || !host.memory_servers.empty())) {
      return invalid("--memory-server and --in-process go with --engine");
    }
    if (engine && in_process == !host.memory_servers.empty()) {
      return invalid("--engine needs either --memory-server, or --in-process");
    }
    return {};
  }
  // A memory server in this process, if that is wanted; then the worker.
  Result<std::unique_ptr<EngineHost>> open(std::unique_ptr<ServerThread>& server) {
    host.location_cache_bytes = location_cache_mib << 20;
    if (in_process) {
      auto started = ServerThread::start(
          {.transport = fabric, .region_bytes = region_mib << 20, .memory_server = memory::Options()});
      if (!started.ok()) return started.status();
      server = std::move(started).value();
      host.memory_servers = {server->address()};
    }
    return EngineHost::open(host);
  }
};

void add_engine(CLI::App& command, EngineFlags& flags, bool with_in_process) {
  const std::string group = "Engine";
  command
      .add_flag(
          "--engine", flags.engine,
          "Be a compute server: run the procedures here, on the engine, without SQL and wire in the way")
      ->group(group);
  command.add_option("--memory-server", flags.host.memory_servers, "unix:PATH or HOST:PORT; server 0 first")
      ->group(group);
  command.add_option("--cluster-key", flags.host.cluster_key_file, "File with the cluster's key, for tcp")
      ->group(group);
  command
      .add_option("--snapshots", flags.host.snapshots, "own, shared or prefetched, as nam-computed's flag")
      ->check(CLI::IsMember({"own", "shared", "prefetched"}))
      ->group(group);
  command
      .add_flag("--whole-writes", flags.host.whole_writes,
                "Write whole what a commit changes, as nam-computed's flag")
      ->group(group);
  command
      .add_option("--index-reads", flags.host.index_reads, "auto, leaves or calls, as nam-computed's flag")
      ->check(CLI::IsMember({"auto", "leaves", "calls"}))
      ->group(group);
  command.add_option("--location-cache-mib", flags.location_cache_mib, "Cache of records' locations")
      ->capture_default_str()
      ->group(group);
  if (!with_in_process) return;
  command
      .add_flag("--in-process", flags.in_process,
                "No cluster: start a memory server on a thread of this process, and load it first")
      ->group(group);
  command.add_option("--fabric", flags.fabric, "Transport to the memory server in this process")
      ->capture_default_str()
      ->check(CLI::IsMember({"shm", "tcp"}))
      ->group(group);
  command.add_option("--region-mib", flags.region_mib, "Region of the memory server in this process")
      ->capture_default_str()
      ->group(group);
}

nlohmann::ordered_json to_json(const LoadReport& report) {
  nlohmann::ordered_json json;
  json["workload"] = report.workload;
  json["population"] = report.population;
  json["mode"] = report.mode;
  json["rows"] = report.rows;
  json["seconds"] = report.seconds;
  json["rows_per_second"] = static_cast<double>(report.rows) / report.seconds;
  nlohmann::ordered_json tables = nlohmann::ordered_json::object();
  for (const LoadedTable& table : report.tables) tables[table.name] = table.rows;
  json["tables"] = tables;
  json["hash"] = hash_text(report.hash);
  return json;
}

std::string to_text(const LoadReport& report) {
  TextTable table({"table", "rows"});
  for (const LoadedTable& loaded : report.tables) table.add({loaded.name, std::to_string(loaded.rows)});
  return table.to_text() + "\nloaded " + report.workload + ", " + report.population + ": " +
         std::to_string(report.rows) + " rows in " + decimal(report.seconds, 1) + " s, " +
         decimal(static_cast<double>(report.rows) / report.seconds, 0) + " rows/s; hash of all rows " +
         hash_text(report.hash) + '\n';
}

void print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
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
    Result<LoadReport> report = [&] {
      Progress progress(common_.quiet);
      return engine_.engine ? load_engine(**workload, progress) : wire_load(**workload, options_, progress);
    }();
    if (!report.ok()) return fail(report.status());
    print(common_.json ? to_json(*report).dump(2) + "\n" : to_text(*report));
    return 0;
  }

 private:
  Result<LoadReport> load_engine(const workloads::Workload& workload, Progress& progress) {
    std::unique_ptr<ServerThread> server;
    auto host = engine_.open(server);
    if (!host.ok()) return host.status();
    EngineLoadOptions options;
    options.rows_per_insert = options_.rows_per_insert;
    options.replace = options_.replace;
    options.tables = options_.tables;
    return engine_load(workload, *host.value(), options, progress);
  }

  WorkloadOptions workload_;
  WireLoadOptions options_;
  Wire wire_;
  EngineFlags engine_;
};

class RunCommand : public Command {
 public:
  explicit RunCommand(CLI::App& app) {
    add_population_options(app, workload_);
    add_run_options(app, workload_);
    app.add_option("--clients", options_.clients, "Clients, each with a connection")
        ->capture_default_str()
        ->check(CLI::Range(1, 10'000));
    app.add_option("--pipeline", options_.pipeline, "Calls under way on each connection")
        ->capture_default_str()
        ->check(CLI::Range(1, 10'000));
    app.add_option("--seconds,--duration", options_.length.seconds, "Seconds to measure")
        ->capture_default_str()
        ->check(CLI::Range(0.01, 1e6));
    app.add_option("--warmup", options_.length.warmup_seconds, "Seconds before, not measured")
        ->capture_default_str()
        ->check(CLI::Range(0.0, 1e6));
    app.add_option("--transactions", options_.length.transactions_per_client,
                   "Run so many transactions of each client instead, all measured")
        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40));
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
  }

  int run() override {
    options_.endpoints = wire_.endpoints();
    if (Status status = engine_.check(); !status.ok()) return fail(status);
    // Flags that do not fit the workload are found before anything is connected.
    if (Result<std::unique_ptr<workloads::Workload>> dry = make_workload(workload_); !dry.ok()) {
      return fail(dry.status());
    }
    Result<RunReport> report = [&] {
      Progress progress(common_.quiet);
      return engine_.engine ? run_engine(progress) : run_wire(progress);
    }();
    if (!report.ok()) return fail(report.status());
    report->seed = workload_.seed;
    print(common_.json ? to_json(*report).dump(2) + "\n" : to_text(*report));
    return report->checks_ok() ? 0 : kFailed;
  }

 private:
  Result<RunReport> run_wire(Progress& progress) {
    Result<std::unique_ptr<Connection>> view = Connection::open(options_.endpoints.front());
    if (!view.ok()) return view.status();
    if (Status status = detect_population(workload_, **view); !status.ok()) return status;
    Result<std::unique_ptr<workloads::Workload>> workload = make_workload(workload_);
    if (!workload.ok()) return workload.status();
    return wire_run(**workload, options_, progress);
  }

  Result<RunReport> run_engine(Progress& progress) {
    std::unique_ptr<ServerThread> server;
    auto host = engine_.open(server);
    if (!host.ok()) return host.status();
    EngineView view(*host.value());
    if (!engine_.in_process) {
      if (Status status = detect_population(workload_, view); !status.ok()) return status;
    }
    Result<std::unique_ptr<workloads::Workload>> workload = make_workload(workload_);
    if (!workload.ok()) return workload.status();
    if (engine_.in_process) {
      const Result<LoadReport> loaded = engine_load(**workload, *host.value(), {}, progress);
      if (!loaded.ok()) return loaded.status();
    }
    return engine_run(**workload, *host.value(),
                      {coroutines_, options_.length, options_.check, options_.check_rows}, progress);
  }

  WorkloadOptions workload_;
  WireRunOptions options_;
  Wire wire_;
  EngineFlags engine_;
  std::uint64_t coroutines_ = 16;
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
  if (command == "fabric") return fabric.run();
  if (command == "hash") return hash.run();
  if (command == "oracle") return oracle.run();
  return schema.run();
}

}  // namespace
}  // namespace namdb::nambench

int main(int argc, char** argv) {
  // What the transports have to say is not part of a report.
  spdlog::set_default_logger(spdlog::stderr_logger_st("nambench"));
  spdlog::set_level(spdlog::level::warn);
  return namdb::nambench::main_program(argc, argv);
}
