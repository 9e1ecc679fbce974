#include "compute/sql/bind/bind_enumeration.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "compute/sql/bind/check_status.h"
#include "compute/sql/value/array.h"
#include "compute/sql/value/enumeration.h"

namespace namdb::sql {
namespace {

constexpr std::size_t kMaxLabel_bytes = 63;

using EnumerationCommand = EnumerationPlan::Command;

Plan plan_of(std::string_view tag, EnumerationPlan enumeration) {
  Plan plan;
  plan.tag = tag;
  plan.body = std::move(enumeration);
  return plan;
}

Status check_label(std::string_view label) {
  if (label.size() <= kMaxLabel_bytes) return {};
  return Status(ErrorCode::invalid_name, "invalid enum label \"" + std::string(label) + "\"");
}

}  // namespace

Result<std::string> bind_type_name(const Json& parts) {
  const std::vector<std::string_view> all = names(parts);
  if (all.empty() || all.size() > 2) return unsupported("a name with a database");
  if (all.size() == 2) NAMDB_SQL_CHECK(check_schema(all[0]));
  if (all.back().size() > kMaxLabel_bytes)
    return Status(ErrorCode::limit_exceeded, "a name can have at most 63 bytes");
  return std::string(all.back());
}

Result<Plan> bind_create_enumeration(const Json& body) {
  EnumerationPlan create;
  NAMDB_SQL_ASSIGN(std::string name, bind_type_name(list(body, "typeName")));
  create.names.push_back(std::move(name));
  std::set<std::string_view> seen;
  for (const Json& item : list(body, "vals")) {
    const std::string_view label = text(*node(item).body, "sval");
    NAMDB_SQL_CHECK(check_label(label));
    if (!seen.insert(label).second) {
      return Status(ErrorCode::duplicate_key,
                    "duplicate key value violates unique constraint \"pg_enum_typid_label_index\"");
    }
    create.labels.emplace_back(label);
  }
  return plan_of("CREATE TYPE", std::move(create));
}

Result<Plan> bind_alter_enumeration(const SessionFacts* facts, const Json& body) {
  EnumerationPlan alter;
  const Json& parts = list(body, "typeName");
  // One of the server's own types.
  const Result<Type> known = bind_type({{"names", parts}}, facts);
  if (known.ok() && !known->is_enumeration())
    return Status(ErrorCode::wrong_object_type, std::string(type_name(known->id)) + " is not an enum");
  NAMDB_SQL_ASSIGN(std::string name, bind_type_name(parts));
  alter.names.push_back(std::move(name));
  const std::string_view old = text(body, "oldVal");
  const std::string_view made = text(body, "newVal");
  NAMDB_SQL_CHECK(check_label(made));
  alter.command =
      find(body, "oldVal") == nullptr ? EnumerationCommand::add : EnumerationCommand::rename_value;
  if (alter.command == EnumerationCommand::rename_value) alter.labels.emplace_back(old);
  alter.labels.emplace_back(made);
  if (find(body, "newValNeighbor") != nullptr) alter.neighbor = std::string(text(body, "newValNeighbor"));
  alter.is_after = flag(body, "newValIsAfter");
  alter.is_conditional = flag(body, "skipIfNewValExists");
  return plan_of("ALTER TYPE", std::move(alter));
}

Result<Plan> bind_rename_type(const Json& body) {
  NAMDB_SQL_CHECK(only(body, "ALTER TYPE", {"renameType", "relationType", "object", "newname", "behavior"}));
  EnumerationPlan rename;
  rename.command = EnumerationCommand::rename;
  NAMDB_SQL_ASSIGN(std::string name, bind_type_name(list(*node(*find(body, "object")).body, "items")));
  rename.names.push_back(std::move(name));
  rename.labels.emplace_back(text(body, "newname"));
  if (rename.labels.front().size() > kMaxLabel_bytes)
    return Status(ErrorCode::limit_exceeded, "a name can have at most 63 bytes");
  return plan_of("ALTER TYPE", std::move(rename));
}

Result<Plan> bind_drop_types(const Json& body) {
  EnumerationPlan drop;
  drop.command = EnumerationCommand::drop;
  drop.is_conditional = flag(body, "missing_ok");
  drop.cascades = text(body, "behavior") == "DROP_CASCADE";
  for (const Json& item : list(body, "objects")) {
    const Json& named = *node(item).body;
    const Result<Type> builtin = bind_type(named, nullptr);
    if (builtin.ok()) {
      return Status(ErrorCode::dependent_objects_still_exist,
                    "cannot drop type " + std::string(type_name(builtin->id)) +
                        " because it is required by the database system");
    }
    NAMDB_SQL_ASSIGN(std::string name, bind_type_name(list(named, "names")));
    drop.names.push_back(std::move(name));
  }
  return plan_of("DROP TYPE", std::move(drop));
}

std::vector<std::string_view> types_named_by(const Json& tree) {
  std::vector<std::string_view> found;
  std::vector<const Json*> open = {&tree};
  while (!open.empty()) {
    const Json& json = *open.back();
    open.pop_back();
    if (!json.is_structured()) continue;
    for (const char* const key : {"TypeName", "typeName", "returnType"}) {
      const Json* const type = json.is_object() ? find(json, key) : nullptr;
      if (type == nullptr || !type->is_object()) continue;
      const std::vector<std::string_view> parts = names(list(*type, "names"));
      if (!parts.empty() && (parts.size() == 1 || parts[0] != "pg_catalog")) found.push_back(parts.back());
    }
    for (const Json& child : json) open.push_back(&child);
  }
  return found;
}

bool is_enumeration_function(std::string_view name) {
  return name == "enum_first" || name == "enum_last" || name == "enum_range";
}

// The values are those that the type has when the statement is planned.
Result<ExprPtr> ExpressionBinder::bind_enumeration_function(std::string_view name,
                                                            std::vector<ExprPtr> args) {
  const bool is_range = name == "enum_range";
  if (args.empty() || args.size() > (is_range ? 2 : 1)) return no_such_function(name, args);
  Type type;
  for (const ExprPtr& argument : args) {
    if (argument->type.id == TypeId::unknown) continue;
    if (!argument->type.is_enumeration() || (type.is_enumeration() && argument->type.id != type.id))
      return no_such_function(name, args);
    type = {argument->type.id};
  }
  if (!type.is_enumeration()) return no_such_function(name, args);
  const Enumeration* const enumeration = known_enumeration(type.id);
  const std::vector<Enumeration::Value> none;
  const std::vector<Enumeration::Value>& values = enumeration == nullptr ? none : enumeration->values;
  if (!is_range) {
    if (values.empty()) {
      return Status(ErrorCode::object_not_in_prerequisite_state,
                    "enum " + std::string(type_name(type.id)) + " contains no values");
    }
    const Enumeration::Value& value = name == "enum_first" ? values.front() : values.back();
    return make_constant(type, Datum::of_integer(value.position));
  }
  for (ExprPtr& bound : args) NAMDB_SQL_CHECK(coerce(bound, type, Coercion::implicit));
  NAMDB_SQL_ASSIGN(const Type array, array_of(type.id));
  ArrayWriter writer(array.id);
  for (const Enumeration::Value& value : values) {
    bool is_within = true;
    for (std::size_t i = 0; i < args.size() && args.size() == 2; ++i) {
      if (args[i]->kind != ExprKind::constant)
        return unsupported("enum_range() of a value that is no constant");
      const Datum& bound = args[i]->value;
      if (!bound.null)
        is_within = is_within && (i == 0 ? value.position >= bound.integer : value.position <= bound.integer);
    }
    if (is_within) writer.add(Datum::of_integer(value.position));
  }
  Arena arena;
  return make_constant(array, writer.finish(arena));
}

}  // namespace namdb::sql
