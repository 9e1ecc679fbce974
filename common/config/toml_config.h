// Configuration files of the daemons: TOML whose keys are the flags' long names (`region-bytes = "512MiB"`,
// `memory-server = ["10.0.0.1:7400", "10.0.0.2:7400"]`). A flag on the command line overrides the file.
//
// A file that is no TOML, a key that is no flag, and a value that is none of a flag's are errors of parse(),
// CLI::ParseError, whose message names file, line and key.
#pragma once

namespace CLI {
class App;
}

namespace namdb::config {

// For an app that has called set_config(). Must be called before parse(); the app outlives it.
void read_config_as_toml(CLI::App& app);

}  // namespace namdb::config
