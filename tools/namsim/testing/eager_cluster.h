// A cluster of small regions that collects and reuses memory often, for tests that change many rows.
#pragma once

#include <cstdint>
#include <string_view>

#include "tools/namsim/cluster/cluster.h"

namespace namdb::sim {

inline ClusterOptions eager_cluster(std::string_view protocol, std::uint32_t memory_servers) {
  ClusterOptions options;
  options.memory_servers = memory_servers;
  options.region_bytes = 16U << 20;
  options.memory.extent_bytes = 64U << 10;
  options.memory.journal_bytes = 128U << 10;
  options.memory.vector_capacity = 64;
  options.memory.protocol = protocol;
  options.memory.max_transaction_ns = kSecond_ns;
  options.memory.slack_ns = 10 * kMillisecond_ns;
  options.memory.collect_interval_ns = 5 * kMillisecond_ns;
  options.memory.reuse_interval_ns = kMillisecond_ns;
  options.memory.index_page_bytes = 512;
  return options;
}

}  // namespace namdb::sim
