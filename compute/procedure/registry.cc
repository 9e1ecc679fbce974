#include "compute/procedure/registry.h"

#include <algorithm>
#include <utility>

namespace namdb::procedure {

namespace {

// A value of a library is a word or a string.
bool has_value_type(const Parameter& parameter) {
  return layout::Column{.name = {}, .type = parameter.type, .default_text = {}}.can_be_key();
}

}  // namespace

void ProcedureRegistry::add(Definition definition) {
  Status refusal;
  if (definition.name.empty() || definition.run == nullptr) {
    refusal = Status(ErrorCode::configuration,
                     "a procedure without a name or a function: \"" + definition.name + "\"");
  } else if (definitions_.contains(definition.name)) {
    refusal = Status(ErrorCode::configuration, "procedure \"" + definition.name + "\" is defined twice");
  } else if (!std::ranges::all_of(definition.parameters, has_value_type) ||
             !std::ranges::all_of(definition.results, has_value_type)) {
    refusal = Status(ErrorCode::configuration, "procedure \"" + definition.name +
                                                   "\" has a parameter of a type that libraries do not have");
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
