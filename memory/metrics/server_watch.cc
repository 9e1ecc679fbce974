#include "memory/metrics/server_watch.h"

#include <algorithm>
#include <utility>

#include "common/metrics/metric_page.h"
#include "common/metrics/process_metrics.h"
#include "common/reactor/socket_listener.h"
#include "common/service/service_manager.h"
#include "memory/metrics/server_metrics.h"

namespace namdb::memory {
namespace {

constexpr std::uint64_t kStatusInterval_ns = 10 * kSecond_ns;
// A sign of life may come late twice.
constexpr std::uint64_t kSignsInInterval = 3;

}  // namespace

ServerWatch::ServerWatch(reactor::Reactor& reactor, const MemoryServer& server,
                         const fabric::ServerFabric& fabric)
    : reactor_(reactor), server_(server), fabric_(fabric), closing_(reactor) {}

ServerWatch::~ServerWatch() = default;

Result<std::unique_ptr<ServerWatch>> ServerWatch::create(reactor::Reactor& reactor,
                                                         const MemoryServer& server,
                                                         const fabric::ServerFabric& fabric,
                                                         const std::string& metrics_listen) {
  std::unique_ptr<ServerWatch> watch(new ServerWatch(reactor, server, fabric));
  if (metrics_listen.empty()) return watch;
  auto listener = reactor::SocketListener::listen(reactor, metrics_listen);
  if (!listener.ok()) return listener.status();
  watch->metrics_ = std::make_unique<metrics::MetricsServer>(reactor, std::move(*listener),
                                                             [watch = watch.get()] { return watch->page(); });
  return watch;
}

void ServerWatch::start() {
  reactor_.spawn(gate_, tell());
  if (metrics_) reactor_.spawn(gate_, metrics_->serve());
}

reactor::Task<void> ServerWatch::close() {
  if (metrics_) metrics_->close();
  closing_.notify_all();
  co_await gate_.close();
}

std::string ServerWatch::page() const {
  fabric::Facts facts;
  fabric_.describe(facts);
  metrics::MetricPage page;
  add_server(page, server_.status(), server_.memory(), facts.all());
  metrics::add_process(page);
  return page.text();
}

reactor::Task<void> ServerWatch::tell() {
  const std::uint64_t watchdog_ns = service::watchdog_interval_ns();
  std::uint64_t interval_ns = kStatusInterval_ns;
  if (watchdog_ns != 0) interval_ns = std::min(interval_ns, watchdog_ns / kSignsInInterval);
  while (!gate_.closing()) {
    if (watchdog_ns != 0) service::tell_alive();
    service::tell_status(status_line(server_.status()));
    co_await closing_.wait_until(reactor_.now_ns() + interval_ns);
  }
}

}  // namespace namdb::memory
