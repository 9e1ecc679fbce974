// Configuration files of the daemons: TOML whose keys are the flags' long names (`region-bytes = "512MiB"`,
// `memory-server = ["10.0.0.1:7400", "10.0.0.2:7400"]`). A flag on the command line overrides the file.
//
// If the file is malformed, a key names no flag, or a flag rejects a value, parse() throws CLI::ParseError.
// The message names file, line and key.
#pragma once

namespace CLI {
class App;
}

namespace namdb::config {

// For an app that has called set_config(). Must be called before parse(); the app outlives it.
void read_config_as_toml(CLI::App& app);

}  // namespace namdb::config
