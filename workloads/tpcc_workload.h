// TPC-C's new-order and payment for drivers.
#pragma once

#include <cstdint>
#include <memory>

#include "workloads/tpcc_schema.h"
#include "workloads/workload.h"

namespace namdb::workloads {

struct TpccOptions {
  tpcc::Scale scale;
  Mix mix;  // empty: 45 new orders to 43 payments, the specification's shares
  // Shares of the specification: goods from another warehouse, customers of another one, orders that end in
  // an item that does not exist.
  double remote_item = 0.01;
  double remote_payment = 0.15;
  double invalid_item = 0.01;
  std::uint64_t seed = 1;
};

// Error invalid_parameter_value.
Result<std::unique_ptr<Workload>> make_tpcc(const TpccOptions& options);

}  // namespace namdb::workloads
