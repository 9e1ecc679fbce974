// The fabric's overhead over the least that each transport needs.
//
// shm: fabric_shm_reads.h. tcp: 64-byte READs over one connection with 64 outstanding, against a bare
// io_uring echo (uring_echo.h) of the same sizes. verbs: the same READs over one queue pair, against READs
// over as many queue pairs as a machine of a larger cluster has with the others, each over a random one: the
// difference is the effect of the device's cache of queue pairs. Sides take turns, and the figures are
// medians of the repetitions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "tools/support/report/progress.h"

namespace namdb::nambench {

struct FabricBenchOptions {
  std::vector<std::string> transports = {"shm", "tcp"};
  std::uint64_t region_bytes = 256U << 20;
  std::uint64_t shm_operations = 2'000'000;  // of one measurement
  std::uint64_t tcp_operations = 300'000;
  std::uint64_t verbs_operations = 1'000'000;
  std::string verbs_host;                        // an address of an RDMA device of this machine
  std::vector<std::uint32_t> nodes = {80, 160};  // verbs: clusters to emulate, by their machines
  std::uint32_t repetitions = 7;
  std::uint64_t seed = 1;
};

struct Rate {
  std::string name;
  double median = 0;  // million operations a second
};
struct FabricReport {
  std::string transport;
  Rate baseline;
  std::vector<Rate> rates;  // each to be compared with the baseline
  std::uint64_t hash = 0;   // of all bytes that were read; decided by seed and number of operations
};

Result<std::vector<FabricReport>> fabric_bench(const FabricBenchOptions& options,
                                               support::Progress& progress);

}  // namespace namdb::nambench
