// All workloads, by name.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "tools/namsim/workloads/workload.h"

namespace namdb::sim {

inline constexpr std::array<std::string_view, 10> kWorkloads{
    "register", "append", "bank", "write-skew", "churn", "smallbank", "ring", "tpcc", "schema", "wire"};

bool is_workload(std::string_view name);
// "register, append, ...".
std::string workload_names();
history::Model model_of(std::string_view workload);

// `name` is_workload(). The others outlive what is returned.
std::unique_ptr<Workload> make_workload(std::string_view name, fabric::sim::SimWorld& world,
                                        history::History& history, const WorkloadOptions& options);

}  // namespace namdb::sim
