#include "tools/namctl/command_dev.h"

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "tools/namctl/output.h"

namespace namdb::namctl {
namespace {

nlohmann::json to_json(const std::filesystem::path& data, const DevCluster& cluster) {
  nlohmann::json document = {{"data", data.string()},
                             {"fabric", cluster.settings.fabric},
                             {"durability", durability_of(cluster.settings)},
                             {"copies", cluster.settings.copies},
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

}  // namespace

int run_dev_up(DevOptions options, bool json) {
  const Output output(json);
  options.data = std::filesystem::absolute(options.data).lexically_normal();
  Result<DevCluster> cluster = dev_up(options, [&](std::string_view text) { output.line(text); });
  if (!cluster.ok()) return report_error(output, cluster.status());
  bool started = false;
  for (const DaemonState& daemon : cluster->daemons) started |= daemon.started;
  output.line(started ? "the cluster accepts clients:" : "the cluster is already up:");
  for (std::uint32_t k = 0; k < cluster->settings.compute_servers; ++k) {
    output.line("  " + psql_line(static_cast<std::uint16_t>(cluster->settings.sql_port + k)));
  }
  output.line(durability_of(cluster->settings) == kDurabilityMemory
                  ? "durability memory: all commits are lost when a memory server ends"
                  : "durability flushed: all commits are on disk, and there again after dev down and dev up");
  output.document(to_json(options.data, *cluster));
  return kExitOk;
}

int run_dev_down(const std::string& data, std::uint32_t timeout_s, bool discard, bool json) {
  const Output output(json);
  const std::filesystem::path folder = std::filesystem::absolute(data).lexically_normal();
  Result<std::uint32_t> stopped =
      dev_down(folder, timeout_s, discard, [&](std::string_view text) { output.line(text); });
  if (!stopped.ok()) return report_error(output, stopped.status());
  if (*stopped == 0) output.line("no cluster runs on " + folder.string());
  output.document({{"data", folder.string()}, {"stopped", *stopped}});
  return kExitOk;
}

std::filesystem::path default_data_folder() {
  if (const char* state = std::getenv("XDG_STATE_HOME"); state != nullptr && *state == '/') {
    return std::filesystem::path(state) / "namdb" / "dev";
  }
  const char* home = std::getenv("HOME");
  return std::filesystem::path(home != nullptr && *home == '/' ? home : "/tmp") / ".local/state/namdb/dev";
}

}  // namespace namdb::namctl
