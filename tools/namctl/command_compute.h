// `namctl compute list` and `namctl compute drain`: the compute servers that memory server 0 knows, and the
// end of one.
#pragma once

#include <cstdint>
#include <string>

#include "tools/namctl/command_cluster.h"

namespace namdb::namctl {

int run_compute_list(const ClusterFlags& flags, bool json);
// `server`: as the list shows its address. Returns when it is gone, or with exit code 1 after that time.
int run_compute_drain(const ClusterFlags& flags, const std::string& server, std::uint32_t timeout_s,
                      bool json);

}  // namespace namdb::namctl
