// nambench hybrid.
#pragma once

#include <optional>

#include "tools/nambench/comparison/hybrid_search.h"
#include "tools/nambench/report/command.h"

namespace namdb::nambench {

class HybridCommand : public Command {
 public:
  explicit HybridCommand(CLI::App& app);
  int run() override;

 private:
  HybridOptions options_;
  RunLimits limits_;
  std::optional<double> hot_probability_;
};

}  // namespace namdb::nambench
