// nambench compare.
#pragma once

#include <string>

#include "tools/nambench/comparison/compare_plan.h"
#include "tools/nambench/report/command.h"

namespace namdb::nambench {

class CompareCommand : public Command {
 public:
  explicit CompareCommand(CLI::App& app);
  int run() override;

 private:
  Status check();
  Status run_all(ComparePlan& plan, support::Progress& progress);
  std::string preface(const ComparePlan& plan) const;

  CompareOptions options_;
  RunLimits limits_;
  std::string folder_;
};

}  // namespace namdb::nambench
