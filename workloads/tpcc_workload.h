// TPC-C's five transactions for drivers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

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
  // Tables are created so that a warehouse's rows lie on one memory server.
  bool by_warehouse = false;
  // Likelihood that a new order takes its goods from a warehouse of another memory server, all of them; all
  // others take theirs from their own warehouse (NAM-DB 7.3's degree of distribution). Instead of
  // `remote_item`. There must be several memory servers, with warehouses on each.
  std::optional<double> distribution;
  std::uint32_t memory_servers = 1;
  std::uint64_t seed = 1;
};

// Error invalid_parameter_value.
Result<std::unique_ptr<Workload>> make_tpcc(const TpccOptions& options);

}  // namespace namdb::workloads
