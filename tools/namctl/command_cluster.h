// `namctl status`, `namctl top` and `namctl shutdown`: for a cluster of dev up by its folder, or for any
// cluster by its servers' addresses.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace namdb::namctl {

struct ClusterFlags {
  std::string data;                  // a folder of dev up
  std::vector<std::string> memory;   // instead of it: unix:PATH or HOST:PORT
  std::vector<std::string> compute;  // instead of it: HOST:PORT
  std::string key;                   // file, with addresses
  std::string fabric;                // of the memory servers' addresses; empty: as they say
};

// The commands; each gives its exit code.
int run_status(const ClusterFlags& flags, bool json);
// A sample each `interval_s`, `count` of them; 0: for ever.
int run_top(const ClusterFlags& flags, double interval_s, std::uint32_t count, bool json);
int run_shutdown(const ClusterFlags& flags, bool json);

}  // namespace namdb::namctl
