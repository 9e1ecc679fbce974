// nambench: loads and drives the workloads, and measures the parts that they stand on. Composition root:
// flags in, a report out. Results go to standard output (--json: one object), progress and errors to standard
// error. Exit codes: 0 done and all checks ok, 1 failed, 2 wrong usage, 3 nothing to connect to.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/nambench/progress.h"
#include "tools/nambench/text_table.h"
#include "tools/nambench/wire_load.h"
#include "tools/nambench/wire_run.h"
#include "tools/nambench/workload_options.h"
#include "workloads/workload.h"

namespace namdb::nambench {
namespace {

constexpr int kFailed = 1;
constexpr int kUsage = 2;
constexpr int kEnvironment = 3;

struct Common {
  bool json = false;
  bool quiet = false;
};

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

int fail(const Status& status) {
  std::fprintf(stderr, "nambench: %s\n", status.message().c_str());
  if (!status.hint().empty()) std::fprintf(stderr, "  %s\n", status.hint().c_str());
  switch (status.code()) {
    case ErrorCode::invalid_parameter_value:
      return kUsage;
    case ErrorCode::connection_failure:
    case ErrorCode::configuration:
      return kEnvironment;
    default:
      return kFailed;
  }
}

void add_common(CLI::App& command, Common& common) {
  command.add_flag("--json", common.json, "Print one JSON object instead of tables");
  command.add_flag("--quiet", common.quiet, "No progress on standard error");
}

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

// A command: its flags, and what it does with them.
class Command {
 public:
  Command() = default;
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;
  virtual ~Command() = default;
  virtual int run() = 0;

 protected:
  Common common_;
};

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
  }

  int run() override {
    options_.endpoints = wire_.endpoints();
    Result<std::unique_ptr<workloads::Workload>> workload = make_workload(workload_);
    if (!workload.ok()) return fail(workload.status());
    Result<LoadReport> report = [&] {
      Progress progress(common_.quiet);
      return wire_load(**workload, options_, progress);
    }();
    if (!report.ok()) return fail(report.status());
    print(common_.json ? to_json(*report).dump(2) + "\n" : to_text(*report));
    return 0;
  }

 private:
  WorkloadOptions workload_;
  WireLoadOptions options_;
  Wire wire_;
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
    add_common(app, common_);
    add_wire(app, wire_);
  }

  int run() override {
    options_.endpoints = wire_.endpoints();
    // Flags that do not fit the workload are found before anything is connected.
    if (Result<std::unique_ptr<workloads::Workload>> dry = make_workload(workload_); !dry.ok()) {
      return fail(dry.status());
    }
    Result<std::unique_ptr<Connection>> view = Connection::open(options_.endpoints.front());
    if (!view.ok()) return fail(view.status());
    if (Status status = detect_population(workload_, **view); !status.ok()) return fail(status);
    Result<std::unique_ptr<workloads::Workload>> workload = make_workload(workload_);
    if (!workload.ok()) return fail(workload.status());
    Result<RunReport> report = [&] {
      Progress progress(common_.quiet);
      return wire_run(**workload, options_, progress);
    }();
    if (!report.ok()) return fail(report.status());
    report->seed = workload_.seed;
    print(common_.json ? to_json(*report).dump(2) + "\n" : to_text(*report));
    return report->checks_ok() ? 0 : kFailed;
  }

 private:
  WorkloadOptions workload_;
  WireRunOptions options_;
  Wire wire_;
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
  SchemaCommand schema(*app.add_subcommand("schema", "Print a workload's CREATE TABLE statements"));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsage;
  }
  const std::string command = app.get_subcommands().front()->get_name();
  if (command == "load") return load.run();
  if (command == "run") return run.run();
  return schema.run();
}

}  // namespace
}  // namespace namdb::nambench

int main(int argc, char** argv) {
  return namdb::nambench::main_program(argc, argv);
}
