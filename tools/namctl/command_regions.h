// `namctl memory list`: which host has which region; and `namctl memory drain`: a region moves to another
// host while clients work (docs/operations.md).
#pragma once

#include <string>

#include "tools/namctl/command_cluster.h"

namespace namdb::namctl {

// All hosts that are named, and those that these name. Exit code 1 when one of them does not answer.
int run_regions(const ClusterFlags& flags, bool json);

// The region of the host at `from` moves to the host at `to`, which waits for one (nam-memoryd --join).
// Returns once that one serves it, or the move has failed.
int run_drain(const ClusterFlags& flags, const std::string& from, const std::string& to, bool json);

}  // namespace namdb::namctl
