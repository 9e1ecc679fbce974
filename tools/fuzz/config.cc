// The target `config`: a configuration file of the daemons. The input is its text.
#include <CLI/CLI.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "common/config/toml_config.h"
#include "tools/fuzz/targets.h"

namespace namdb::fuzz {

void run_config(Bytes input) {
  CLI::App app("daemon", "daemon");
  std::string data;
  std::uint64_t size_bytes = 0;
  std::vector<std::string> servers;
  bool verbose = false;
  app.set_config("--config", "daemon.toml");
  app.add_option("--data", data);
  app.add_option("--size-bytes", size_bytes)->transform(CLI::AsSizeValue(false));
  app.add_option("--server", servers);
  app.add_flag("--verbose", verbose);
  config::read_config_as_toml(app);
  std::istringstream text{std::string(as_text(input))};
  try {
    const std::vector<CLI::ConfigItem> items = app.get_config_formatter()->from_config(text);
    for (const CLI::ConfigItem& item : items) {
      CLI::Option* option = app.get_option_no_throw("--" + item.name);
      if (option == nullptr) continue;
      option->add_result(item.inputs);
      option->run_callback();
      option->clear();
    }
  } catch (const CLI::Error&) {
    // The daemon says it, and does not start.
  }
}

}  // namespace namdb::fuzz
