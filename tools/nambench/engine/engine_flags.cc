#include "tools/nambench/engine/engine_flags.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "common/protocols/presets.h"
#include "common/protocols/protocol.h"
#include "common/protocols/stages.h"
#include "compute/cluster/optimisations.h"
#include "compute/txn/lock_time.h"
#include "tools/support/servers/server_thread.h"

namespace namdb::nambench {

std::vector<support::Endpoint> Wire::endpoints() const {
  std::vector<support::Endpoint> all;
  for (const std::uint16_t port : ports) {
    all.push_back(endpoint);
    all.back().port = port;
  }
  if (all.empty()) all.push_back(endpoint);
  return all;
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

Status EngineFlags::check() const {
  const auto invalid = [](const char* message) {
    return Status(ErrorCode::invalid_parameter_value, message);
  };
  if (!engine && (in_process || !host.memory_servers.empty())) {
    return invalid("--memory-server and --in-process go with --engine");
  }
  if (engine && in_process == !host.memory_servers.empty()) {
    return invalid("--engine needs either --memory-server, or --in-process");
  }
  const auto code = protocol::parse_stages(*protocol::find_protocol(protocol), stages);
  if (!code.ok())
    return Status(code.status().code(), "--stages: " + code.status().message(), code.status().hint());
  if (in_process) {
    const protocol::Preset* const chosen = protocol::find_preset(preset);
    Status status =
        txn::check_lock_time(txn::lock_time_of(host.lock_at),
                             *protocol::find_protocol(chosen == nullptr ? protocol : chosen->protocol));
    if (!status.ok()) return status;
  }
  if (memory_servers > 1 && !in_process) return invalid("--memory-servers goes with --in-process");
  return {};
}

Result<std::unique_ptr<EngineHost>> EngineFlags::open(
    std::vector<std::unique_ptr<support::ServerThread>>& servers) {
  host.location_cache_bytes = location_cache_mib << 20;
  if (in_process) {
    host.memory_servers.clear();
    for (std::uint32_t server = 0; server < memory_servers; ++server) {
      memory::Options memory;
      memory.server_id = static_cast<std::uint16_t>(server);
      memory.server_count = static_cast<std::uint16_t>(memory_servers);
      memory.protocol = protocol;
      memory.stages = *protocol::StageCode::parse(stages);
      if (const protocol::Preset* const chosen = protocol::find_preset(preset)) {
        memory.preset = preset;
        memory.protocol = chosen->protocol;
        memory.stages = chosen->stage_code();
      }
      auto started = support::ServerThread::start(
          {.transport = fabric, .region_bytes = region_mib << 20, .memory_server = memory});
      if (!started.ok()) return started.status();
      host.memory_servers.push_back(started.value()->address());
      servers.push_back(std::move(started).value());
    }
  }
  return EngineHost::open(host);
}

CLI::Option* add_without(CLI::App& command, std::string& list) {
  return command
      .add_option("--without", list,
                  "Optimisations to leave out, as nam-computed's flag: of " + txn::Optimisations::names())
      ->check(txn::Optimisations::complaint);
}

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
      .add_option("--fabric-encryption", flags.host.fabric_encryption,
                  "auto, off or required, as the memory servers' flag")
      ->check(CLI::IsMember({"auto", "off", "required"}))
      ->group(group);
  command
      .add_option("--snapshots", flags.host.snapshots, "own, shared or prefetched, as nam-computed's flag")
      ->check(CLI::IsMember({"own", "shared", "prefetched"}))
      ->group(group);
  command
      .add_option("--slots-per-worker", flags.host.slots_per_worker,
                  "Execution slots of each worker, as nam-computed's flag")
      ->capture_default_str()
      ->check(CLI::Range(1, 31))
      ->group(group);
  command
      .add_flag("--whole-writes", flags.host.whole_writes,
                "Write whole what a commit changes, as nam-computed's flag")
      ->group(group);
  command
      .add_option("--index-reads", flags.host.index_reads, "auto, leaves or calls, as nam-computed's flag")
      ->check(CLI::IsMember({"auto", "leaves", "calls"}))
      ->group(group);
  command.add_option("--lock-at", flags.host.lock_at, "auto, commit or fetch, as nam-computed's flag")
      ->check(CLI::IsMember({"auto", "commit", "fetch"}))
      ->group(group);
  add_without(command, flags.host.without)->group(group);
  command.add_option("--location-cache-mib", flags.location_cache_mib, "Cache of records' locations")
      ->capture_default_str()
      ->group(group);
  if (!with_in_process) return;
  command
      .add_flag("--in-process", flags.in_process,
                "No cluster: start a memory server on a thread of this process, and load it first")
      ->group(group);
  command.add_option("--fabric", flags.fabric, "Transport to memory servers in this process")
      ->capture_default_str()
      ->check(CLI::IsMember({"shm", "tcp"}))
      ->group(group);
  command
      .add_option("--memory-servers", flags.memory_servers,
                  "Memory servers in this process, each on a thread of its own")
      ->capture_default_str()
      ->check(CLI::Range(1, 16))
      ->group(group);
  std::vector<std::string> protocols;
  for (const protocol::ProtocolTraits& traits : protocol::protocol_traits())
    protocols.emplace_back(traits.name);
  command
      .add_option("--protocol", flags.protocol,
                  "Concurrency control of memory servers in this process, as nam-memoryd's flag")
      ->check(CLI::IsMember(protocols))
      ->capture_default_str()
      ->group(group);
  command.add_option("--stages", flags.stages, "Their stages that are two-sided, as nam-memoryd's flag")
      ->capture_default_str()
      ->group(group);
  command.add_option("--preset", flags.preset, "Their protocol and stages at once, as nam-memoryd's flag")
      ->check(CLI::IsMember(protocol::preset_names()))
      ->excludes("--protocol", "--stages")
      ->group(group);
  command.add_option("--region-mib", flags.region_mib, "Region of each memory server in this process")
      ->capture_default_str()
      ->group(group);
}

}  // namespace namdb::nambench
