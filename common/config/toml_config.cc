#include "common/config/toml_config.h"

#include <absl/strings/str_cat.h>
#include <toml++/toml.h>
#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

namespace namdb::config {
namespace {

class TomlConfig final : public CLI::Config {
 public:
  explicit TomlConfig(const CLI::App& app) : app_(app) {}

  // Daemons do not write configuration.
  std::string to_config(const CLI::App*, bool, bool, std::string) const override { return {}; }

  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override {
    const std::string file = app_.get_config_ptr()->as<std::string>();
    toml::table table;
    try {
      table = toml::parse(input, file);
    } catch (const toml::parse_error& error) {
      throw CLI::ConfigError(place(file, error.source()) + std::string(error.description()),
                             CLI::ExitCodes::ConfigError);
    }
    std::vector<CLI::ConfigItem> entries;
    for (const auto& [key, value] : table) {
      const std::string name(key.str());
      const std::string where = place(file, key.source());
      // --config itself in a file would be a loop.
      if (name == "config" || app_.get_option_no_throw("--" + name) == nullptr) {
        throw CLI::ConfigError(where + "there is no option '" + name + "'", CLI::ExitCodes::ConfigError);
      }
      entries.push_back({{}, name, values(value, where + name)});
    }
    return entries;
  }

 private:
  static std::string place(const std::string& file, const toml::source_region& source) {
    return absl::StrCat(file, ":", source.begin.line, ": ");
  }

  // One text a value, as it would be on the command line.
  static std::vector<std::string> values(const toml::node& node, const std::string& what) {
    if (const toml::array* array = node.as_array()) {
      std::vector<std::string> all;
      for (const toml::node& element : *array) all.push_back(scalar(element, what));
      return all;
    }
    return {scalar(node, what)};
  }

  static std::string scalar(const toml::node& node, const std::string& what) {
    if (const auto* text = node.as_string()) return text->get();
    if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
    if (const auto* integer = node.as_integer()) return absl::StrCat(integer->get());
    if (const auto* real = node.as_floating_point()) return absl::StrCat(real->get());
    throw CLI::ConfigError(what + ": a text, a number, true or false, or an array of them is wanted",
                           CLI::ExitCodes::ConfigError);
  }

  const CLI::App& app_;
};

}  // namespace

void read_config_as_toml(CLI::App& app) {
  app.config_formatter(std::make_shared<TomlConfig>(app));
}

}  // namespace namdb::config
