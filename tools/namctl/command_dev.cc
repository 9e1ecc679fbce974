#include "tools/namctl/command_dev.h"

#include <cstdlib>
#include <memory>
#include <string>

#include "tools/namctl/dev_cluster.h"

namespace namdb::namctl {
namespace {

struct UpFlags {
  DevOptions options;
  std::string data = default_data_folder().string();
  std::string fabric;
  std::uint32_t memory_servers = 1;
  std::uint32_t compute_servers = 1;
  std::uint16_t sql_port = 5433;
};

nlohmann::json to_json(const std::filesystem::path& data, const DevCluster& cluster) {
  nlohmann::json document = {{"data", data.string()},
                             {"fabric", cluster.settings.fabric},
                             {"database", "namdb"},
                             {"psql", psql_line(cluster.settings.sql_port)}};
  nlohmann::json memory = nlohmann::json::array();
  nlohmann::json compute = nlohmann::json::array();
  for (const DaemonState& daemon : cluster.daemons) {
    nlohmann::json entry = {{"name", daemon.name},
                            {"address", daemon.address},
                            {"pid", daemon.pid},
                            {"started", daemon.started},
                            {"log", log_file(data, daemon.name).string()}};
    if (daemon.name.starts_with("memory-")) {
      memory.push_back(entry);
    } else {
      entry["host"] = "127.0.0.1";
      entry["port"] = std::stoi(daemon.address.substr(daemon.address.rfind(':') + 1));
      compute.push_back(entry);
    }
  }
  document["memory_servers"] = memory;
  document["compute_servers"] = compute;
  return document;
}

int run_up(const UpFlags& flags, const CLI::App& command, bool json) {
  const Output output(json);
  DevOptions options = flags.options;
  options.data = std::filesystem::absolute(flags.data).lexically_normal();
  if (command.count("--fabric") != 0) options.fabric = flags.fabric;
  if (command.count("--memory-servers") != 0) options.memory_servers = flags.memory_servers;
  if (command.count("--compute-servers") != 0) options.compute_servers = flags.compute_servers;
  if (command.count("--port") != 0) options.sql_port = flags.sql_port;
  Result<DevCluster> cluster = dev_up(options, [&](std::string_view text) { output.line(text); });
  if (!cluster.ok()) return report_error(output, cluster.status());
  bool started = false;
  for (const DaemonState& daemon : cluster->daemons) started |= daemon.started;
  output.line(started ? "the cluster accepts clients:" : "the cluster is already up:");
  for (std::uint32_t k = 0; k < cluster->settings.compute_servers; ++k) {
    output.line("  " + psql_line(static_cast<std::uint16_t>(cluster->settings.sql_port + k)));
  }
  output.document(to_json(options.data, *cluster));
  return kExitOk;
}

int run_down(const std::string& data, std::uint32_t timeout_s, bool json) {
  const Output output(json);
  const std::filesystem::path folder = std::filesystem::absolute(data).lexically_normal();
  Result<std::uint32_t> stopped =
      dev_down(folder, timeout_s, [&](std::string_view text) { output.line(text); });
  if (!stopped.ok()) return report_error(output, stopped.status());
  if (*stopped == 0) output.line("no cluster runs on " + folder.string());
  output.document({{"data", folder.string()}, {"stopped", *stopped}});
  return kExitOk;
}

}  // namespace

std::filesystem::path default_data_folder() {
  if (const char* state = std::getenv("XDG_STATE_HOME"); state != nullptr && *state == '/') {
    return std::filesystem::path(state) / "namdb" / "dev";
  }
  const char* home = std::getenv("HOME");
  return std::filesystem::path(home != nullptr && *home == '/' ? home : "/tmp") / ".local/state/namdb/dev";
}

void add_dev_commands(CLI::App& app, const bool& json, int& exit_code) {
  CLI::App* dev = app.add_subcommand("dev", "A cluster on this machine, in the background");
  dev->require_subcommand(1);

  CLI::App* up =
      dev->add_subcommand("up", "Start it; returns when it accepts clients. What runs already is kept");
  auto flags = std::make_shared<UpFlags>();
  up->add_option("--data", flags->data, "Folder of the cluster: data, logs, pid files, key")
      ->capture_default_str();
  up->add_option("--port", flags->sql_port, "SQL port of the first compute server; the others follow")
      ->check(CLI::Range(1, 65535))
      ->capture_default_str();
  up->add_option("--fabric", flags->fabric, "shm: shared memory; tcp: loopback")
      ->check(CLI::IsMember({"shm", "tcp"}));
  up->add_option("--memory-servers", flags->memory_servers, "Over which the tables are split")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  up->add_option("--compute-servers", flags->compute_servers, "Each with an SQL port of its own")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  up->add_option("--fabric-port", flags->options.fabric_port,
                 "With tcp: of the first memory server. Otherwise the first free ones from 7400 on")
      ->check(CLI::Range(1, 65535));
  up->add_option("--procedure-library", flags->options.procedure_libraries,
                 "Stored procedures to load. Otherwise the workloads' library of this build")
      ->check(CLI::ExistingFile)
      ->allow_extra_args(false);
  up->add_option("--region-bytes", flags->options.region_bytes,
                 "Region of each memory server, e.g. 512MiB. Otherwise a share of this machine's memory");
  up->add_option("--memory-flag", flags->options.memory_flags,
                 "Given to each nam-memoryd as it is, e.g. --memory-flag=--ring-versions=4")
      ->allow_extra_args(false);
  up->add_option("--compute-flag", flags->options.compute_flags, "Given to each nam-computed as it is")
      ->allow_extra_args(false);
  up->add_option("--timeout", flags->options.timeout_s, "Seconds to wait until it accepts clients")
      ->capture_default_str();
  up->callback([flags, up, &json, &exit_code] { exit_code = run_up(*flags, *up, json); });

  CLI::App* down = dev->add_subcommand("down", "Stop it. What it held in memory is gone");
  auto data = std::make_shared<std::string>(default_data_folder().string());
  auto timeout_s = std::make_shared<std::uint32_t>(20);
  down->add_option("--data", *data, "Folder of the cluster")->capture_default_str();
  down->add_option("--timeout", *timeout_s, "Seconds to wait for a daemon before it is killed")
      ->capture_default_str();
  down->callback([data, timeout_s, &json, &exit_code] { exit_code = run_down(*data, *timeout_s, json); });
}

}  // namespace namdb::namctl
