// The servers' accounts of themselves: for `status`, `top` and scripts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "proto/control.pb.h"
#include "tools/namctl/control_client.h"
#include "tools/namctl/region_hosts.h"

namespace namdb::namctl {

// Which servers: those of a folder of dev up, or addresses.
struct ClusterAddress {
  FabricAccess access;
  std::vector<std::string> memory;   // unix:PATH or HOST:PORT
  std::vector<std::string> compute;  // HOST:PORT
  // Hosts that each region is to have, its primary included; 0: not known.
  std::uint32_t copies = 0;
};

struct MemoryView {
  std::string address;
  Status status;                         // why it did not answer
  control::StatusReply reply;            // if it did
  std::vector<std::string> copies = {};  // of its region, in sync
};

struct ComputeView {
  std::string address;
  std::string error;  // empty: it answered
  std::string version;
  // The rows of namdb_statistics, by transaction type, then by metric.
  std::map<std::string, std::map<std::string, std::uint64_t>> statistics;
  std::uint64_t total(const std::string& metric) const;
  // Attempts that ended because bytes in a region are damaged.
  std::uint64_t damaged_reads() const { return total("aborts_corrupt_data"); }
};

struct ClusterView {
  std::vector<MemoryView> memory;
  std::vector<HostView> others;  // of memory servers, without a region
  std::vector<ComputeView> compute;
  std::uint32_t copies = 0;  // as ClusterAddress's
  bool all_answer() const;
};

// Leaves out hosts that answer, and have no region.
void keep_region_hosts(ControlPlane& control, ClusterAddress& address);

// Asks every server; one that does not answer is part of the view. Each memory server reads the rings of
// `sample_records` records.
ClusterView view_cluster(ControlPlane& control, const ClusterAddress& address,
                         std::uint32_t sample_records = 0);

// " (limit ...)" behind the size of a region that may still grow, or nothing.
std::string limit_text(const control::StatusReply& reply);

}  // namespace namdb::namctl
