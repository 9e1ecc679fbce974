// `namctl dev up` and `namctl dev down`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "tools/namctl/dev_cluster.h"

namespace namdb::namctl {

// $XDG_STATE_HOME/namdb/dev, by default ~/.local/state/namdb/dev.
std::filesystem::path default_data_folder();

// The commands; each gives its exit code.
int run_dev_up(DevOptions options, bool json);
int run_dev_down(const std::string& data, std::uint32_t timeout_s, bool discard, bool json);

}  // namespace namdb::namctl
