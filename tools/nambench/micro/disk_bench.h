// A folder's disk, measured as the log (memory/log) uses it. Three figures: the latency of a synced write,
// which bounds each commit that waits for the disk; records appended and flushed by several concurrent
// waiters, whose writes are shared; and reading a log back, against a plain sequential read of the same
// files.
//
// All with direct I/O on files of its own, in a folder that is made in the given one and removed again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "tools/support/report/progress.h"

namespace namdb::nambench {

struct DiskBenchOptions {
  std::string folder;
  std::uint64_t synced_writes = 2'000;
  std::vector<std::uint64_t> waiters = {1, 8, 32, 128};
  std::uint64_t milliseconds = 2'000;  // of each measurement of appends
  std::uint64_t record_bytes = 256;
  std::uint64_t log_mib = 512;  // of the log that is read back
  int repetitions = 3;          // of reading, in turns
};

struct AppendReport {
  std::uint64_t waiters = 0;
  double per_second = 0;
  double writes_per_second = 0;
  double median_us = 0;  // of one append with its flush
  double p90_us = 0;
  // Of the rate that every waiter would reach if it had a write to itself, a half more than the median long:
  // waiters / (1.5 F).
  double share = 0;
};

struct DiskReport {
  double synced_write_median_us = 0;  // F: 4 KiB, one at a time
  double synced_write_p90_us = 0;
  std::vector<AppendReport> appends;
  std::uint64_t log_bytes = 0;  // that were read back, without what is unused
  std::uint64_t records = 0;
  double log_mib_per_second = 0;    // medians
  double plain_mib_per_second = 0;  // of the same files, whole
};

// Errors: the folder's (configuration), and those of the disk.
Result<DiskReport> disk_bench(const DiskBenchOptions& options, support::Progress& progress);

}  // namespace namdb::nambench
