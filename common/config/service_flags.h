// The flags of both daemons that their operators' tools need: logs and metrics.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace namdb::config {

struct ServiceFlags {
  std::string log_level = "info";
  std::string log_format = "text";  // or json
  std::string metrics_listen;       // HOST:PORT; empty: nowhere
};

// `flags` outlives the app.
void add_service_flags(CLI::App& app, ServiceFlags& flags);

// After parsing: the mistake in them; empty: none.
std::string wrong_service_flags(const ServiceFlags& flags);

}  // namespace namdb::config
