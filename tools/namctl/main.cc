// namctl: starts and stops clusters on this machine, and looks at and shuts down clusters anywhere.
// Exit codes: 0, 2 for wrong usage, 3 when the environment refuses (a busy port, no cluster there), 1
// otherwise.
#include <CLI/CLI.hpp>

#include "tools/namctl/command_cluster.h"
#include "tools/namctl/command_dev.h"
#include "tools/namctl/output.h"

int main(int argc, char** argv) {
  using namespace namdb::namctl;
  CLI::App app("Operates namdb clusters", "namctl");
  bool json = false;
  int exit_code = kExitOk;
  app.require_subcommand(1);
  app.add_flag("--json", json, "Print one JSON document on standard output");
  // So that --json may stand behind the command, too.
  app.fallthrough();
  app.set_version_flag("--version", NAMDB_VERSION);
  add_dev_commands(app, json, exit_code);
  add_cluster_commands(app, json, exit_code);
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) command->fallthrough();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitOk : kExitUsage;
  }
  return exit_code;
}
