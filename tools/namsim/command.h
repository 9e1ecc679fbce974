// Shared by the commands of namsim. Results go to standard output (--json: one document), progress and errors
// to standard error. Exit codes: 0 clean, 1 an anomaly was found, 2 wrong usage, 3 the environment refuses
// (unreadable files, malformed histories, no connection).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "tools/namsim/history/check.h"
#include "tools/namsim/scenario/scenario.h"
#include "tools/namsim/scenario/workload_file.h"

namespace CLI {
class App;
}

namespace namdb::sim {

inline constexpr int kClean = 0;
inline constexpr int kAnomaly = 1;
inline constexpr int kUsage = 2;
inline constexpr int kEnvironment = 3;

// Prints the error; kEnvironment.
int report_error(const Status& status);
// To standard output.
void print(const std::string& text);

struct LevelFlag {
  history::Level level = history::strict_snapshot_isolation();
  bool given = false;
  // Unless a level was given, what the database's protocol promises.
  void follow(std::string_view protocol);
};
void add_level(CLI::App& command, LevelFlag& flag);

// --workload, --emphasis, --faults and the sizes of a run.
struct ScenarioFlags {
  std::optional<std::string> workload;
  std::optional<Emphasis> emphasis;
  std::string protocol = std::string(protocol::kDefaultProtocol);
  protocol::StageCode stages;
  std::string preset;  // which both are of
  std::string read_locks = "none";
  std::string lock_at = "seed";
  bool durable = false;
  std::string copies;  // "seed", a number, or empty
  std::optional<layout::VectorSpread> timestamp_vector;
  Size size;
  std::string faults = "seed";
  std::vector<std::size_t> skip_faults;
  // After parsing.
  std::optional<WorkloadFile> workload_file;
  Faults faults_of_file;

  // Reads the files; error configuration names file and field. Before scenario().
  Status read_files();
  Scenario scenario(std::uint64_t seed) const;

 private:
  Status check_copies() const;
  Scenario drawn(std::uint64_t seed) const;
  Scenario without_faults(std::uint64_t seed) const;
};
// Prints the error; kUsage.
int report_usage(const Status& status);
void add_scenario_flags(CLI::App& command, ScenarioFlags& flags);

// Each adds its command to the program. The function that it returns runs the command after parsing and
// returns the exit code.
using RunCommand = std::function<int()>;
RunCommand add_check(CLI::App& program);
RunCommand add_run(CLI::App& program);
RunCommand add_hunt(CLI::App& program);
RunCommand add_shrink(CLI::App& program);
RunCommand add_record(CLI::App& program);

}  // namespace namdb::sim
