// `namctl status`, `namctl top` and `namctl shutdown`: for a cluster of dev up by its folder, or for any
// cluster by its servers' addresses.
#pragma once

#include <CLI/CLI.hpp>

#include "tools/namctl/output.h"

namespace namdb::namctl {

// Adds the commands. The one that was called stores its exit code.
void add_cluster_commands(CLI::App& app, const bool& json, int& exit_code);

}  // namespace namdb::namctl
