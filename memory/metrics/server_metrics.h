// A memory server's account of itself as metrics (docs/metrics.md).
#pragma once

#include <span>

#include "common/fabric/facts.h"
#include "common/metrics/metric_page.h"
#include "proto/control.pb.h"

namespace namdb::memory {

// At most so many tables and indexes, the largest, have samples of their own; the sums count all of them.
inline constexpr std::size_t kMetricTables = 200;

// `status` with its backlog; `facts` of the server's end of the fabric.
void add_server(metrics::MetricPage& page, const control::StatusReply& status,
                const control::MemoryReply& memory, std::span<const fabric::Fact> facts);

// A line for the service manager.
std::string status_line(const control::StatusReply& status);

}  // namespace namdb::memory
