#include "tools/namsim/command.h"

#include <CLI/CLI.hpp>
#include <cstdio>

namespace namdb::sim {

int report_error(const Status& status) {
  std::fprintf(stderr, "namsim: %s\n", status.message().c_str());
  if (!status.hint().empty()) std::fprintf(stderr, "  %s\n", status.hint().c_str());
  return kEnvironment;
}

void print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

void add_level(CLI::App& command, LevelFlag& flag) {
  std::string all;
  for (const history::Level& level : history::levels())
    all += (all.empty() ? "" : ", ") + std::string(level.name);
  const auto take = [&flag](const std::string& name) {
    const auto level = history::level_from_name(name);
    if (!level) throw CLI::ValidationError("--level", "no isolation level: " + name);
    flag.level = *level;
  };
  command
      .add_option_function<std::string>("--level", take,
                                        "Isolation level to hold the history against: " + all)
      ->default_str(std::string(flag.level.name));
}

Scenario ScenarioFlags::scenario(std::uint64_t seed) const {
  Scenario scenario = Scenario::of_seed(seed, workload);
  scenario.resize(size);
  return scenario;
}

void add_scenario_flags(CLI::App& command, ScenarioFlags& flags) {
  std::string all;
  for (const std::string_view workload : kWorkloads) all += (all.empty() ? "" : ", ") + std::string(workload);
  command.add_option("--workload", flags.workload, "What clients do, instead of what the seed draws: " + all)
      ->check(CLI::IsMember(std::vector<std::string>(kWorkloads.begin(), kWorkloads.end())));
  for (const Size::Field& field : Size::fields()) {
    command
        .add_option(std::string("--") + field.name, flags.size.*field.value,
                    std::string(field.what) + ", instead of what the seed draws")
        ->check(CLI::Range(field.smallest, field.largest))
        ->group("Size");
  }
}

}  // namespace namdb::sim
