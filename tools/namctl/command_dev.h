// `namctl dev up` and `namctl dev down`.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>

#include "tools/namctl/output.h"

namespace namdb::namctl {

// $XDG_STATE_HOME/namdb/dev, by default ~/.local/state/namdb/dev.
std::filesystem::path default_data_folder();

// Adds the commands. The one that was called stores its exit code.
void add_dev_commands(CLI::App& app, const bool& json, int& exit_code);

}  // namespace namdb::namctl
