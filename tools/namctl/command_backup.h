// `namctl backup`: a copy of a running cluster's databases, from which memory servers can be started
// (nam-memoryd --restore).
//
//   1. every memory server makes a checkpoint, and holds its files
//   2. all logs are paused at once, for some milliseconds: that is the moment of the backup. A commit that
//      was acknowledged before it is in the backup on all servers, one that was not begun is in it on none
//   3. the files are copied up to there, and the holds are renewed meanwhile
//   4. the copies are verified, as `namctl verify` does
//
// It reads the servers' files, so it runs on their machine, as their user.
#pragma once

#include <string>

#include "tools/namctl/command_cluster.h"

namespace namdb::namctl {

// `folder` is new, or empty; it gets a folder memory-K for each memory server. After an error it keeps the
// files that were copied, without an identity. Gives the exit code.
int run_backup(const ClusterFlags& flags, const std::string& folder, bool json);

}  // namespace namdb::namctl
