// A compute server's account of itself as metrics (docs/metrics.md).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/fabric/facts.h"
#include "common/metrics/metric_page.h"
#include "compute/sql/system/statistics.h"

namespace namdb::compute {

struct ServerFigures {
  std::string version;
  std::string fabric;
  std::uint32_t workers = 0;
  std::uint32_t connections = 0;
  std::uint32_t max_connections = 0;
  std::vector<sql::Statistics::Row> statistics;
  std::vector<fabric::ConnectionFacts> connection_facts;
};

void add_server(metrics::MetricPage& page, const ServerFigures& figures);

// A line for the service manager.
std::string status_line(const ServerFigures& figures);

}  // namespace namdb::compute
