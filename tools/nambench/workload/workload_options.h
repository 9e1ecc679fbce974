// Which workload, how large, how skewed: the flags that `load` and `run` share.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "workloads/workload.h"

namespace CLI {
class App;
}

namespace namdb::support {
class DatabaseView;
}  // namespace namdb::support

namespace namdb::nambench {

struct WorkloadOptions {
  std::string workload;
  std::uint64_t seed = 1;
  // The size. A value that is not given is that of scale 1 when loading, and the database's own when running.
  std::optional<std::uint64_t> scale;
  std::optional<std::uint64_t> accounts;
  std::optional<std::uint64_t> subscribers;
  std::optional<std::uint32_t> warehouses;
  std::optional<std::uint32_t> items;
  std::optional<std::uint32_t> customers_per_district;
  std::optional<std::uint32_t> orders_per_district;
  std::optional<std::uint64_t> records;
  std::optional<std::uint32_t> fields;
  std::optional<std::uint32_t> field_bytes;
  // The run.
  std::optional<double> zipf;
  std::optional<std::uint64_t> hot_keys;
  std::optional<double> hot_probability;
  bool uniform = false;
  std::string mix;
  std::optional<std::uint32_t> operations;
  std::optional<double> reads;
  std::optional<double> remote;  // tpcc: both shares
  bool by_warehouse = false;     // tpcc: how tables are created
  // tpcc: degrees of distribution to run one after the other, each 0 to 100.
  std::vector<double> remote_percent;
  // tpcc: the one of this run, 0 to 1, and over how many memory servers.
  std::optional<double> distribution;
  std::uint32_t memory_servers = 1;
};

// Adds the positional WORKLOAD and the flags of a population to a command.
void add_population_options(CLI::App& command, WorkloadOptions& options);
// Adds the flags of a mix.
void add_run_options(CLI::App& command, WorkloadOptions& options);

// Fills the sizes that were not given from a loaded database.
Status detect_population(WorkloadOptions& options, support::DatabaseView& database);

// Error invalid_parameter_value: also flags that belong to another workload.
Result<std::unique_ptr<workloads::Workload>> make_workload(const WorkloadOptions& options);

}  // namespace namdb::nambench
