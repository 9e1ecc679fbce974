// `namctl memory`: where every byte of each memory server's region is.
#pragma once

#include "tools/namctl/command_cluster.h"

namespace namdb::namctl {

// Exit code 1 when a memory server does not answer, or its parts are not its region.
int run_memory(const ClusterFlags& flags, bool json);

}  // namespace namdb::namctl
