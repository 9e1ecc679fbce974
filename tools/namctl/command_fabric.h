// `namctl fabric`: how compute servers reach memory servers.
#pragma once

#include "tools/namctl/command_cluster.h"

namespace namdb::namctl {

// Exit code 1 when a server does not answer.
int run_fabric(const ClusterFlags& flags, bool json);

}  // namespace namdb::namctl
