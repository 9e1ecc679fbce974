// namsim check: checks a recorded history against an isolation level.
#include <CLI/CLI.hpp>
#include <memory>

#include "tools/namsim/command.h"
#include "tools/namsim/history/format.h"
#include "tools/namsim/report.h"

namespace namdb::sim {
namespace {

struct CheckFlags {
  std::string file;
  LevelFlag level;
  bool all_reads = false;
  bool json = false;
};

int run(const CheckFlags& flags) {
  const Result<history::History> history = history::read_history_file(flags.file);
  if (!history.ok()) return report_error(history.status());
  const history::Report report = history::check(*history, {flags.level.level, flags.all_reads});
  print(flags.json ? to_json(report, *history, flags.level.level).dump(2) + "\n"
                   : to_text(report, *history, flags.level.level));
  return report.ok() ? kClean : kAnomaly;
}

}  // namespace

RunCommand add_check(CLI::App& program) {
  auto flags = std::make_shared<CheckFlags>();
  CLI::App& command = *program.add_subcommand("check", "Hold a recorded history against an isolation level");
  command.add_option("file", flags->file, "JSON Lines, as docs/internals/history-format.md says")->required();
  add_level(command, flags->level);
  command.add_flag("--all-reads", flags->all_reads,
                   "What aborted and unknown transactions read must be consistent, too");
  command.add_flag("--json", flags->json, "Print one JSON document");
  return [flags] { return run(*flags); };
}

}  // namespace namdb::sim
