// TATP for drivers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "workloads/generators/key_chooser.h"
#include "workloads/workload.h"

namespace namdb::workloads {

struct TatpOptions {
  std::uint64_t subscribers = 100'000;
  // None: the specification's non-uniform draw.
  std::optional<Skew> skew;
  Mix mix;  // empty: the specification's
  std::uint64_t seed = 1;
};

// Error invalid_parameter_value.
Result<std::unique_ptr<Workload>> make_tatp(const TatpOptions& options);

}  // namespace namdb::workloads
