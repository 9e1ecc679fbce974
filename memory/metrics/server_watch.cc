#include "memory/metrics/server_watch.h"

#include "memory/metrics/server_metrics.h"

namespace namdb::memory {

metrics::DaemonWatch::Subject watched(const MemoryServer& server, const fabric::ServerFabric& fabric) {
  const auto add_metrics = [&server, &fabric](metrics::MetricPage& page) {
    fabric::Facts facts;
    fabric.describe(facts);
    add_server(page, server.status(), server.memory(), facts.all());
  };
  return {add_metrics, [&server] { return status_line(server.status()); }, [] { return true; }};
}

}  // namespace namdb::memory
