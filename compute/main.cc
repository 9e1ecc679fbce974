// nam-computed: the compute server as a daemon. The composition root: only here and in worker_thread are the
// concrete executor and transports named.
#include <openssl/rand.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <future>
#include <thread>

#include "common/config/daemon_flags.h"
#include "common/config/data_folder.h"
#include "common/fabric/tcp/cluster_key.h"
#include "common/reactor/signals.h"
#include "common/reactor/socket_listener.h"
#include "compute/flags.h"
#include "compute/procedure/library.h"
#include "compute/worker_thread.h"

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

// A client is a descriptor: as many as the system's hard limit allows.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) spdlog::warn("the limit of open files stays as it is");
}

using Workers = std::vector<WorkerThread*>;

// Out of descriptors or memory: how long until the next try.
constexpr std::uint64_t kAcceptPause_ns = 50 * kMillisecond_ns;

// Hands accepted connections to the workers in turn.
reactor::Task<void> accept_connections(reactor::Reactor* reactor, reactor::SocketListener* listener,
                                       const Workers* workers, std::size_t* next) {
  while (true) {
    Result<int> accepted = co_await listener->accept_descriptor();
    if (!accepted.ok() && accepted.status().code() == ErrorCode::limit_exceeded) {
      spdlog::warn("{}; clients wait until others are gone (see ulimit -n)", accepted.status().message());
      co_await reactor->sleep_for(kAcceptPause_ns);
      continue;
    }
    if (!accepted.ok()) co_return;  // closed
    (*workers)[(*next)++ % workers->size()]->adopt(*accepted);
  }
}

std::string port_of(const std::string& address) {
  return address.substr(address.rfind(':') + 1);
}

// The first worker's extra duty: the listeners and the signals.
class FrontDoor {
 public:
  FrontDoor(const Flags& flags, Workers workers) : flags_(flags), workers_(std::move(workers)) {}

  Status open() {
    reactor::Reactor& reactor = workers_.front()->reactor();
    auto tcp = reactor::SocketListener::listen(reactor, flags_.listen);
    if (!tcp.ok()) return tcp.status();
    if (!(*tcp)->is_local() && !flags_.trust_remote) {
      return Status(ErrorCode::configuration,
                    "--listen " + flags_.listen +
                        " can be reached from other machines, and clients are not authenticated",
                    "listen on a loopback address, or give --trust-remote on a network that you trust");
    }
    listeners_.push_back(std::move(tcp).value());
    if (flags_.unix_socket_folder.empty()) return Status();
    if (::mkdir(flags_.unix_socket_folder.c_str(), 0700) != 0 && errno != EEXIST) {
      return Status(ErrorCode::configuration,
                    "cannot create " + flags_.unix_socket_folder + ": " + std::strerror(errno));
    }
    // Any user of this machine may connect, as over the loopback address; the folder's mode can say
    // otherwise.
    auto local = reactor::SocketListener::listen(
        reactor, "unix:" + flags_.unix_socket_folder + "/.s.PGSQL." + port_of(listeners_.front()->address()),
        {.unix_mode = 0777});
    if (!local.ok()) return local.status();
    listeners_.push_back(std::move(local).value());
    return Status();
  }

  reactor::Task<void> run() {
    reactor::Reactor& reactor = workers_.front()->reactor();
    reactor::Gate gate;
    for (const auto& listener : listeners_) {
      reactor.spawn(gate, accept_connections(&reactor, listener.get(), &workers_, &next_));
      spdlog::info("ready for SQL clients at {}", listener->address());
    }
    sd_notify(0, "READY=1");
    reactor::Signals signals(reactor, {SIGTERM, SIGINT});
    const Result<int> signal = co_await signals.next();
    if (signal.ok()) spdlog::info("{}: stopping", *signal == SIGTERM ? "SIGTERM" : "SIGINT");
    sd_notify(0, "STOPPING=1");
    for (const auto& listener : listeners_) listener->close();
    co_await gate.close();
    for (WorkerThread* worker : workers_) worker->stop_soon();
  }

 private:
  const Flags& flags_;
  Workers workers_;
  std::vector<std::unique_ptr<reactor::SocketListener>> listeners_;
  std::size_t next_ = 0;
};

// Workers but the first: made and run on threads of their own.
struct OtherWorker {
  std::promise<Result<WorkerThread*>> ready;
  std::promise<bool> go;
  std::thread thread;
};

void run_other(SharedState& shared, std::uint32_t index, OtherWorker& self) {
  auto worker = WorkerThread::create(shared, index);
  Status status = worker.ok() ? (*worker)->connect() : worker.status();
  if (!status.ok()) return self.ready.set_value(Result<WorkerThread*>(std::move(status)));
  self.ready.set_value(Result<WorkerThread*>(worker->get()));
  if (!self.go.get_future().get()) (*worker)->stop_soon();
  (*worker)->run({});
}

int run(const Flags& flags) {
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
  if (!flags.cluster_key.empty()) {
    auto key = fabric::tcp::read_cluster_key(flags.cluster_key);
    if (!key.ok()) return refuse(key.status());
    tcp.key = *key;
  }
  pgwire::Options pgwire_options;
  pgwire_options.max_connections = flags.max_connections;
  pgwire_options.trust_remote = flags.trust_remote;
  pgwire::ProcessState process(pgwire_options, random_secret);
  storage::LocationCache locations(flags.location_cache_bytes);
  SharedState shared{flags, procedures, process, locations, tcp};

  // Blocked in every thread, so that only the signal descriptor sees them.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  auto first = WorkerThread::create(shared, 0);
  Status status = first.ok() ? (*first)->connect() : first.status();
  if (!status.ok()) return refuse(status);
  Workers workers{first->get()};
  std::vector<std::unique_ptr<OtherWorker>> others;
  for (std::uint32_t index = 1; index < flags.workers; ++index) {
    auto other = std::make_unique<OtherWorker>();
    auto ready = other->ready.get_future();
    other->thread = std::thread(run_other, std::ref(shared), index, std::ref(*other));
    const Result<WorkerThread*> made = ready.get();
    if (made.ok()) {
      workers.push_back(*made);
      others.push_back(std::move(other));
    } else {
      other->thread.join();
      if (status.ok()) status = made.status();
    }
  }
  FrontDoor door(flags, workers);
  if (status.ok()) status = door.open();
  for (const auto& other : others) other->go.set_value(status.ok());
  if (status.ok()) {
    (*first)->run([&door] { return door.run(); });
  } else {
    (*first)->stop_soon();
    (*first)->run({});
  }
  for (const auto& other : others) other->thread.join();
  if (!status.ok()) return refuse(status);
  spdlog::info("stopped");
  return 0;
}

}  // namespace
}  // namespace namdb::compute

int main(int argc, char** argv) {
  int exit_code = 0;
  const std::optional<namdb::compute::Flags> flags = namdb::compute::parse_flags(argc, argv, exit_code);
  if (!flags) return exit_code;
  auto logger =
      std::make_shared<spdlog::logger>("nam-computed", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_level(spdlog::level::from_str(flags->log_level));
  logger->set_pattern("%Y-%m-%d %H:%M:%S.%e %n %l: %v");
  spdlog::set_default_logger(std::move(logger));
  return namdb::compute::run(*flags);
}
