#include "memory/process/flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/config/daemon_flags.h"
#include "common/config/encryption_flag.h"
#include "common/config/toml_config.h"
#include "common/layout/record.h"
#include "common/protocols/presets.h"
#include "common/protocols/protocol.h"

namespace namdb::memory {
namespace {

constexpr std::uint64_t kSmallestRegion_bytes = 16U << 20;
constexpr std::uint64_t kSmallestExtent_bytes = 64U << 10;
constexpr std::uint64_t kLargestExtent_bytes = 1U << 30;
constexpr std::uint64_t kSmallestLog_bytes = 16U << 20;
constexpr std::uint32_t kFirstPort = 7400;

Status wrong(const std::string& message) {
  return Status(ErrorCode::configuration, message);
}

// Values as the command line has them, which become fields of Flags after parsing.
struct Given {
  explicit Given(const Flags& defaults)
      : stages(defaults.options.stages.text()),
        timestamp_vector(layout::name_of(defaults.options.timestamp_vector)) {}

  std::string huge_pages = "auto";
  double max_transaction_s = 60;
  std::string stages;
  bool protocol_or_stages = false;  // --protocol or --stages was given
  std::string read_locks = "none";
  std::string timestamp_vector;
  double heartbeat_timeout_s = -1;  // negative: as the fabric says
  std::string durability;           // empty: as other flags say
  std::uint32_t checkpoint_s = 300;
  std::vector<std::string> force;
};

// Each of these adds a group of flags, in the order in which --help shows them. `flags` and `given` outlive
// the app.

void add_folder_flags(CLI::App& app, Flags& flags, int argc, char** argv) {
  app.set_version_flag("--version", "nam-memoryd " NAMDB_VERSION, "Print the version and exit");
  const std::filesystem::path config =
      std::filesystem::path(config::data_argument(argc, argv, flags.data)) / "config.toml";
  std::error_code ignored;
  app.set_config("--config", std::filesystem::exists(config, ignored) ? config.string() : "",
                 "TOML file with these options' long names as keys; DIR/config.toml is read if it is there.\n"
                 "Flags override it")
      ->type_name("FILE");
  config::read_config_as_toml(app);
  app.add_option("--data", flags.data, "Folder for what this daemon keeps: DIR/{config.toml,run,log,data}")
      ->capture_default_str()
      ->type_name("DIR");
}

void add_address_flags(CLI::App& app, Flags& flags) {
  app.add_option("--fabric", flags.fabric, "How compute servers reach this server")
      ->check(CLI::IsMember({"shm", "tcp", "verbs"}))
      ->capture_default_str();
  app.add_option("--listen", flags.listen,
                 "unix:PATH (shm) or HOST:PORT (tcp; verbs: an RDMA device's address); default\n"
                 "unix:DIR/run/memory.sock, or port 7400 and up by server id on 127.0.0.1 or the address\n"
                 "of --rdma-device")
      ->type_name("ADDRESS");
  app.add_option("--listen-local", flags.listen_local,
                 "unix:PATH, with --fabric tcp or verbs: compute servers on this machine may map the region\n"
                 "instead (nam-computed --beside-socket). Over verbs only where the device's atomics are\n"
                 "atomic with the CPU")
      ->type_name("ADDRESS");
}

void add_region_flags(CLI::App& app, Flags& flags, Given& given) {
  app.add_option("--region-bytes", flags.region_bytes,
                 "Size of the memory region: bytes, or with a unit as in 512MiB or 4GiB.\n"
                 "Default: the smaller of 25 % of the memory and 4 GiB")
      ->transform(CLI::AsSizeValue(false))
      ->capture_default_str();
  app.add_option("--region-limit", flags.region_limit_bytes,
                 "What the region may grow to when it is full, while it is used. Default: it does not grow.\n"
                 "Not with --fabric verbs, where peers hold keys of all that was registered at the start")
      ->transform(CLI::AsSizeValue(false));
  app.add_option("--extent-size", flags.options.extent_bytes,
                 "Unit in which the region is given to tables, versions and journals: a power of two from\n"
                 "64KiB to 1GiB. Small ones waste less where there are many small tables")
      ->transform(CLI::AsSizeValue(false))
      ->capture_default_str();
  app.add_option("--huge-pages", given.huge_pages,
                 "auto: 2 MiB pages when enough are reserved (sysctl vm.nr_hugepages); never; always:\n"
                 "refuse to start without")
      ->check(CLI::IsMember({"auto", "never", "always"}))
      ->capture_default_str();
}

void add_cluster_flags(CLI::App& app, Flags& flags, Given& given) {
  app.add_option("--server-id", flags.options.server_id, "This memory server's number; 0 holds the catalog")
      ->capture_default_str();
  app.add_option("--server-count", flags.options.server_count,
                 "Memory servers of the cluster, fixed for its life")
      ->check(CLI::Range(1, 65'535))
      ->capture_default_str();
  app.add_option("--max-transaction-seconds", given.max_transaction_s,
                 "Age at which a transaction is aborted; old versions are kept as long where needed")
      ->check(CLI::Range(0.1, 86'400.0))
      ->capture_default_str();
  app.add_option("--ring-versions", flags.options.ring_slots,
                 "Old versions kept inside a record of a new table")
      ->check(CLI::Range(1U, layout::kMaxRingSlots))
      ->capture_default_str();
}

void add_protocol_flags(CLI::App& app, Flags& flags, Given& given) {
  std::string protocols;
  std::vector<std::string> protocol_names;
  for (const protocol::ProtocolTraits& protocol : protocol::protocol_traits()) {
    protocols += "\n  " + std::string(protocol.name) + ": " + std::string(protocol.description);
    protocol_names.emplace_back(protocol.name);
  }
  app.add_option("--protocol", flags.options.protocol,
                 "The database's concurrency control, the same on all its memory servers:" + protocols)
      ->check(CLI::IsMember(protocol_names))
      ->capture_default_str();
  app.add_option(
         "--stages", given.stages,
         "Stages of transactions that run by calls to memory servers instead of one-sided operations,\n"
         "the same on all memory servers: one-sided (none), two-sided (all), or some of find, read, lock,\n"
         "validate, renew, log, install, release, separated by commas")
      ->capture_default_str();
  app.add_option("--read-locks", given.read_locks,
                 "With --protocol nowait or waitdie, the same on all memory servers. shared: records have\n"
                 "words in which readers say that they hold them, beside each other, until COMMIT; none:\n"
                 "what was only read is validated then")
      ->check(CLI::IsMember({"none", "shared"}))
      ->capture_default_str();
  std::string presets;
  for (const protocol::Preset& preset : protocol::presets())
    presets += "\n  " + std::string(preset.name) + ": " + std::string(preset.description);
  app.add_option("--preset", flags.options.preset,
                 "Protocol and stages of a system that is to be compared, instead of both; compute servers\n"
                 "leave out what it has not. The same on all memory servers:" +
                     presets)
      ->check(CLI::IsMember(protocol::preset_names()));
}

void add_slot_flags(CLI::App& app, Flags& flags, Given& given) {
  app.add_option(
         "--timestamp-vector", given.timestamp_vector,
         "Where the timestamp vector is, the same on all memory servers. whole: on server 0.\n"
         "partitioned: over all of them, where one would be the bottleneck; each snapshot READs all parts")
      ->check(CLI::IsMember(
          std::vector<std::string>(layout::kVectorSpreadNames.begin(), layout::kVectorSpreadNames.end())))
      ->capture_default_str();
  app.add_option("--slots", flags.options.vector_capacity,
                 "Execution slots (workers) that can be alive at once")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--heartbeat-timeout-seconds", given.heartbeat_timeout_s,
                 "Declare a compute server dead after so long a silence; 0 = never.\n"
                 "Default: 10 for tcp and verbs; 0 for shm, where the kernel reports its end")
      ->check(CLI::Range(0.0, 86'400.0));
}

void add_durability_flags(CLI::App& app, Flags& flags, Given& given) {
  app.add_option(
         "--memory-server", flags.options.memory_servers,
         "With --durability flushed, of one of several memory servers: the address of each, this one\n"
         "included, server 0 first. They open their data together")
      ->type_name("ADDRESS");
  app.add_option(
         "--durability", given.durability,
         "When a commit is answered. flushed: once it is in the log on disk (DIR/data), so that it is\n"
         "there after a loss of power. memory: once it is in this server's memory; all is lost when\n"
         "the process ends. The same on all memory servers. Default: flushed; memory where there are\n"
         "several memory servers and --memory-server does not name them")
      ->check(CLI::IsMember({"memory", "flushed"}));
  app.add_option("--log-bytes", flags.log_bytes,
                 "With --durability flushed: the disk space that the log may take. When it is full, commits\n"
                 "fail with 53100; one that writes more than a quarter of it fails with 54000. At least\n"
                 "16MiB")
      ->transform(CLI::AsSizeValue(false))
      ->capture_default_str();
  app.add_option("--checkpoint-seconds", given.checkpoint_s,
                 "With --durability flushed: the longest time between two checkpoints while the database\n"
                 "changes; 0: only as the log grows. A quarter of --log-bytes leads to one, too")
      ->check(CLI::Range(0, 86'400))
      ->capture_default_str();
  app.add_option(
         "--checkpoint-rate", flags.checkpoint_rate_bytes,
         "Bytes a second that a checkpoint writes; 0: as fast as the disk is. An urgent one takes no\n"
         "notice: the log is short of room, or namctl checkpoint --fast asks")
      ->transform(CLI::AsSizeValue(false))
      ->capture_default_str();
}

void add_database_flags(CLI::App& app, Flags& flags, Given& given) {
  app.add_option("--restore", flags.restore,
                 "Makes the database from a backup, one of the folders memory-K of namctl backup, and opens\n"
                 "it. Refused where DIR has a database")
      ->type_name("FOLDER");
  app.add_flag("--join", flags.join,
               "A new folder waits for the region of --server-id, which namctl memory drain sends here from\n"
               "another host. With --configuration-store it becomes a copy of that region: at once if\n"
               "--server-id is given, otherwise when namctl memory add says so. Without effect where DIR\n"
               "has a database");
  add_store_flags(app, flags.store);
  app.add_option(
         "--force", given.force,
         "Opens a database that is damaged, or not known to be whole. The log of this process says which\n"
         "changes are lost.\n"
         "lost-log: although a part of its log is damaged; that part's changes are lost.\n"
         "unfit-entries: although some changes in the log do not fit the records that they are for,\n"
         "or their predecessors are missing; these are left out.\n"
         "claim: takes the region of which a folder with --join has a whole copy, although its old host\n"
         "does not answer. That must never start again: all that it has answered since is lost")
      ->check(CLI::IsMember({"lost-log", "unfit-entries", "claim"}));
}

void add_transport_flags(CLI::App& app, Flags& flags) {
  app.add_option("--cluster-key", flags.cluster_key,
                 "File with the cluster's 32-byte secret, mode 0600; needed to listen beyond loopback")
      ->type_name("FILE");
  config::add_encryption_flag(app, flags.fabric_encryption);
  config::add_rdma_flags(app, flags.rdma);
  app.add_option(
         "--rdma-region-keys", flags.rdma_region_keys,
         "With --fabric verbs: what gives each peer a key of its own: windows (of memory, type 2), or\n"
         "registrations where the device has none")
      ->check(CLI::IsMember({"auto", "windows", "registrations"}))
      ->capture_default_str();
}

// Each of these checks some flags and sets what follows from them. Error configuration.

Status set_durability(Flags& flags, const Given& given) {
  flags.force_lost_log = std::ranges::count(given.force, std::string_view("lost-log")) != 0;
  flags.force_unfit_entries = std::ranges::count(given.force, std::string_view("unfit-entries")) != 0;
  flags.force_claim = std::ranges::count(given.force, std::string_view("claim")) != 0;
  flags.checkpoint_interval_ns = given.checkpoint_s * kSecond_ns;
  const bool alone_or_named = flags.options.server_count == 1 || !flags.options.memory_servers.empty();
  const bool flushed = given.durability.empty() ? alone_or_named : given.durability == "flushed";
  flags.options.durability = flushed ? Durability::flushed : Durability::memory;
  if (flags.options.opens_together() && flags.options.memory_servers.size() != flags.options.server_count) {
    return wrong("--durability flushed with --server-count " + std::to_string(flags.options.server_count) +
                 " wants --memory-server as often, with the address of each memory server, server 0 first");
  }
  if (!flushed && !flags.restore.empty())
    return wrong("--restore is for --durability flushed: at level memory nothing is on disk");
  if (flags.join && (!flushed || !flags.restore.empty()))
    return wrong("--join is for --durability flushed, and goes without --restore");
  if (flags.log_bytes < kSmallestLog_bytes) return wrong("--log-bytes must be at least 16MiB");
  return {};
}

Status set_protocol(Flags& flags, const Given& given) {
  std::string stages = given.stages;
  if (const protocol::Preset* const preset = protocol::find_preset(flags.options.preset)) {
    if (given.protocol_or_stages) {
      return wrong("--preset says which protocol and stages, so it goes without --protocol and --stages");
    }
    flags.options.protocol = preset->protocol;
    stages = preset->stages;
  }
  const auto code = protocol::parse_stages(*protocol::find_protocol(flags.options.protocol), stages);
  if (!code.ok()) {
    const std::string& hint = code.status().hint();
    return wrong("--stages: " + code.status().message() + (hint.empty() ? "" : "; " + hint));
  }
  flags.options.stages = *code;
  flags.options.shared_read_locks = given.read_locks == "shared";
  if (flags.options.shared_read_locks && !protocol::find_protocol(flags.options.protocol)->locks_rows) {
    return wrong("--read-locks shared: --protocol " + flags.options.protocol +
                 " locks no rows as they are read; nowait and waitdie do");
  }
  flags.options.timestamp_vector = *layout::find_vector_spread(given.timestamp_vector);
  return {};
}

Status set_region(Flags& flags, const Given& given) {
  if (flags.options.server_id >= flags.options.server_count) {
    return wrong("--server-id must be smaller than --server-count");
  }
  if (flags.region_bytes < kSmallestRegion_bytes) {
    return wrong("--region-bytes must be at least 16MiB");
  }
  if (flags.region_limit_bytes == 0) flags.region_limit_bytes = flags.region_bytes;
  if (flags.region_limit_bytes < flags.region_bytes) {
    return wrong("--region-limit must not be smaller than --region-bytes");
  }
  if (flags.region_limit_bytes > flags.region_bytes && flags.fabric == "verbs") {
    return wrong(
        "--region-limit is not for --fabric verbs: peers hold keys of all that was registered at the "
        "start, and more cannot be added to them; give --region-bytes all that the region needs");
  }
  const std::uint64_t extent_bytes = flags.options.extent_bytes;
  if (!std::has_single_bit(extent_bytes) || extent_bytes < kSmallestExtent_bytes ||
      extent_bytes > kLargestExtent_bytes) {
    return wrong("--extent-size must be a power of two from 64KiB to 1GiB");
  }
  flags.huge_pages = given.huge_pages == "never"    ? HugePages::never
                     : given.huge_pages == "always" ? HugePages::always
                                                    : HugePages::automatic;
  return {};
}

Status check_transport(const Flags& flags) {
  if (std::string message = config::wrong_service_flags(flags.service); !message.empty())
    return wrong(message);
  if (std::string message = config::wrong_rdma_flags(flags.rdma, flags.fabric); !message.empty())
    return wrong(message);
  if (std::string message =
          config::wrong_encryption(flags.fabric_encryption, flags.fabric, !flags.cluster_key.empty());
      !message.empty())
    return wrong(message);
  return {};
}

Status set_addresses(Flags& flags) {
  const bool shared = flags.fabric == "shm";
  if (flags.listen.empty()) {
    const std::string host = flags.rdma.device.empty() ? "127.0.0.1:" : "0.0.0.0:";  // that is, the device's
    flags.listen = shared ? "unix:" + flags.data + "/run/memory.sock"
                          : host + std::to_string(kFirstPort + flags.options.server_id);
  }
  if (shared != flags.listen.starts_with("unix:")) {
    return wrong("--listen " + flags.listen + " is no address of --fabric " + flags.fabric);
  }
  const bool flushed = flags.options.durability == Durability::flushed;
  if (std::string message = wrong_store_flags(flags.store, flushed, flags.listen); !message.empty())
    return wrong(message);
  if (!flags.listen_local.empty() && shared)
    return wrong("--listen-local is for --fabric tcp and verbs: shm listens at a socket anyway");
  if (!flags.listen_local.empty() && !flags.listen_local.starts_with("unix:"))
    return wrong("--listen-local takes unix:PATH, not " + flags.listen_local);
  return {};
}

void set_times(Flags& flags, const Given& given) {
  const auto nanoseconds = [](double seconds) {
    return static_cast<std::uint64_t>(std::llround(seconds * static_cast<double>(kSecond_ns)));
  };
  const double silence_s = flags.fabric == "shm" ? 0 : 10;
  flags.options.max_transaction_ns = nanoseconds(given.max_transaction_s);
  flags.options.slack_ns = flags.options.max_transaction_ns / 10;
  flags.options.heartbeat_timeout_ns =
      nanoseconds(given.heartbeat_timeout_s < 0 ? silence_s : given.heartbeat_timeout_s);
}

// `done`: the process is to end with that code; help or version has been printed.
Result<Flags> parse(int argc, char** argv, std::optional<int>& done) {
  Flags flags;
  flags.data = config::default_data_folder("memory");
  flags.region_bytes = RegionMemory::default_bytes();
  Given given(flags);

  CLI::App app(
      "nam-memoryd, namdb's memory server: holds tables, versions, the timestamp vector and the catalog in "
      "its\n"
      "memory, which compute servers reach with one-sided operations.\n\n"
      "Exit codes: 2 wrong usage, 3 the environment refuses, which does not mend itself, 1 anything else.",
      "nam-memoryd");
  add_folder_flags(app, flags, argc, argv);
  add_address_flags(app, flags);
  add_region_flags(app, flags, given);
  add_cluster_flags(app, flags, given);
  add_protocol_flags(app, flags, given);
  add_slot_flags(app, flags, given);
  add_durability_flags(app, flags, given);
  add_database_flags(app, flags, given);
  add_transport_flags(app, flags);
  config::add_service_flags(app, flags.service);

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    done = app.exit(success);
    return flags;
  } catch (const CLI::ParseError& error) {
    return wrong(std::string(error.what()) + "\nRun with --help for the options");
  }

  given.protocol_or_stages = app.count("--protocol") + app.count("--stages") != 0;
  flags.store.server_named = app.count("--server-id") != 0;
  if (Status status = set_durability(flags, given); !status.ok()) return status;
  if (Status status = set_protocol(flags, given); !status.ok()) return status;
  if (Status status = set_region(flags, given); !status.ok()) return status;
  if (Status status = check_transport(flags); !status.ok()) return status;
  if (Status status = set_addresses(flags); !status.ok()) return status;
  set_times(flags, given);
  flags.options.version = NAMDB_VERSION;
  return flags;
}

}  // namespace

std::optional<Flags> parse_flags(int argc, char** argv, int& exit_code) {
  std::optional<int> done;
  Result<Flags> flags = parse(argc, argv, done);
  return config::flags_or_exit("nam-memoryd", std::move(flags), done, exit_code);
}

Result<Flags> reread_flags(int argc, char** argv) {
  std::optional<int> done;
  return parse(argc, argv, done);
}

}  // namespace namdb::memory
