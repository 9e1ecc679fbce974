#include "compute/procedure/registry.h"

#include <utility>

namespace namdb::procedure {

void ProcedureRegistry::add(Definition definition) {
  Status refusal;
  if (definition.name.empty() || definition.run == nullptr) {
    refusal = Status(ErrorCode::configuration,
                     "a procedure without a name or a function: \"" + definition.name + "\"");
  } else if (definitions_.contains(definition.name)) {
    refusal = Status(ErrorCode::configuration, "procedure \"" + definition.name + "\" is defined twice");
  } else {
    std::string name = definition.name;
    definitions_.emplace(std::move(name), std::make_shared<const Definition>(std::move(definition)));
  }
  if (!refusal.ok() && status_.ok()) status_ = std::move(refusal);
}

std::shared_ptr<const Definition> ProcedureRegistry::find(std::string_view name) const {
  const auto found = definitions_.find(name);
  return found == definitions_.end() ? nullptr : found->second;
}

}  // namespace namdb::procedure
