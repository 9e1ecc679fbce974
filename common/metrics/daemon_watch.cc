#include "common/metrics/daemon_watch.h"

#include <algorithm>
#include <utility>

#include "common/metrics/process_metrics.h"
#include "common/reactor/socket_listener.h"
#include "common/service/service_manager.h"

namespace namdb::metrics {
namespace {

constexpr std::uint64_t kStatusInterval_ns = 10 * kSecond_ns;
// A sign of life may come late twice, and a worker's answer a round later.
constexpr std::uint64_t kSignsInInterval = 4;

}  // namespace

DaemonWatch::DaemonWatch(reactor::Reactor& reactor, Subject subject)
    : reactor_(reactor), subject_(std::move(subject)), closing_(reactor) {}

Result<std::unique_ptr<DaemonWatch>> DaemonWatch::create(reactor::Reactor& reactor, Subject subject,
                                                         const std::string& metrics_listen) {
  std::unique_ptr<DaemonWatch> watch(new DaemonWatch(reactor, std::move(subject)));
  if (metrics_listen.empty()) return watch;
  auto listener = reactor::SocketListener::listen(reactor, metrics_listen);
  if (!listener.ok()) return listener.status();
  watch->metrics_ = std::make_unique<MetricsServer>(reactor, std::move(*listener),
                                                    [watch = watch.get()] { return watch->page(); });
  return watch;
}

void DaemonWatch::start() {
  reactor_.spawn(gate_, tell());
  if (metrics_) reactor_.spawn(gate_, metrics_->serve());
}

reactor::Task<void> DaemonWatch::close() {
  if (metrics_) metrics_->close();
  closing_.notify_all();
  co_await gate_.close();
}

std::string DaemonWatch::page() const {
  MetricPage page;
  subject_.add_metrics(page);
  add_process(page);
  return page.text();
}

reactor::Task<void> DaemonWatch::tell() {
  const std::uint64_t watchdog_ns = service::watchdog_interval_ns();
  std::uint64_t interval_ns = kStatusInterval_ns;
  if (watchdog_ns != 0) interval_ns = std::min(interval_ns, watchdog_ns / kSignsInInterval);
  while (!gate_.closing()) {
    if (watchdog_ns != 0 && subject_.is_well()) service::tell_alive();
    service::tell_status(subject_.status());
    co_await closing_.wait_until(reactor_.now_ns() + interval_ns);
  }
}

}  // namespace namdb::metrics
