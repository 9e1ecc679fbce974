// TPC-C's five transactions for drivers.
#pragma once

#include <cstdint>
#include <memory>

#include "workloads/tpcc_schema.h"
#include "workloads/workload.h"

namespace namdb::workloads {

struct TpccOptions {
  tpcc::Scale scale;
  Mix mix;  // empty: the specification's shares, 45 43 4 4 4 (clause 5.2.3)
  // Shares of the specification: goods from another warehouse, customers of another one, orders that end in
  // an item that does not exist.
  double remote_item = 0.01;
  double remote_payment = 0.15;
  double invalid_item = 0.01;
  double by_last_name = 0.6;  // of payments and order-status
  std::uint64_t seed = 1;
};

// Error invalid_parameter_value.
Result<std::unique_ptr<Workload>> make_tpcc(const TpccOptions& options);

}  // namespace namdb::workloads
