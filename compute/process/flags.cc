#include "compute/process/flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <utility>

#include "common/config/daemon_flags.h"
#include "common/config/encryption_flag.h"
#include "common/config/toml_config.h"
#include "common/placement/store/open_store.h"
#include "compute/authentication/access_rules.h"
#include "compute/cluster/optimisations.h"

namespace namdb::compute {
namespace {

Status wrong(const std::string& message) {
  return Status(ErrorCode::configuration, message);
}

bool is_unix(const std::string& address) {
  return address.starts_with("unix:");
}

// The mistake in --configuration-store and what goes with it; empty: none.
std::string wrong_store(const config::StoreFlags& flags) {
  if (flags.location.empty()) return config::wrong_store_flags(flags);
  const auto store = placement::make_store(
      {flags.location, {flags.authority, flags.certificate, flags.key}, flags.user_file});
  return store.ok() ? "" : "--configuration-store: " + store.status().message();
}

// The mistake in --beside-socket; empty: none.
std::string wrong_socket(const Flags& flags, bool shared) {
  if (flags.beside_socket.empty()) return {};
  if (!is_unix(flags.beside_socket)) return "--beside-socket takes unix:PATH, not " + flags.beside_socket;
  if (!flags.beside) return "--beside-socket goes with --beside K: the number of the memory server there";
  if (shared) return "--beside-socket is for --fabric tcp and verbs: over shm all regions are mapped";
  return {};
}

// The mistake in the flags that say who may connect; empty: none.
std::string wrong_access(const Flags& flags) {
  if (flags.tls_certificate.empty() != flags.tls_key.empty())
    return "--tls-certificate and --tls-key go together";
  if (!flags.tls_client_ca.empty() && flags.tls_certificate.empty())
    return "--tls-client-ca goes with --tls-certificate and --tls-key";
  const Result<authentication::AccessRules> rules = authentication::AccessRules::parse(flags.access_rules);
  if (!rules.ok()) return "--access-rule: " + rules.status().message() + " (" + rules.status().hint() + ")";
  if (!flags.access_rules.empty() && flags.trust_remote)
    return "--trust-remote is a rule of its own: give --access-rule \"host all all all trust\" with others";
  if (rules->needs_tls() && flags.tls_certificate.empty())
    return "--access-rule hostssl fits nobody without --tls-certificate and --tls-key";
  if (rules->needs_client_certificates() && flags.tls_client_ca.empty())
    return "--access-rule: certificates of clients are asked for with --tls-client-ca only";
  return {};
}

// Each of these adds a group of flags, in the order in which --help shows them. `flags` outlives the app.

void add_folder_flags(CLI::App& app, Flags& flags, int argc, char** argv) {
  app.set_version_flag("--version", "nam-computed " NAMDB_VERSION, "Print the version and exit");
  const std::filesystem::path config =
      std::filesystem::path(config::data_argument(argc, argv, flags.data)) / "config.toml";
  std::error_code ignored;
  app.set_config("--config", std::filesystem::exists(config, ignored) ? config.string() : "",
                 "TOML file with these options' long names as keys; DIR/config.toml is read if it is there.\n"
                 "Flags override it")
      ->type_name("FILE");
  config::read_config_as_toml(app);
  app.allow_config_extras(CLI::config_extras_mode::error);
  app.add_option("--data", flags.data, "Folder for what this daemon keeps: DIR/{config.toml,run,log}")
      ->capture_default_str()
      ->type_name("DIR");
}

void add_memory_server_flags(CLI::App& app, Flags& flags) {
  app.add_option(
         "--memory-server", flags.memory_servers,
         "Address of a memory server: unix:PATH (shared memory) or HOST:PORT (tcp, verbs). Once for each,\n"
         "server 0 first. Default: the one that nam-memoryd's own defaults start")
      ->type_name("ADDRESS");
  config::add_store_flags(
      app, flags.store,
      "The one that memory servers were started with: file:FOLDER, or\n"
      "etcd://HOST:PORT[,HOST:PORT...]/NAME. It is asked where regions are, where hosts do not answer; so\n"
      "this server finds them though none is left at the addresses of --memory-server");
  app.add_option("--fabric", flags.fabric,
                 "How memory servers are reached; must fit the addresses. Default: as they say,\n"
                 "HOST:PORT being tcp")
      ->check(CLI::IsMember({"shm", "tcp", "verbs"}));
}

void add_serving_flags(CLI::App& app, Flags& flags) {
  app.add_option("--listen", flags.listen, "HOST:PORT for SQL clients; port 0 takes any free one")
      ->capture_default_str()
      ->type_name("ADDRESS");
  app.add_option("--unix-socket-dir", flags.unix_socket_folder,
                 "Folder for a unix socket named as PostgreSQL's (.s.PGSQL.PORT); none without it")
      ->type_name("DIR");
  app.add_option("--workers", flags.workers, "Worker threads; each serves a share of the connections")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  app.add_option("--procedure-library", flags.procedure_libraries,
                 "Shared library of stored procedures to load. May be given several times")
      ->type_name("PATH");
  app.add_option("--cluster-key", flags.cluster_key,
                 "File with the cluster's 32-byte secret, mode 0600; needed where memory servers have one")
      ->type_name("FILE");
  config::add_encryption_flag(app, flags.fabric_encryption);
}

void add_access_flags(CLI::App& app, Flags& flags) {
  app.add_option(
         "--access-rule", flags.access_rules,
         "Who may connect, in the form of pg_hba.conf: \"hostssl namdb app 10.0.0.0/8 scram-sha-256\".\n"
         "The first that fits decides; may be given several times. Default: trust for this machine,\n"
         "a role's password for others")
      ->type_name("RULE");
  app.add_flag("--trust-remote", flags.trust_remote,
               "Instead of rules: let SQL clients of all machines in without authentication");
  app.add_option(
         "--tls-certificate", flags.tls_certificate,
         "PEM file with the certificate that SQL clients are shown, and those behind it. With it and\n"
         "--tls-key clients may use TLS. SIGHUP has the files, and the rules, read again")
      ->type_name("FILE");
  app.add_option("--tls-key", flags.tls_key, "PEM file with the certificate's key, mode 0600")
      ->type_name("FILE");
  app.add_option("--tls-client-ca", flags.tls_client_ca,
                 "PEM file with the authorities of clients' certificates, which clients may show then")
      ->type_name("FILE");
  app.add_option("--password-delay-seconds", flags.password_delay_s,
                 "How long a client waits for the answer to a wrong password")
      ->check(CLI::Range(0.0, 20.0))
      ->capture_default_str();
}

void add_connection_flags(CLI::App& app, Flags& flags) {
  app.add_option("--max-connections", flags.max_connections, "SQL connections at a time")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_option("--reserved-connections", flags.reserved_connections,
                 "Of those, how many are kept for superusers")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  app.add_option(
         "--superuser", flags.superusers,
         "While there are no roles: name of a user that may take a kept connection. May be given several\n"
         "times")
      ->capture_default_str()
      ->type_name("NAME");
}

void add_transaction_flags(CLI::App& app, Flags& flags) {
  app.add_option("--max-attempts", flags.max_attempts,
                 "How often a CALL or single statement is run before its conflict is reported (40001)")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_option("--snapshots", flags.snapshots,
                 "own: each transaction takes its snapshot. shared: those that begin together take one.\n"
                 "prefetched: they take the newest one of the worker, up to 5 ms old; a session sees its\n"
                 "own commits at once, and those of others perhaps a moment later")
      ->check(CLI::IsMember({"own", "shared", "prefetched"}))
      ->capture_default_str();
  app.add_option(
         "--slots-per-worker", flags.slots_per_worker,
         "Execution slots in the timestamp vector for each worker. With 1 its commits are published in\n"
         "their order, many by one WRITE; with more, those that run at once do not wait for each other,\n"
         "and snapshots are larger")
      ->check(CLI::Range(1, 31))
      ->capture_default_str();
  app.add_option("--epoch-ms", flags.epoch_ms,
                 "Under calvin. For so many milliseconds a worker collects transactions, which then get\n"
                 "their places in the order of all together")
      ->check(CLI::Range(1, 50))
      ->capture_default_str();
  app.add_flag("--whole-writes", flags.whole_writes,
               "Write rows and buckets that a commit changes whole, to their places, the journal and the\n"
               "version ring, as the NAM-DB paper does; otherwise only what changed is written");
}

void add_reading_flags(CLI::App& app, Flags& flags) {
  app.add_option("--index-reads", flags.index_reads,
                 "leaves: entries of indexes are READ from leaves where the pages above them are cached.\n"
                 "calls: memory servers are asked for them, always. auto: calls over tcp, where that costs\n"
                 "less, leaves elsewhere")
      ->check(CLI::IsMember({"auto", "leaves", "calls"}))
      ->capture_default_str();
  app.add_option(
         "--scan-reads", flags.scan_reads,
         "Of whole tables, under si. calls: memory servers give their rows out, and only the columns\n"
         "that a statement reads. buckets: buckets and records are READ, as under other protocols.\n"
         "auto: calls")
      ->check(CLI::IsMember({"auto", "buckets", "calls"}))
      ->capture_default_str();
  app.add_option(
         "--read-locks", flags.read_locks,
         "Of rows that SELECT finds by key, under nowait and waitdie. none: they are validated at\n"
         "COMMIT. shared: no other transaction may write them until then, where memory servers have\n"
         "--read-locks shared. exclusive: nor read them, as RCC's; to compare. auto: shared where memory\n"
         "servers have that, else none. Under drtm, auto leases them, none and exclusive are as there")
      ->check(CLI::IsMember({"auto", "none", "exclusive", "shared"}))
      ->capture_default_str();
}

void add_resource_flags(CLI::App& app, Flags& flags) {
  app.add_option(
         "--balance-indexes", flags.balance_indexes,
         "Build an index anew, in the background, when a memory server has more than this of it, and much\n"
         "more than its share. 0 = never; units as in 64MiB")
      ->transform(CLI::AsSizeValue(false))
      ->capture_default_str();
  app.add_option("--without", flags.without,
                 "To measure what they are worth: optimisations to leave out, separated by commas, of\n" +
                     txn::Optimisations::names())
      ->check(txn::Optimisations::complaint)
      ->type_name("LIST");
  app.add_option("--location-cache-bytes", flags.location_cache_bytes,
                 "Memory for the cache of records' addresses, 8 bytes a record; units as in 64MiB")
      ->transform(CLI::AsSizeValue(false))
      ->capture_default_str();
  app.add_option("--client-memory-bytes", flags.client_memory_bytes,
                 "Memory that all clients together may make this server keep: prepared statements, long\n"
                 "parameters, unfinished messages, what statements gather; units as in 512MiB")
      ->transform(CLI::AsSizeValue(false))
      ->capture_default_str();
}

void add_timeout_flags(CLI::App& app, Flags& flags) {
  app.add_option("--connect-timeout-seconds", flags.connect_timeout_s,
                 "Give up, with exit code 1, when memory servers are not there so long after the start.\n"
                 "Default: they are waited for as long as it takes")
      ->check(CLI::Range(0.0, 86'400.0));
  app.add_option(
         "--memory-timeout-seconds", flags.memory_timeout_s,
         "Take a memory server for gone that does not answer for so long, and fail what waits for it;\n"
         "0 = never. Default: 10 for tcp and verbs; 0 for shm, where the kernel reports its end")
      ->check(CLI::Range(0.0, 86'400.0));
}

void add_beside_flags(CLI::App& app, Flags& flags) {
  app.add_option("--beside", flags.beside,
                 "Number of the memory server that this one stands beside, for clients that send their\n"
                 "calls where the data is: SHOW namdb.beside_memory_server tells them")
      ->type_name("K")
      ->take_last();
  app.add_option("--beside-socket", flags.beside_socket,
                 "unix:PATH, with --beside K and --fabric tcp or verbs: map that memory server's region, on\n"
                 "this machine, and reach only the others over the network (nam-memoryd --listen-local)")
      ->type_name("ADDRESS");
}

void add_verbs_flags(CLI::App& app, Flags& flags) {
  config::add_rdma_flags(app, flags.rdma);
  app.add_option("--rdma-source", flags.rdma_source,
                 "With --fabric verbs: HOST, this machine's address whose device to connect from. Default:\n"
                 "that of --rdma-device, or as routes say")
      ->type_name("HOST");
  app.add_option(
         "--queue-pairs", flags.queue_pairs,
         "With --fabric verbs: each worker reaches each memory server by a queue pair of its own\n"
         "(per-worker), or all by the same one, which a thread of its own serves (shared): for cards and\n"
         "memory servers with too many")
      ->check(CLI::IsMember({"per-worker", "shared"}))
      ->capture_default_str();
  app.add_option("--rdma-calls", flags.rdma_calls,
                 "With --fabric verbs: calls go by reliable connections (rc), or as datagrams where they fit "
                 "into a packet (ud)")
      ->check(CLI::IsMember({"rc", "ud"}))
      ->capture_default_str();
}

// Each of these checks some flags, and sets those that follow from them. Error configuration.

Status set_memory_servers(Flags& flags) {
  if (flags.memory_servers.empty()) {
    flags.memory_servers.push_back(flags.fabric == "tcp" || flags.fabric == "verbs"
                                       ? "127.0.0.1:7400"
                                       : "unix:" + config::default_data_folder("memory") +
                                             "/run/memory.sock");
  }
  const bool shared = is_unix(flags.memory_servers.front());
  if (!std::ranges::all_of(flags.memory_servers,
                           [shared](const std::string& address) { return is_unix(address) == shared; })) {
    return wrong("--memory-server: all addresses must be of one fabric, unix:PATH or HOST:PORT");
  }
  if (flags.fabric.empty()) flags.fabric = shared ? "shm" : "tcp";
  if ((flags.fabric == "shm") != shared) {
    return wrong("--memory-server " + flags.memory_servers.front() + " is no address of --fabric " +
                 flags.fabric);
  }
  if (flags.memory_timeout_s < 0) flags.memory_timeout_s = shared ? 0 : 10;
  return {};
}

Status check_transport(const Flags& flags) {
  if (std::string message = config::wrong_service_flags(flags.service); !message.empty())
    return wrong(message);
  if (std::string message = wrong_store(flags.store); !message.empty()) return wrong(message);
  if (std::string message = config::wrong_rdma_flags(flags.rdma, flags.fabric); !message.empty())
    return wrong(message);
  if (std::string message =
          config::wrong_encryption(flags.fabric_encryption, flags.fabric, !flags.cluster_key.empty());
      !message.empty())
    return wrong(message);
  if (flags.queue_pairs == "shared" && flags.fabric != "verbs") {
    return wrong("--queue-pairs shared: --fabric " + flags.fabric + " has no queue pairs");
  }
  if (flags.queue_pairs == "shared" && flags.rdma_calls == "ud") {
    return wrong("--queue-pairs shared goes with --rdma-calls rc only");
  }
  return {};
}

Status check_beside(const Flags& flags) {
  if (flags.beside && *flags.beside >= flags.memory_servers.size()) {
    return wrong("--beside " + std::to_string(*flags.beside) + ": there are " +
                 std::to_string(flags.memory_servers.size()) + " memory servers, and the first is 0");
  }
  if (std::string message = wrong_socket(flags, flags.fabric == "shm"); !message.empty())
    return wrong(message);
  return {};
}

Status check_clients(const Flags& flags) {
  if (is_unix(flags.listen))
    return wrong("--listen takes HOST:PORT; for a unix socket use --unix-socket-dir");
  if (std::string message = wrong_access(flags); !message.empty()) return wrong(message);
  return {};
}

// `done`: the process is to end with that code; help or version has been printed.
Result<Flags> parse(int argc, char** argv, std::optional<int>& done) {
  Flags flags;
  flags.data = config::default_data_folder("compute");
  CLI::App app(
      "nam-computed, namdb's compute server: speaks the PostgreSQL wire protocol to clients and runs their\n"
      "transactions on the memory servers' data. It keeps no state: stop, kill or add one at any time.\n\n"
      "Exit codes: 2 wrong usage, 3 the environment refuses, which does not mend itself, 1 anything else.",
      "nam-computed");
  add_folder_flags(app, flags, argc, argv);
  add_memory_server_flags(app, flags);
  add_serving_flags(app, flags);
  add_access_flags(app, flags);
  add_connection_flags(app, flags);
  add_transaction_flags(app, flags);
  add_reading_flags(app, flags);
  add_resource_flags(app, flags);
  add_timeout_flags(app, flags);
  add_beside_flags(app, flags);
  add_verbs_flags(app, flags);
  config::add_service_flags(app, flags.service);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    done = app.exit(success);
    return flags;
  } catch (const CLI::ParseError& error) {
    return wrong(std::string(error.what()) + "\nRun with --help for the options");
  }
  const CLI::Option& file = *app.get_config_ptr();
  if (file.count() != 0) flags.configuration_file = file.results().front();
  if (Status status = set_memory_servers(flags); !status.ok()) return status;
  if (Status status = check_transport(flags); !status.ok()) return status;
  if (Status status = check_beside(flags); !status.ok()) return status;
  if (Status status = check_clients(flags); !status.ok()) return status;
  return flags;
}

}  // namespace

std::optional<Flags> parse_flags(int argc, char** argv, int& exit_code) {
  std::optional<int> done;
  Result<Flags> flags = parse(argc, argv, done);
  return config::flags_or_exit("nam-computed", std::move(flags), done, exit_code);
}

Result<Flags> reread_flags(int argc, char** argv, const Flags& before) {
  std::optional<int> done;
  Result<Flags> flags = parse(argc, argv, done);
  if (!flags.ok()) return flags;
  const auto lost = [](const std::string& what) {
    return Status(ErrorCode::configuration, what, "restart the server if that is what you want");
  };
  if (!before.configuration_file.empty() && flags->configuration_file.empty())
    return lost(before.configuration_file + " is gone or cannot be read");
  if (!before.access_rules.empty() && flags->access_rules.empty() && !flags->trust_remote)
    return lost("there are no access rules any more");
  if (!before.tls_certificate.empty() && flags->tls_certificate.empty())
    return lost("there is no certificate any more");
  return flags;
}

}  // namespace namdb::compute
