// namsim: simulated clusters under faults, and checks of what their clients saw, or the clients of a real
// one. Composition root: flags in, a report out.
#include <CLI/CLI.hpp>
#include <map>

#include "common/base/crash_handler.h"
#include "common/base/standard_output.h"
#include "tools/namsim/command.h"

namespace {

int run(int argc, char** argv) {
  CLI::App program("Simulates namdb clusters under faults, and checks isolation.", "namsim");
  program.require_subcommand(1);
  program.footer(
      "Exit codes: 0 clean, 1 an anomaly was found, 2 wrong usage, 3 a file or a cluster that cannot be "
      "used.");
  const std::map<std::string, namdb::sim::RunCommand> commands{
      {"check", namdb::sim::add_check(program)},   {"run", namdb::sim::add_run(program)},
      {"hunt", namdb::sim::add_hunt(program)},     {"shrink", namdb::sim::add_shrink(program)},
      {"record", namdb::sim::add_record(program)},
  };
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return program.exit(error) == 0 ? namdb::sim::kClean : namdb::sim::kUsage;
  }
  return commands.at(program.get_subcommands().front()->get_name())();
}

}  // namespace

int main(int argc, char** argv) {
  namdb::install_crash_handler(argv[0]);
  namdb::ignore_broken_pipes();
  return namdb::finish_standard_output("namsim", run(argc, argv));
}
