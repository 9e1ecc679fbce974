// The plans that sessions of one worker hold, by the statement's text and the types of its parameters: a
// session that prepares what another one has prepared shares its plan, and nothing is parsed. The cache keeps
// no plan alive. Belongs to its worker's executor.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compute/sql/plan/plan.h"

namespace namdb::sql {

class PlanCache {
 public:
  // Null when no session has it. The caller checks whether it is of the current catalog.
  std::shared_ptr<const Plan> find(const std::string& text, const std::vector<Oid>& parameters) const;
  void add(const std::string& text, const std::vector<Oid>& parameters,
           const std::shared_ptr<const Plan>& plan);

 private:
  std::unordered_map<std::string, std::weak_ptr<const Plan>> plans_;
  std::size_t sweep_at_ = 64;
};

}  // namespace namdb::sql
