// `namctl doctor`: faults of this machine and of the cluster, and their cures.
#pragma once

#include <string>

#include "tools/namctl/command_cluster.h"

namespace namdb::namctl {

// The machine; and the cluster, if addresses name one or `flags.data` has one. `version`: of this program.
// Exit code 1 when there is a failure.
int run_doctor(const ClusterFlags& flags, const std::string& version, bool json);

}  // namespace namdb::namctl
