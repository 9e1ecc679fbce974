// namsim record: the observations of clients of a real cluster, as a history for namsim check.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "tools/namsim/command.h"
#include "tools/namsim/recorder.h"

namespace namdb::sim {
namespace {

struct RecordFlags {
  RecordOptions record;
  std::string workload = "append";
  bool json = false;
};

int run(RecordFlags& flags) {
  if (flags.record.ports.empty()) flags.record.ports.push_back(5433);
  flags.record.model = flags.workload == "append" ? history::Model::lists : history::Model::registers;
  const Result<RecordReport> report = record(flags.record);
  if (!report.ok()) return report_error(report.status());
  if (flags.json) {
    nlohmann::ordered_json json;
    json["ok"] = report->complaint.empty();
    json["committed"] = report->committed;
    json["aborted"] = report->aborted;
    json["unknown"] = report->unknown;
    json["connections"] = report->connections;
    json["complaint"] = report->complaint;
    print(json.dump(2) + "\n");
  } else {
    print(std::to_string(report->committed) + " committed, " + std::to_string(report->aborted) +
          " aborted, " + std::to_string(report->unknown) + " unknown, on " +
          std::to_string(report->connections) + " connections\n" +
          (report->complaint.empty() ? "" : "complaint: " + report->complaint + "\n"));
  }
  return report->complaint.empty() ? kClean : kAnomaly;
}

}  // namespace

RunCommand add_record(CLI::App& program) {
  auto flags = std::make_shared<RecordFlags>();
  CLI::App& command = *program.add_subcommand(
      "record", "Run clients on a real cluster and write down what they see, for namsim check");
  RecordOptions& record = flags->record;
  command.add_option("--history", record.file, "Write the history to this file")->required();
  command.add_option("--workload", flags->workload, "append: lists; register: registers")
      ->capture_default_str()
      ->check(CLI::IsMember({"append", "register"}));
  command.add_option("--seconds", record.seconds, "How long clients run")
      ->capture_default_str()
      ->check(CLI::Range(0.01, 1e6));
  command.add_option("--clients", record.clients, "Connections at once")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  command.add_option("--keys", record.keys, "Rows in use at a time")
      ->capture_default_str()
      ->check(CLI::Range(1, 10'000));
  command.add_option("--keys-per-transaction", record.keys_per_transaction, "At most")
      ->capture_default_str()
      ->check(CLI::Range(1, 100));
  command.add_option("--seed", record.seed, "Of what the clients do")->capture_default_str();
  command.add_flag("--json", flags->json, "Print one JSON document");
  command.add_option("--host", record.host, "Host, or the folder of a unix socket")
      ->capture_default_str()
      ->group("Connection");
  command
      .add_option("--port", record.ports,
                  "SQL port (5433); several, joined by commas, for several compute servers")
      ->delimiter(',')
      ->group("Connection");
  command.add_option("--wait-seconds", record.wait_seconds, "Try so long to get the first connection")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1e6))
      ->group("Connection");
  command.add_option("--user", record.user, "User")->capture_default_str()->group("Connection");
  command.add_option("--database", record.database, "Database")->capture_default_str()->group("Connection");
  command.footer("Replaces the table namsim_record of the cluster.");
  return [flags] { return run(*flags); };
}

}  // namespace namdb::sim
