#include "compute/sql/routine/routine_scope.h"

#include <algorithm>
#include <ranges>
#include <utility>

#include "compute/sql/syntax/syntax.h"

namespace namdb::sql {

std::uint32_t RoutineScope::add_slot(std::string name, Type type, bool not_null) {
  slots_.push_back({std::move(name), type, not_null});
  return static_cast<std::uint32_t>(slots_.size() - 1);
}

void RoutineScope::declare(std::uint32_t datum, RoutineVariable variable) {
  levels_.back().datums.push_back(datum);
  variables_.insert_or_assign(datum, std::move(variable));
}

RoutineVariable* RoutineScope::variable(std::uint32_t datum) {
  const auto found = variables_.find(datum);
  return found == variables_.end() ? nullptr : &found->second;
}

const RoutineVariable* RoutineScope::in_level(const Level& level, std::string_view name) const {
  const auto found = std::ranges::find_if(
      level.datums, [&](std::uint32_t datum) { return variables_.at(datum).name == name; });
  return found == level.datums.end() ? nullptr : &variables_.at(*found);
}

const RoutineVariable* RoutineScope::named(std::string_view name) const {
  for (const Level& level : levels_ | std::views::reverse) {
    if (const RoutineVariable* const variable = in_level(level, name)) return variable;
  }
  return nullptr;
}

Result<std::optional<std::uint32_t>> RoutineScope::field_of(const RoutineVariable& record,
                                                            std::string_view field) {
  if (!record.fields) {
    return Status(ErrorCode::object_not_in_prerequisite_state,
                  "record \"" + record.name + "\" is not assigned yet");
  }
  const auto found = std::ranges::find(*record.fields, field, &RoutineVariable::Field::name);
  if (found == record.fields->end()) {
    return Status(ErrorCode::undefined_column,
                  "record \"" + record.name + "\" has no field \"" + std::string(field) + "\"");
  }
  return std::optional(found->slot);
}

Result<std::optional<std::uint32_t>> RoutineScope::find(std::span<const std::string_view> parts) const {
  if (parts.empty() || parts.size() > 3) return std::optional<std::uint32_t>();
  if (const RoutineVariable* const variable = named(parts[0])) {
    if (parts.size() == 1 && variable->is_record) return unsupported("a whole record as a value");
    if (parts.size() == 1) return std::optional(variable->slot);
    if (parts.size() == 2 && variable->is_record) return field_of(*variable, parts[1]);
  }
  if (parts.size() == 1) return std::optional<std::uint32_t>();
  for (const Level& level : levels_ | std::views::reverse) {
    if (level.label != parts[0]) continue;
    const RoutineVariable* const variable = in_level(level, parts[1]);
    if (variable == nullptr) break;
    if (parts.size() == 2 && variable->is_record) return unsupported("a whole record as a value");
    if (parts.size() == 2) return std::optional(variable->slot);
    if (variable->is_record) return field_of(*variable, parts[2]);
  }
  return std::optional<std::uint32_t>();
}

}  // namespace namdb::sql
