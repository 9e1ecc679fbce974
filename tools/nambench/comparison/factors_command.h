// nambench factors.
#pragma once

#include <optional>
#include <string>

#include "tools/nambench/comparison/factors.h"
#include "tools/nambench/report/command.h"

namespace namdb::nambench {

class FactorsCommand : public Command {
 public:
  explicit FactorsCommand(CLI::App& app);
  int run() override;

 private:
  FactorOptions options_;
  RunLimits limits_;
  std::string stages_ = "one-sided";
  std::optional<double> hot_probability_;
};

}  // namespace namdb::nambench
