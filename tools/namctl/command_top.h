// `namctl top`: the activity of a cluster, shown again after each interval.
#pragma once

#include <cstdint>

#include "tools/namctl/command_cluster.h"

namespace namdb::namctl {

struct TopFlags {
  double interval_s = 1;
  std::uint32_t count = 0;  // ends after so many looks; 0: never
  // One view, with the rates of one interval.
  bool once = false;
  // Records of each memory server whose rings are read each time.
  std::uint32_t sample_records = 4096;
};

// On a terminal each view replaces the one before. Gives the exit code.
int run_top(const ClusterFlags& cluster, const TopFlags& flags, bool json);

}  // namespace namdb::namctl
