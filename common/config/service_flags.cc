#include "common/config/service_flags.h"

#include <CLI/CLI.hpp>

namespace namdb::config {

void add_service_flags(CLI::App& app, ServiceFlags& flags) {
  app.add_option("--log-level", flags.log_level,
                 "What is logged to standard error. SIGHUP has it read again from the configuration file")
      ->check(CLI::IsMember({"trace", "debug", "info", "warning", "error"}))
      ->capture_default_str();
  app.add_option("--log-format", flags.log_format,
                 "text: lines for people. json: an object a line, with time, level, daemon and message")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  app.add_option("--metrics-listen", flags.metrics_listen,
                 "HOST:PORT where Prometheus finds the metrics, at http://HOST:PORT/metrics; without a\n"
                 "password, so for a network that is trusted. Default: nowhere")
      ->type_name("ADDRESS");
}

std::string wrong_service_flags(const ServiceFlags& flags) {
  if (flags.metrics_listen.empty()) return {};
  if (flags.metrics_listen.starts_with("unix:"))
    return "--metrics-listen takes HOST:PORT, not " + flags.metrics_listen;
  return {};
}

}  // namespace namdb::config
