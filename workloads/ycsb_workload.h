// YCSB for drivers.
#pragma once

#include <cstdint>
#include <memory>

#include "workloads/generators/key_chooser.h"
#include "workloads/workload.h"
#include "workloads/ycsb_schema.h"

namespace namdb::workloads {

struct YcsbOptions {
  std::uint64_t records = 100'000;
  std::uint32_t operations = 10;  // a transaction, all on different keys
  double reads = 0.5;             // that an operation is a read
  ycsb::Shape shape;
  Skew skew;
  std::uint64_t seed = 1;
};

// Error invalid_parameter_value.
Result<std::unique_ptr<Workload>> make_ycsb(const YcsbOptions& options);

}  // namespace namdb::workloads
