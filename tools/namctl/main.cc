// namctl: starts and stops clusters on this machine, and looks at and shuts down clusters anywhere.
// Exit codes: 0, 2 for wrong usage, 3 when the environment refuses (a busy port, no cluster there), 1
// otherwise.
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "common/base/crash_handler.h"
#include "common/base/standard_output.h"
#include "common/protocols/protocol.h"
#include "tools/namctl/command_backup.h"
#include "tools/namctl/command_checkpoint.h"
#include "tools/namctl/command_cluster.h"
#include "tools/namctl/command_compute.h"
#include "tools/namctl/command_dev.h"
#include "tools/namctl/command_doctor.h"
#include "tools/namctl/command_fabric.h"
#include "tools/namctl/command_memory.h"
#include "tools/namctl/command_procedures.h"
#include "tools/namctl/command_regions.h"
#include "tools/namctl/command_top.h"
#include "tools/namctl/command_verify.h"
#include "tools/namctl/output.h"

namespace namdb::namctl {
namespace {

struct Flags {
  bool json = false;
  int exit_code = kExitOk;
  std::string data = default_data_folder().string();

  DevOptions up;
  std::string fabric = "shm";
  std::string fabric_encryption = "auto";
  bool local_path = false;
  std::uint32_t memory_servers = 1;
  std::uint32_t copies = 1;
  std::uint32_t compute_servers = 1;
  std::uint16_t sql_port = 5433;
  std::string protocol{protocol::kDefaultProtocol};
  std::string stages = "one-sided";
  std::string durability;
  std::uint32_t down_timeout_s = 20;
  bool discard = false;

  ClusterFlags cluster;
  TopFlags top;
  std::uint32_t server = 0;
  bool fast = false;
  std::string backup;
  ProceduresFlags procedures;
  std::string drained;
  std::uint32_t drain_timeout_s = 60;
  DrainOrder drain;
  std::string added;
};

// The mistake in the flags that say how the database works; empty: none.
std::string wrong_engine_flags(const Flags& flags) {
  if (!flags.up.stages) return {};
  const auto code = protocol::parse_stages(*protocol::find_protocol(flags.protocol), flags.stages);
  if (code.ok()) return {};
  const std::string hint(code.status().hint());
  return "--stages: " + code.status().message() + (hint.empty() ? "" : "; " + hint);
}

void add_dev_up(CLI::App& dev, Flags& flags) {
  CLI::App* up =
      dev.add_subcommand("up", "Start it; returns when it accepts clients. Leaves running daemons alone");
  up->add_option("--data", flags.data, "Folder of the cluster: data, logs, pid files, key")
      ->capture_default_str();
  up->add_option("--port", flags.sql_port, "SQL port of the first compute server; the others follow")
      ->check(CLI::Range(1, 65535))
      ->capture_default_str();
  up->add_option("--fabric", flags.fabric, "shm: shared memory; tcp: loopback; verbs: RDMA")
      ->check(CLI::IsMember({"shm", "tcp", "verbs"}))
      ->capture_default_str();
  up->add_option("--memory-servers", flags.memory_servers, "Over which the tables are split")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  up->add_option("--copies", flags.copies,
                 "Hosts of each memory server's data. With several another one goes on when one is lost")
      ->check(CLI::Range(1, 4))
      ->capture_default_str();
  up->add_option("--compute-servers", flags.compute_servers, "Each with an SQL port of its own")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  std::vector<std::string> protocols;
  for (const protocol::ProtocolTraits& protocol : protocol::protocol_traits())
    protocols.emplace_back(protocol.name);
  up->add_option("--protocol", flags.protocol, "The database's concurrency control (nam-memoryd --help)")
      ->check(CLI::IsMember(protocols))
      ->capture_default_str();
  up->add_option("--stages", flags.stages,
                 "Stages of transactions that run by calls to memory servers (nam-memoryd --help)")
      ->capture_default_str();
  up->add_option("--durability", flags.durability,
                 "flushed: commits are on disk. memory: they are in the memory servers only. Default: "
                 "flushed with one memory server, memory with several")
      ->check(CLI::IsMember({"memory", "flushed"}));
  up->add_option("--fabric-port", flags.up.fabric_port,
                 "With tcp and verbs: of the first memory server. Otherwise the first free ones from 7400 on")
      ->check(CLI::Range(1, 65535));
  up->add_option("--fabric-host", flags.up.fabric_host,
                 "With tcp and verbs: where memory servers listen; with verbs an RDMA device's address")
      ->capture_default_str();
  up->add_option(
        "--fabric-encryption", flags.fabric_encryption,
        "With tcp: required encrypts the daemons' connections, which on one machine are not otherwise")
      ->check(CLI::IsMember({"auto", "off", "required"}))
      ->capture_default_str();
  up->add_flag("--local-path,!--no-local-path", flags.local_path,
               "With tcp and verbs: compute server K maps the region of memory server K modulo their number, "
               "and reaches only the others over the network");
  up->add_option("--procedure-library", flags.up.procedure_libraries,
                 "Stored procedures to load. Otherwise the workloads' library of this build")
      ->check(CLI::ExistingFile)
      ->allow_extra_args(false);
  up->add_option("--region-bytes", flags.up.region_bytes,
                 "Region of each memory server, e.g. 512MiB. Otherwise a share of this machine's memory");
  up->add_option("--region-limit", flags.up.region_limit,
                 "What each region may grow to, e.g. 8GiB. Otherwise it does not grow");
  up->add_option("--memory-flag", flags.up.memory_flags,
                 "Given to each nam-memoryd as it is, e.g. --memory-flag=--ring-versions=4")
      ->allow_extra_args(false);
  up->add_option("--compute-flag", flags.up.compute_flags, "Given to each nam-computed as it is")
      ->allow_extra_args(false);
  up->add_option("--timeout", flags.up.timeout_s,
                 "Seconds to wait for a daemon that does not say how far it has come")
      ->capture_default_str();
  up->callback([&flags, up] {
    flags.up.data = flags.data;
    // An option that was not given has the value of the folder's cluster.
    if (up->count("--fabric") != 0) flags.up.fabric = flags.fabric;
    if (up->count("--fabric-encryption") != 0) flags.up.fabric_encryption = flags.fabric_encryption;
    if (up->count("--local-path") != 0) flags.up.local_path = flags.local_path;
    if (up->count("--memory-servers") != 0) flags.up.memory_servers = flags.memory_servers;
    if (up->count("--copies") != 0) flags.up.copies = flags.copies;
    if (up->count("--compute-servers") != 0) flags.up.compute_servers = flags.compute_servers;
    if (up->count("--port") != 0) flags.up.sql_port = flags.sql_port;
    if (up->count("--protocol") != 0) flags.up.protocol = flags.protocol;
    if (up->count("--stages") != 0) flags.up.stages = flags.stages;
    if (up->count("--durability") != 0) flags.up.durability = flags.durability;
    if (const std::string wrong = wrong_engine_flags(flags); !wrong.empty()) {
      std::fprintf(stderr, "namctl: %s\n", wrong.c_str());
      flags.exit_code = kExitUsage;
      return;
    }
    flags.exit_code = run_dev_up(flags.up, flags.json);
  });
}

void add_dev_down(CLI::App& dev, Flags& flags) {
  CLI::App* down = dev.add_subcommand("down", "Stop it. With durability memory its data is gone");
  down->add_option("--data", flags.data, "Folder of the cluster")->capture_default_str();
  down->add_option("--timeout", flags.down_timeout_s, "Seconds to wait for a daemon before it is killed")
      ->capture_default_str();
  down->add_flag("--discard", flags.discard, "Remove all its data, and forget its options");
  down->callback([&flags] {
    flags.exit_code = run_dev_down(flags.data, flags.down_timeout_s, flags.discard, flags.json);
  });
}

void add_address_flags(CLI::App& command, Flags& flags) {
  command.add_option("--data", flags.data, "Folder of a cluster of dev up")->capture_default_str();
  command.add_option("--memory-server", flags.cluster.memory, "unix:PATH or HOST:PORT; instead of --data")
      ->allow_extra_args(false);
  command.add_option("--compute-server", flags.cluster.compute, "HOST:PORT of its SQL; instead of --data")
      ->allow_extra_args(false);
  command.add_option("--cluster-key", flags.cluster.key, "The cluster's key file, with --memory-server");
  command.add_option("--fabric", flags.cluster.fabric, "verbs, if --memory-server is reached by RDMA")
      ->check(CLI::IsMember({"shm", "tcp", "verbs"}));
  command
      .add_option("--fabric-encryption", flags.cluster.encryption,
                  "As the memory servers', with --memory-server: auto encrypts connections to other machines")
      ->check(CLI::IsMember({"auto", "off", "required"}));
}

void add_region_commands(CLI::App& memory, Flags& flags) {
  memory.fallthrough();
  CLI::App* list =
      memory.add_subcommand("list", "Which host has which region; 1 if one of them does not answer");
  list->callback([&flags] {
    flags.cluster.data = flags.data;
    flags.exit_code = run_regions(flags.cluster, flags.json);
  });
  CLI::App* drain = memory.add_subcommand(
      "drain",
      "Frees a host: its region goes to another one while clients work, or its copy is given up; returns "
      "once that is done");
  drain->add_option("from", flags.drain.from, "The host: unix:PATH or HOST:PORT")->required();
  drain->add_option("--to", flags.drain.to,
                    "The region's new host, as others reach it: one that waits (nam-memoryd --join), or that "
                    "has a copy. Otherwise the copy that has most");
  drain->add_flag("--force", flags.drain.force, "Also the only copy in sync");
  drain->callback([&flags] {
    flags.cluster.data = flags.data;
    flags.exit_code = run_drain(flags.cluster, flags.drain, flags.json);
  });
  CLI::App* add = memory.add_subcommand(
      "add", "A host without a region becomes a copy of that of its --server-id; returns once it is in sync");
  add->add_option("host", flags.added, "nam-memoryd --join --configuration-store: unix:PATH or HOST:PORT")
      ->required();
  add->callback([&flags] {
    flags.cluster.data = flags.data;
    flags.exit_code = run_add(flags.cluster, flags.added, flags.json);
  });
  CLI::App* even = memory.add_subcommand(
      "rebalance", "Regions go to copies, until machines serve as many of them as copies in sync allow");
  even->callback([&flags] {
    flags.cluster.data = flags.data;
    flags.exit_code = run_rebalance(flags.cluster, flags.json);
  });
}

void add_cluster_commands(CLI::App& app, Flags& flags) {
  CLI::App* status =
      app.add_subcommand("status", "What every server says about itself; 1 if one does not answer");
  add_address_flags(*status, flags);
  CLI::App* fabric = app.add_subcommand(
      "fabric", "How compute servers reach memory servers: devices, paths, operations, errors");
  add_address_flags(*fabric, flags);
  CLI::App* memory = app.add_subcommand(
      "memory", "Where every byte of the memory servers' regions is; 1 if one does not answer");
  add_address_flags(*memory, flags);
  add_region_commands(*memory, flags);
  CLI::App* top = app.add_subcommand(
      "top",
      "What the servers do: commits, aborts, old versions, their mover and collector; again and again");
  add_address_flags(*top, flags);
  top->add_option("--interval", flags.top.interval_s, "Seconds between two views")
      ->check(CLI::Range(0.01, 3600.0))
      ->capture_default_str();
  CLI::Option* count = top->add_option("--count", flags.top.count, "Ends after so many views; 0: never");
  count->capture_default_str();
  top->add_flag("--once", flags.top.once, "One view, with the rates of one interval")->excludes(count);
  top->add_option("--sample-records", flags.top.sample_records,
                  "Records of each memory server whose version rings are read each time")
      ->check(CLI::Range(0, 65'536))
      ->capture_default_str();
  CLI::App* shutdown =
      app.add_subcommand("shutdown", "Stops a cluster of dev up, or memory servers by address");
  add_address_flags(*shutdown, flags);

  status->callback([&flags] {
    flags.cluster.data = flags.data;
    flags.exit_code = run_status(flags.cluster, flags.json);
  });
  fabric->callback([&flags] {
    flags.cluster.data = flags.data;
    flags.exit_code = run_fabric(flags.cluster, flags.json);
  });
  top->callback([&flags] {
    flags.cluster.data = flags.data;
    flags.exit_code = run_top(flags.cluster, flags.top, flags.json);
  });
  memory->callback([&flags, memory] {
    if (!memory->get_subcommands().empty()) return;
    flags.cluster.data = flags.data;
    flags.exit_code = run_memory(flags.cluster, flags.json);
  });
  shutdown->callback([&flags] {
    flags.cluster.data = flags.data;
    flags.exit_code = run_shutdown(flags.cluster, flags.json);
  });
}

void add_compute_commands(CLI::App& app, Flags& flags) {
  CLI::App* compute = app.add_subcommand("compute", "The compute servers of a cluster");
  compute->require_subcommand(1);
  CLI::App* list = compute->add_subcommand("list", "Which are connected: addresses, sessions, versions");
  add_address_flags(*list, flags);
  list->callback([&flags] {
    flags.cluster.data = flags.data;
    flags.exit_code = run_compute_list(flags.cluster, flags.json);
  });
  CLI::App* drain = compute->add_subcommand(
      "drain",
      "Ends one: no new clients, and sessions end with their transactions; 1 if it has not ended in time");
  drain->add_option("server", flags.drained, "Its address, as `compute list` shows it")->required();
  add_address_flags(*drain, flags);
  drain->add_option("--timeout", flags.drain_timeout_s, "Seconds to wait for its end")->capture_default_str();
  drain->callback([&flags] {
    flags.cluster.data = flags.data;
    flags.exit_code = run_compute_drain(flags.cluster, flags.drained, flags.drain_timeout_s, flags.json);
  });
}

void add_doctor(CLI::App& app, Flags& flags) {
  CLI::App* doctor = app.add_subcommand(
      "doctor", "Faults of this machine and of the cluster, with their cures; 1 if one is a failure");
  add_address_flags(*doctor, flags);
  doctor->callback([&flags] {
    flags.cluster.data = flags.data;
    flags.exit_code = run_doctor(flags.cluster, NAMDB_VERSION, flags.json);
  });
}

void add_disk_commands(CLI::App& app, Flags& flags) {
  CLI::App* checkpoint =
      app.add_subcommand("checkpoint", "Memory servers make checkpoints now; 1 if one of them could not");
  add_address_flags(*checkpoint, flags);
  CLI::Option* server =
      checkpoint->add_option("--server", flags.server, "Of the memory server with that number only");
  checkpoint->add_flag("--fast", flags.fast,
                       "As fast as the disk is, instead of nam-memoryd --checkpoint-rate");
  checkpoint->callback([&flags, server] {
    flags.cluster.data = flags.data;
    flags.exit_code =
        run_checkpoint(flags.cluster, server->count() != 0 ? std::optional(flags.server) : std::nullopt,
                       flags.fast, flags.json);
  });
  CLI::App* backup = app.add_subcommand(
      "backup",
      "Copies the databases of memory servers on this machine while they run, and verifies the copy");
  backup->add_option("folder", flags.backup, "New folder for it: nam-memoryd --restore FOLDER/memory-K")
      ->required();
  add_address_flags(*backup, flags);
  backup->callback([&flags] {
    flags.cluster.data = flags.data;
    flags.exit_code = run_backup(flags.cluster, flags.backup, flags.json);
  });
}

void add_verify(CLI::App& app, Flags& flags) {
  CLI::App* verify = app.add_subcommand(
      "verify", "Reads a log and its checkpoints on disk and says what is wrong where; 1 if something is");
  verify->add_option("--data", flags.data, "Folder with log and checkpoint, of a server that does not run")
      ->required();
  verify->callback([&flags] { flags.exit_code = run_verify(flags.data, flags.json); });
}

void add_procedures(CLI::App& app, Flags& flags) {
  CLI::App* procedures =
      app.add_subcommand("procedures", "The stored procedures of libraries, and how they may be chopped");
  procedures
      ->add_option("--procedure-library", flags.procedures.libraries,
                   "Library to look at. Otherwise the workloads' library of this build")
      ->check(CLI::ExistingFile)
      ->allow_extra_args(false);
  CLI::Option* chopping = procedures->add_flag(
      "--chopping", flags.procedures.chopping,
      "The pieces that they declare, and which of them may be transactions of their own");
  procedures
      ->add_flag("--traditional", flags.procedures.traditional,
                 "As if no changes commuted and no pieces could be reordered")
      ->needs(chopping);
  procedures->add_option("--svg", flags.procedures.svg, "Write the chopping graph to this file")
      ->needs(chopping);
  procedures->callback([&flags] { flags.exit_code = run_procedures(flags.procedures, flags.json); });
}

int run(int argc, char** argv) {
  CLI::App app("Operates namdb clusters", "namctl");
  Flags flags;
  app.require_subcommand(1);
  // A flag of the program may stand behind the command, too.
  app.fallthrough();
  app.add_flag("--json", flags.json, "Print one JSON document on standard output");
  app.set_version_flag("--version", NAMDB_VERSION);
  CLI::App* dev = app.add_subcommand("dev", "A cluster on this machine, in the background");
  dev->require_subcommand(1);
  add_dev_up(*dev, flags);
  add_dev_down(*dev, flags);
  add_cluster_commands(app, flags);
  add_compute_commands(app, flags);
  add_doctor(app, flags);
  add_disk_commands(app, flags);
  add_verify(app, flags);
  add_procedures(app, flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitOk : kExitUsage;
  }
  return flags.exit_code;
}

}  // namespace
}  // namespace namdb::namctl

int main(int argc, char** argv) {
  namdb::install_crash_handler(argv[0]);
  // Standard output is the report's.
  auto logger = std::make_shared<spdlog::logger>("namctl", std::make_shared<spdlog::sinks::stderr_sink_st>());
  logger->set_level(spdlog::level::warn);
  spdlog::set_default_logger(std::move(logger));
  namdb::ignore_broken_pipes();
  return namdb::finish_standard_output("namctl", namdb::namctl::run(argc, argv));
}
