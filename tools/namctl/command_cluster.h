// `namctl status` and `namctl shutdown`, and how every command finds its cluster: for a cluster of dev up by
// its folder, or for any cluster by its servers' addresses.
#pragma once

#include <string>
#include <vector>

#include "common/base/error.h"
#include "tools/namctl/cluster_view.h"

namespace namdb::namctl {

struct ClusterFlags {
  std::string data;                  // a folder of dev up
  std::vector<std::string> memory;   // instead of it: unix:PATH or HOST:PORT
  std::vector<std::string> compute;  // instead of it: HOST:PORT
  std::string key;                   // file, with addresses
  std::string fabric;                // of the memory servers' addresses; empty: as they say
  std::string encryption;            // likewise; empty: nam-memoryd's default
};

// Where the servers are. Errors: configuration, when there is no such cluster.
Result<ClusterAddress> locate(const ClusterFlags& flags);

// The commands; each gives its exit code.
int run_status(const ClusterFlags& flags, bool json);
int run_shutdown(const ClusterFlags& flags, bool json);

}  // namespace namdb::namctl
