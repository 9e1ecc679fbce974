// nambench run.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "tools/nambench/engine/engine_flags.h"
#include "tools/nambench/report/command.h"
#include "tools/nambench/workload/workload_options.h"
#include "tools/support/report/progress.h"
#include "tools/support/wire/wire_run.h"

namespace namdb::nambench {

class RunCommand : public Command {
 public:
  explicit RunCommand(CLI::App& app);
  int run() override;

 private:
  // Once it is known where the workload runs and how large it is.
  using RunOne = std::function<Result<support::RunReport>(const workloads::Workload&)>;
  int run_wire(support::Progress& progress);
  int run_engine(support::Progress& progress);
  int run_on(support::DatabaseView& view, support::Progress& progress, const RunOne& run_one);
  Status write_timeline(const support::RunReport& report) const;
  int run_degrees(support::DatabaseView& view, support::Progress& progress, const RunOne& run_one);

  WorkloadOptions workload_;
  support::WireRunOptions options_;
  Wire wire_;
  EngineFlags engine_;
  std::uint64_t coroutines_ = 16;
  double computation_us_ = 0;
  std::uint32_t rounds_ = 3;
  std::string timeline_;         // a file; empty: none
  std::string timeline_events_;  // likewise
};

}  // namespace namdb::nambench
