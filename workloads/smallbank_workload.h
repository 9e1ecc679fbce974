// SmallBank for drivers.
#pragma once

#include <cstdint>
#include <memory>

#include "workloads/generators/key_chooser.h"
#include "workloads/workload.h"

namespace namdb::workloads {

struct SmallBankOptions {
  std::uint64_t accounts = 100'000;
  // H-Store's: nine in ten customers are drawn from a hot quarter.
  Skew skew{.hot_keys = 25'000, .hot_probability = 0.9};
  Mix mix;  // empty: H-Store's
  std::uint64_t seed = 1;
};

// Error invalid_parameter_value.
Result<std::unique_ptr<Workload>> make_smallbank(const SmallBankOptions& options);

}  // namespace namdb::workloads
