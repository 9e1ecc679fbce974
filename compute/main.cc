// nam-computed: the compute server as a daemon. The composition root: only here and in worker_thread are
// the concrete executor and transports named.
#include <openssl/rand.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <utility>

#include "common/base/crash_handler.h"
#include "common/config/daemon_flags.h"
#include "common/config/daemon_log.h"
#include "common/config/data_folder.h"
#include "common/fabric/cluster_key.h"
#include "common/fabric/verbs/communicator.h"
#include "common/reactor/reactor_thread.h"
#include "common/reactor/signals.h"
#include "common/service/service_manager.h"
#include "compute/metrics/server_watch.h"
#include "compute/procedure/library.h"
#include "compute/process/flags.h"
#include "compute/process/mock_secret.h"
#include "compute/worker/sql_port.h"
#include "compute/worker/worker_pool.h"

namespace namdb::compute {
namespace {

int refuse(const Status& status) {
  spdlog::error("{}{}", status.message(), status.hint().empty() ? "" : " (" + status.hint() + ")");
  return config::exit_code_of(status.code());
}

std::uint32_t random_secret() {
  std::uint32_t secret = 0;
  NAMDB_CHECK(RAND_bytes(reinterpret_cast<unsigned char*>(&secret), sizeof secret) == 1);
  return secret;
}

std::uint64_t random_process() {
  std::uint64_t process = 0;
  while (process == 0)
    NAMDB_CHECK(RAND_bytes(reinterpret_cast<unsigned char*>(&process), sizeof process) == 1);
  return process;
}

std::uint64_t unix_time_us() {
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(since_1970).count());
}

// As others may find it: instead of "any address" the machine's name.
std::string reachable(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  const std::string host = address.substr(0, colon);
  char name[256] = {};
  const bool is_any = host == "0.0.0.0" || host == "::" || host == "[::]" || host == "*" || host.empty();
  if (!is_any || ::gethostname(name, sizeof name - 1) != 0) return address;
  return name + address.substr(colon);
}

// Memory server 0 was told to have this compute server end (`namctl compute drain`).
void drain(ComputeIdentity& identity) {
  if (identity.begin_drain()) ::kill(::getpid(), SIGUSR1);
}

// A client is a descriptor: as many as the system's hard limit allows.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) spdlog::warn("the limit of open files stays as it is");
}

void say_what_is_awaited(const std::string& reason) {
  spdlog::warn("waiting for the memory servers: {}", reason);
  service::tell_status("Waiting for the memory servers: " + reason);
}

pgwire::AccessOptions access_options(const Flags& flags) {
  return {
      flags.access_rules, flags.trust_remote, {flags.tls_certificate, flags.tls_key, flags.tls_client_ca}};
}

// Those that the process was started with.
struct CommandLine {
  int argc;
  char** argv;
};

// Rules and certificates, from the configuration as it is now. Connections that there are go on.
// `in_force`: the flags whose rules hold.
void reload_access(const CommandLine& command_line, Flags* in_force, pgwire::ProcessState& process) {
  const auto keep = [](const Status& status) {
    spdlog::error("SIGHUP: rules and certificates stay as they were: {}{}", status.message(),
                  status.hint().empty() ? "" : " (" + status.hint() + ")");
  };
  Result<Flags> flags = reread_flags(command_line.argc, command_line.argv, *in_force);
  if (!flags.ok()) return keep(flags.status());
  auto access = make_access(access_options(*flags));
  if (!access.ok()) return keep(access.status());
  config::DaemonLog::set_level(flags->service.log_level);
  spdlog::info("SIGHUP: rules of who may connect and log-level are read again; {}", describe(**access));
  process.set_access(std::move(access).value());
  *in_force = *std::move(flags);
}

// The end of a process that takes no new clients: when the last one has ended its transaction. `stopping`:
// it is stopped before that.
reactor::Task<void> end_when_drained(reactor::Reactor* reactor, const pgwire::ProcessState* process,
                                     const bool* stopping) {
  constexpr std::uint64_t kLook_ns = 20 * kMillisecond_ns;
  while (process->connections() != 0 && !*stopping) co_await reactor->sleep_for(kLook_ns);
  if (!*stopping) ::kill(::getpid(), SIGTERM);
}

// Runs beside the first worker: accepts clients, until a signal comes.
reactor::Task<void> serve_clients(SqlPort* port, WorkerPool* pool, metrics::DaemonWatch* watch,
                                  const pgwire::ProcessState* process, std::function<void()> reload) {
  reactor::Reactor& reactor = pool->workers().front()->reactor();
  reactor::Gate gate;
  reactor.spawn(gate, port->serve());
  for (const std::string& address : port->addresses()) spdlog::info("ready for SQL clients at {}", address);
  if (!watch->address().empty()) spdlog::info("metrics at http://{}/metrics", watch->address());
  service::tell_ready("Serves SQL clients");
  watch->start();
  reactor::Signals signals(reactor, {SIGTERM, SIGINT, SIGHUP, SIGUSR1});
  bool draining = false;
  bool stopping = false;
  Result<int> signal = co_await signals.next();
  while (signal.ok() && (*signal == SIGHUP || *signal == SIGUSR1)) {
    if (*signal == SIGHUP) {
      reload();
    } else if (!std::exchange(draining, true)) {
      spdlog::info("drained: takes no new clients, and ends when those that there are have ended");
      service::tell_status("Takes no new clients, and ends with the last one");
      port->close();
      for (WorkerThread* const worker : pool->workers()) worker->drain_soon();
      reactor.spawn(gate, end_when_drained(&reactor, process, &stopping));
    }
    signal = co_await signals.next();
  }
  stopping = true;
  if (signal.ok()) spdlog::info("{}: stopping", *signal == SIGTERM ? "SIGTERM" : "SIGINT");
  service::tell_stopping();
  co_await watch->close();
  port->close();
  co_await gate.close();
  pool->stop_soon();
}

int run(const Flags& flags, const CommandLine& command_line) {
  raise_descriptor_limit();
  const auto folder = config::DataFolder::open(flags.data, "nam-computed");
  if (!folder.ok()) return refuse(folder.status());
  procedure::ProcedureRegistry procedures;
  for (const std::string& path : flags.procedure_libraries) {
    const Status status = procedure::load_library(path, procedures);
    if (!status.ok()) return refuse(status);
    spdlog::info("procedures loaded from {}", path);
  }
  fabric::tcp::TcpOptions tcp;
  tcp.encryption = fabric::tcp::encryption_of(flags.fabric_encryption);
  if (!flags.cluster_key.empty()) {
    auto key = fabric::read_cluster_key(flags.cluster_key);
    if (!key.ok()) return refuse(key.status());
    tcp.key = *key;
  }
  fabric::verbs::VerbsOptions verbs;
  verbs.key = tcp.key;
  verbs.source_address = flags.rdma_source;
  verbs.device = {flags.rdma.device, flags.rdma.port, flags.rdma.gid_index};
  verbs.traffic_class = flags.rdma.traffic_class;
  verbs.acknowledge_timeout = flags.rdma.acknowledge_timeout;
  verbs.retries = flags.rdma.retries;
  if (flags.rdma_calls == "ud") verbs.calls = fabric::verbs::CallKind::datagrams;
  pgwire::Options pgwire_options;
  pgwire_options.max_connections = flags.max_connections;
  pgwire_options.reserved_connections = flags.reserved_connections;
  pgwire_options.superusers = flags.superusers;
  pgwire_options.client_memory_bytes = flags.client_memory_bytes;
  pgwire_options.trust_remote = flags.trust_remote;
  pgwire_options.wrong_password_delay_ns =
      static_cast<std::uint64_t>(flags.password_delay_s * static_cast<double>(kSecond_ns));
  auto secret = mock_secret(tcp.key ? &*tcp.key : nullptr, flags.data);
  if (!secret.ok()) return refuse(secret.status());
  pgwire_options.mock_secret = *secret;
  pgwire::ProcessState process(pgwire_options, random_secret,
                               [](const std::string& line) { spdlog::warn("SQL client {}", line); });
  auto access = make_access(access_options(flags));
  if (!access.ok()) {
    refuse(access.status());
    return config::kExitUsage;
  }
  if ((*access)->tls != nullptr) spdlog::info("{}", describe(**access));
  process.set_access(std::move(access).value());
  Flags in_force = flags;  // of the planning thread
  storage::LocationCache locations(flags.location_cache_bytes);
  FabricBoard board;
  // Blocked in every thread, so that only the signal descriptor sees them.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGHUP);
  sigaddset(&signals, SIGUSR1);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  const auto planning_thread = reactor::ReactorThread::start();
  if (!planning_thread.ok()) return refuse(planning_thread.status());
  ComputeIdentity identity(random_process(), NAMDB_VERSION, unix_time_us());
  SharedState shared{flags,
                     procedures,
                     process,
                     locations,
                     tcp,
                     verbs,
                     &board,
                     (*planning_thread)->reactor().mailbox(),
                     identity,
                     [&identity] { drain(identity); },
                     say_what_is_awaited};

  if (flags.queue_pairs == "shared") {
    auto communicator = fabric::verbs::Communicator::start(verbs);
    if (!communicator.ok()) return refuse(communicator.status());
    shared.verbs.communicator = std::move(*communicator);
  }
  const auto pool = WorkerPool::start(shared);
  if (!pool.ok() && pool.status().code() == ErrorCode::admin_shutdown) {
    spdlog::info("stopped before the memory servers were there");
    return 0;
  }
  if (!pool.ok()) return refuse(pool.status());
  SqlPort port(flags, (*pool)->workers());
  if (const Status status = port.open(); !status.ok()) return refuse(status);
  identity.serves_at(reachable(port.addresses().front()));
  const auto watch =
      metrics::DaemonWatch::create((*pool)->workers().front()->reactor(),
                                   watched({(*pool)->workers(), process, board, NAMDB_VERSION, flags.fabric}),
                                   flags.service.metrics_listen);
  if (!watch.ok()) return refuse(watch.status());
  // On the planning thread: files are read.
  const auto reload = [&] { shared.planning.post([&] { reload_access(command_line, &in_force, process); }); };
  (*pool)->run([&] { return serve_clients(&port, pool->get(), watch->get(), &process, reload); });
  spdlog::info("stopped");
  return 0;
}

}  // namespace
}  // namespace namdb::compute

int main(int argc, char** argv) {
  namdb::install_crash_handler(argv[0]);
  int exit_code = 0;
  const std::optional<namdb::compute::Flags> flags = namdb::compute::parse_flags(argc, argv, exit_code);
  if (!flags) return exit_code;
  const namdb::config::DaemonLog log("nam-computed", flags->service.log_level, flags->service.log_format);
  return namdb::compute::run(*flags, {argc, argv});
}
