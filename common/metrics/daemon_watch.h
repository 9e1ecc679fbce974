// Looks after a daemon that serves: tells the service manager that it is well and how it is, and gives its
// metrics out over HTTP. One reactor's thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/base/error.h"
#include "common/metrics/metric_page.h"
#include "common/metrics/metrics_server.h"
#include "common/reactor/reactor.h"

namespace namdb::metrics {

class DaemonWatch {
 public:
  // The daemon's part, called in the middle of turns.
  struct Subject {
    // Adds the daemon's samples; those of the process come behind them.
    std::function<void(MetricPage&)> add_metrics;
    // A line for the service manager.
    std::function<std::string()> status;
    // Whether to give a sign of life; called as often as signs are due.
    std::function<bool()> is_well;
  };

  // The reactor, and all that `subject` refers to, outlive the watch. `metrics_listen`: HOST:PORT, or empty.
  // Error configuration for an address that cannot be listened at.
  static Result<std::unique_ptr<DaemonWatch>> create(reactor::Reactor& reactor, Subject subject,
                                                     const std::string& metrics_listen);

  // Once.
  void start();
  // Once, behind start().
  reactor::Task<void> close();

  // Where the metrics are; empty: nowhere.
  std::string address() const { return metrics_ ? metrics_->address() : std::string(); }

 private:
  DaemonWatch(reactor::Reactor& reactor, Subject subject);
  std::string page() const;
  reactor::Task<void> tell();

  reactor::Reactor& reactor_;
  Subject subject_;
  std::unique_ptr<MetricsServer> metrics_;
  reactor::Event closing_;
  reactor::Gate gate_;
};

}  // namespace namdb::metrics
