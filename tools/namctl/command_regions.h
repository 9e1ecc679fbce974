// `namctl memory list`: which host has which region, or a copy of it; and `memory add`, `memory drain` and
// `memory rebalance`, which change that while clients work (docs/operations.md).
#pragma once

#include <string>

#include "tools/namctl/command_cluster.h"
#include "tools/namctl/copy_orders.h"

namespace namdb::namctl {

// All hosts that are named, and those that these name. Exit code 1 when one of them does not answer.
int run_regions(const ClusterFlags& flags, bool json);

// The others return when they are done, or have failed.
int run_add(const ClusterFlags& flags, const std::string& address, bool json);
int run_drain(const ClusterFlags& flags, const DrainOrder& order, bool json);
int run_rebalance(const ClusterFlags& flags, bool json);

}  // namespace namdb::namctl
