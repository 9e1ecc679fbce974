#include "tools/support/wire/wire_run.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "tools/support/wire/statistics.h"
#include "tools/support/wire/wire_client.h"

namespace namdb::support {
namespace {

// Clients, and the sockets that they wait on.
class ClientLoop {
 public:
  // `reconnect`: clients that lose their connection open another one, and do so for kPatience_ns.
  explicit ClientLoop(bool reconnect) : reconnect_(reconnect), epoll_(epoll_create1(EPOLL_CLOEXEC)) {}
  ClientLoop(const ClientLoop&) = delete;
  ClientLoop& operator=(const ClientLoop&) = delete;
  ~ClientLoop() {
    clients_.clear();
    if (epoll_ >= 0) close(epoll_);
  }

  Status add(std::unique_ptr<WireClient> client, Endpoint endpoint) {
    clients_.push_back({.client = std::move(client), .endpoint = std::move(endpoint)});
    return watch(clients_.size() - 1);
  }

  // Until every client has finished or lost its connection; the first loss is the error.
  Status run(RunRecorder& recorder, Progress& progress) {
    for (std::size_t i = 0; i < clients_.size(); ++i) advance(i, false);
    std::array<epoll_event, 256> events;
    while (finished_ < clients_.size()) {
      const int ready = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()),
                                   waiting_.empty() ? 100 : kWaitingTurn_ms);
      if (ready < 0 && errno != EINTR) {
        return Status(ErrorCode::configuration, std::string("epoll: ") + std::strerror(errno));
      }
      for (int i = 0; i < ready; ++i) {
        advance(events[static_cast<std::size_t>(i)].data.u64,
                (events[static_cast<std::size_t>(i)].events & (EPOLLIN | EPOLLERR | EPOLLHUP)) != 0);
      }
      const std::uint64_t now_ns = steady_now_ns();
      serve_waiting(now_ns);
      if (progress.due(now_ns)) progress.show(now_ns, recorder.progress_line(now_ns));
    }
    return status_;
  }

  // Connections that were opened anew.
  std::uint64_t reconnections() const { return reconnections_; }

  std::vector<ClientHash> hashes() const {
    std::vector<ClientHash> hashes;
    for (const Entry& entry : clients_) hashes.push_back(entry.client->hash());
    return hashes;
  }

 private:
  static constexpr int kWaitingTurn_ms = 5;
  static constexpr std::uint64_t kRetry_ns = 100'000'000;
  static constexpr std::uint64_t kPatience_ns = 120'000'000'000;

  struct Entry {
    std::unique_ptr<WireClient> client;
    Endpoint endpoint;
    bool writes = false;
    bool finished = false;
    bool waits = false;          // is in waiting_
    std::uint64_t lost_ns = 0;   // since when it has no connection; 0: it has one
    std::uint64_t retry_ns = 0;  // when it tries to open one
  };

  Status watch(std::size_t index) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = index;
    if (epoll_ctl(epoll_, EPOLL_CTL_ADD, clients_[index].client->socket(), &event) != 0) {
      return Status(ErrorCode::configuration, std::string("epoll: ") + std::strerror(errno));
    }
    clients_[index].writes = false;
    return {};
  }

  void wait(std::size_t index) {
    if (clients_[index].waits) return;
    clients_[index].waits = true;
    waiting_.push_back(index);
  }

  // Clients that wait for a time, and not for their sockets.
  void serve_waiting(std::uint64_t now_ns) {
    const std::vector<std::size_t> waiting = std::exchange(waiting_, {});
    for (const std::size_t index : waiting) {
      Entry& entry = clients_[index];
      entry.waits = false;
      if (entry.finished) continue;
      if (entry.lost_ns == 0) {
        advance(index, false);
      } else if (now_ns < entry.retry_ns) {
        wait(index);
      } else {
        reconnect(index, now_ns);
      }
    }
  }

  void reconnect(std::size_t index, std::uint64_t now_ns) {
    Entry& entry = clients_[index];
    if (!entry.client->goes_on(now_ns)) return finish(entry, Status());
    Status status;
    auto connection = Connection::open(entry.endpoint);
    if (connection.ok()) {
      status = entry.client->reopen(std::move(*connection));
      if (status.ok()) status = watch(index);
    } else {
      status = connection.status();
    }
    if (status.ok()) {
      entry.lost_ns = 0;
      ++reconnections_;
      return advance(index, false);
    }
    if (now_ns - entry.lost_ns > kPatience_ns) return finish(entry, std::move(status));
    entry.retry_ns = steady_now_ns() + kRetry_ns;
    wait(index);
  }

  void finish(Entry& entry, Status status) {
    entry.finished = true;
    ++finished_;
    if (!status.ok() && status_.ok()) status_ = std::move(status);
  }

  void advance(std::size_t index, bool readable) {
    Entry& entry = clients_[index];
    if (entry.finished || entry.lost_ns != 0) return;
    Status status = entry.client->advance(readable);
    if (!status.ok() || (entry.client->idle() && !entry.client->pauses())) {
      epoll_ctl(epoll_, EPOLL_CTL_DEL, entry.client->socket(), nullptr);
      if (status.ok() || !reconnect_) return finish(entry, std::move(status));
      entry.lost_ns = steady_now_ns();
      entry.retry_ns = entry.lost_ns;
      return wait(index);
    }
    if (entry.client->pauses()) wait(index);
    if (entry.client->wants_write() != entry.writes) {
      entry.writes = entry.client->wants_write();
      epoll_event event{};
      event.events = EPOLLIN | (entry.writes ? std::uint32_t{EPOLLOUT} : 0U);
      event.data.u64 = index;
      epoll_ctl(epoll_, EPOLL_CTL_MOD, entry.client->socket(), &event);
    }
  }

  bool reconnect_;
  int epoll_;
  std::vector<Entry> clients_;
  std::vector<std::size_t> waiting_;
  std::uint64_t reconnections_ = 0;
  std::size_t finished_ = 0;
  Status status_;
};

// Which compute server each client connects to.
class Router {
 public:
  explicit Router(const WireRunOptions& options) : endpoints_(options.endpoints) {}

  // Asks every compute server which memory server it stands beside.
  Status open() {
    for (std::size_t i = 0; i < endpoints_.size(); ++i) {
      auto connection = Connection::open(endpoints_[i]);
      if (!connection.ok()) return connection.status();
      const auto rows = (*connection)->query("SHOW namdb.beside_memory_server");
      if (!rows.ok()) return rows.status();
      const std::string& beside = rows->front().front();
      if (!beside.empty()) beside_[std::stoll(beside)].push_back(i);
      if (i == 0) view_ = std::move(*connection);
    }
    if (beside_.empty()) {
      return Status(ErrorCode::invalid_parameter_value,
                    "--route: no compute server says which memory server it stands beside",
                    "start nam-computed with --beside K");
    }
    return {};
  }

  // One that is beside the partition's memory server, in turns; any where there is none.
  Result<Endpoint> choose(std::uint64_t client, std::optional<std::int64_t> partition) {
    if (partition) {
      const auto server =
          view_->query_number("SELECT namdb_partition_server(" + std::to_string(*partition) + ")");
      if (!server.ok()) return server.status();
      if (const auto near = beside_.find(*server); near != beside_.end()) {
        ++routed_;
        return endpoints_[near->second[turns_[*server]++ % near->second.size()]];
      }
    }
    return endpoints_[client % endpoints_.size()];
  }
  std::uint64_t routed() const { return routed_; }

 private:
  const std::vector<Endpoint>& endpoints_;
  std::unique_ptr<Connection> view_;
  std::map<std::int64_t, std::vector<std::size_t>> beside_;  // by memory server
  std::map<std::int64_t, std::size_t> turns_;
  std::uint64_t routed_ = 0;
};

}  // namespace

Result<RunReport> wire_run(const workloads::Workload& workload, const WireRunOptions& options,
                           Progress& progress) {
  RunRecorder recorder(workload, options.length);
  const Definitions& definitions = workload_definitions();
  std::vector<std::string> notes;
  ClientLoop loop(options.reconnect);
  Router router(options);
  if (options.route) {
    if (Status status = router.open(); !status.ok()) return status;
  }
  for (std::uint64_t i = 0; i < options.clients; ++i) {
    Result<Endpoint> endpoint = options.endpoints[i % options.endpoints.size()];
    if (options.route) endpoint = router.choose(i, workload.partition_of(i));
    if (!endpoint.ok()) return endpoint.status();
    Result<std::unique_ptr<Connection>> connection = Connection::open(*endpoint);
    if (!connection.ok()) return connection.status();
    auto client =
        std::make_unique<WireClient>(std::move(connection).value(), workload.open_client(i, options.clients),
                                     workload, definitions, options.pipeline, recorder);
    if (Status status = client->prepare(); !status.ok()) return status;
    if (Status status = loop.add(std::move(client), std::move(*endpoint)); !status.ok()) return status;
  }
  Result<std::unique_ptr<Connection>> view = Connection::open(options.endpoints.front());
  if (!view.ok()) return view.status();
  std::vector<std::int64_t> values_before;
  if (options.check) {
    Result<std::vector<std::int64_t>> values = check_values(workload, **view);
    if (!values.ok()) return values.status();
    values_before = std::move(values).value();
  }
  if (options.route) {
    notes.push_back(std::to_string(router.routed()) + " of " + std::to_string(options.clients) +
                    " clients are connected to a compute server beside their data");
  }
  Result<Statistics> statistics_before = read_statistics(options.endpoints);
  if (!statistics_before.ok()) {
    notes.push_back("no statistics of the server: " + statistics_before.status().message());
  }

  recorder.start(steady_now_ns());
  if (Status status = loop.run(recorder, progress); !status.ok()) {
    return Status(status.code(), status.message(), "the run is void");
  }
  RunReport report = recorder.report(steady_now_ns(), loop.hashes());
  report.mode = "wire";
  report.clients = options.clients;
  report.pipeline = options.pipeline;

  if (loop.reconnections() > 0) {
    notes.push_back(std::to_string(loop.reconnections()) + " connections were opened anew");
    // The one from before the run may be broken too.
    view = Connection::open(options.endpoints.front());
    if (!view.ok()) return view.status();
  }
  if (statistics_before.ok() && loop.reconnections() > 0) {
    notes.emplace_back("no statistics of the server: it may have restarted");
  } else if (statistics_before.ok()) {
    const Result<Statistics> statistics_after = read_statistics(options.endpoints);
    if (statistics_after.ok()) add_statistics(report, statistics_before.value(), statistics_after.value());
  }
  if (options.check && recorder.unknown_outcomes()) {
    notes.push_back("sums were not checked: some calls have an unknown outcome");
  } else if (options.check) {
    Result<std::vector<std::int64_t>> values = check_values(workload, **view);
    if (!values.ok()) return values.status();
    report.checks = judge_checks(workload, values_before, *values, recorder.change());
  }
  if (options.check_rows) {
    Result<std::vector<CheckResult>> found = check_rows(workload, **view);
    if (!found.ok()) return found.status();
    for (CheckResult& result : *found) report.checks.push_back(std::move(result));
  }
  report.notes = std::move(notes);
  return report;
}

}  // namespace namdb::support
