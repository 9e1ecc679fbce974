#include "compute/metrics/server_watch.h"

#include <algorithm>
#include <utility>

#include "common/metrics/process_metrics.h"
#include "common/reactor/mailbox.h"
#include "common/reactor/socket_listener.h"
#include "common/service/service_manager.h"

namespace namdb::compute {
namespace {

constexpr std::uint64_t kStatusInterval_ns = 10 * kSecond_ns;
// A sign of life may come late twice.
constexpr std::uint64_t kSignsInInterval = 4;

}  // namespace

ServerWatch::ServerWatch(Subject subject)
    : subject_(std::move(subject)),
      reactor_(subject_.workers.front()->reactor()),
      signs_(std::make_shared<Signs>(subject_.workers.size())),
      closing_(reactor_) {}

ServerWatch::~ServerWatch() = default;

Result<std::unique_ptr<ServerWatch>> ServerWatch::create(Subject subject, const std::string& metrics_listen) {
  std::unique_ptr<ServerWatch> watch(new ServerWatch(std::move(subject)));
  if (metrics_listen.empty()) return watch;
  auto listener = reactor::SocketListener::listen(watch->reactor_, metrics_listen);
  if (!listener.ok()) return listener.status();
  watch->metrics_ = std::make_unique<metrics::MetricsServer>(watch->reactor_, std::move(*listener),
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

ServerFigures ServerWatch::figures() const {
  ServerFigures figures;
  figures.version = subject_.version;
  figures.fabric = subject_.fabric;
  figures.workers = static_cast<std::uint32_t>(subject_.workers.size());
  figures.connections = subject_.process.connections();
  figures.max_connections = subject_.process.options().max_connections;
  figures.statistics = subject_.process.statistics().rows();
  figures.connection_facts = subject_.board.all();
  return figures;
}

std::string ServerWatch::page() const {
  metrics::MetricPage page;
  add_server(page, figures());
  metrics::add_process(page);
  return page.text();
}

bool ServerWatch::ask_for_signs() {
  const bool all_well = std::ranges::all_of(*signs_, [this](const auto& sign) { return sign == round_; });
  // Until a worker has answered it is not asked again.
  if (!all_well) return false;
  ++round_;
  for (std::size_t i = 0; i < signs_->size(); ++i) {
    subject_.workers[i]->reactor().mailbox().post(
        [signs = signs_, i, round = round_] { (*signs)[i] = round; });
  }
  return true;
}

reactor::Task<void> ServerWatch::tell() {
  const std::uint64_t watchdog_ns = service::watchdog_interval_ns();
  std::uint64_t interval_ns = kStatusInterval_ns;
  if (watchdog_ns != 0) interval_ns = std::min(interval_ns, watchdog_ns / kSignsInInterval);
  while (!gate_.closing()) {
    if (watchdog_ns != 0 && ask_for_signs()) service::tell_alive();
    service::tell_status(status_line(figures()));
    co_await closing_.wait_until(reactor_.now_ns() + interval_ns);
  }
}

}  // namespace namdb::compute
