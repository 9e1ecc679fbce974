// The process as the operating system sees it, under the names that Prometheus' own clients use.
#pragma once

#include "common/metrics/metric_page.h"

namespace namdb::metrics {

// process_cpu_seconds_total, process_resident_memory_bytes, process_open_fds, process_max_fds,
// process_start_time_seconds. One that cannot be read is left out.
void add_process(MetricPage& page);

}  // namespace namdb::metrics
