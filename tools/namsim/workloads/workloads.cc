#include "tools/namsim/workloads/workloads.h"

#include <algorithm>

#include "tools/namsim/workloads/append_workload.h"
#include "tools/namsim/workloads/bank_workload.h"
#include "tools/namsim/workloads/churn_workload.h"
#include "tools/namsim/workloads/register_workload.h"
#include "tools/namsim/workloads/ring_workload.h"
#include "tools/namsim/workloads/schema_workload.h"
#include "tools/namsim/workloads/smallbank_workload.h"
#include "tools/namsim/workloads/tpcc_workload.h"
#include "tools/namsim/workloads/wire_workload.h"

namespace namdb::sim {

bool is_workload(std::string_view name) {
  return std::find(kWorkloads.begin(), kWorkloads.end(), name) != kWorkloads.end();
}

std::string workload_names() {
  std::string names;
  for (const std::string_view name : kWorkloads) names += (names.empty() ? "" : ", ") + std::string(name);
  return names;
}

history::Model model_of(std::string_view workload) {
  return workload == "append" || workload == "wire" ? history::Model::lists : history::Model::registers;
}

std::unique_ptr<Workload> make_workload(std::string_view name, fabric::sim::SimWorld& world,
                                        history::History& history, const WorkloadOptions& options) {
  if (name == "append") return std::make_unique<AppendWorkload>(world, history, options);
  if (name == "bank") return std::make_unique<BankWorkload>(world, history, options);
  if (name == "smallbank") return std::make_unique<SmallbankWorkload>(world, history, options);
  if (name == "churn") return std::make_unique<ChurnWorkload>(world, history, options);
  if (name == "wire") return std::make_unique<WireWorkload>(world, history, options);
  if (name == "ring") return std::make_unique<RingWorkload>(world, history, options);
  if (name == "schema") return std::make_unique<SchemaWorkload>(world, history, options);
  if (name == "tpcc") return std::make_unique<TpccWorkload>(world, history, options);
  return std::make_unique<RegisterWorkload>(world, history, options);
}

}  // namespace namdb::sim
