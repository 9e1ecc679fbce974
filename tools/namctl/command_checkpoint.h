// `namctl checkpoint`: memory servers make checkpoints now.
#pragma once

#include <cstdint>
#include <optional>

#include "tools/namctl/command_cluster.h"

namespace namdb::namctl {

// Of all memory servers, or of the one with that number; at their rate, or, `fast`, as fast as their disks
// are. Shows the progress on a terminal. Gives the exit code: 1 if one of them could not.
int run_checkpoint(const ClusterFlags& flags, std::optional<std::uint32_t> server, bool fast, bool json);

}  // namespace namdb::namctl
