#include <algorithm>
#include <array>
#include <optional>

#include <nlohmann/json.hpp>

#include "compute/sql/bind/bind_expression.h"
#include "compute/sql/bind/check_status.h"
#include "compute/sql/value/characters.h"
#include "compute/sql/value/time_precision.h"

namespace namdb::sql {
namespace {

// Types that PostgreSQL has and namdb does not have: their error is not that of a misspelt name.
constexpr auto kOtherTypes = std::to_array<std::string_view>({"money",
                                                              "bit",
                                                              "varbit",
                                                              "inet",
                                                              "cidr",
                                                              "macaddr",
                                                              "macaddr8",
                                                              "xml",
                                                              "serial",
                                                              "serial4",
                                                              "bigserial",
                                                              "serial8",
                                                              "smallserial",
                                                              "serial2",
                                                              "regprocedure",
                                                              "regoper",
                                                              "regoperator",
                                                              "regconfig",
                                                              "regdictionary",
                                                              "regcollation",
                                                              "point",
                                                              "line",
                                                              "lseg",
                                                              "box",
                                                              "path",
                                                              "polygon",
                                                              "circle",
                                                              "tsvector",
                                                              "tsquery",
                                                              "jsonpath",
                                                              "int4range",
                                                              "int8range",
                                                              "numrange",
                                                              "tsrange",
                                                              "tstzrange",
                                                              "daterange",
                                                              "int4multirange",
                                                              "int8multirange",
                                                              "nummultirange",
                                                              "tsmultirange",
                                                              "tstzmultirange",
                                                              "datemultirange",
                                                              "tid",
                                                              "xid",
                                                              "xid8",
                                                              "cid",
                                                              "pg_lsn",
                                                              "pg_snapshot",
                                                              "txid_snapshot",
                                                              "refcursor",
                                                              "aclitem",
                                                              "void",
                                                              "trigger",
                                                              "event_trigger",
                                                              "record",
                                                              "cstring",
                                                              "any",
                                                              "anyelement",
                                                              "anyarray",
                                                              "anynonarray",
                                                              "anyenum",
                                                              "anyrange",
                                                              "anymultirange",
                                                              "anycompatible",
                                                              "anycompatiblearray",
                                                              "anycompatiblenonarray",
                                                              "anycompatiblerange",
                                                              "anycompatiblemultirange"});

constexpr std::int64_t kMaxTypeLength = 10'485'760;  // PostgreSQL's; columns are bounded by their schema

// A type that a statement has made; nullopt: there is none.
std::optional<Type> made_type(const Json& name, const SessionFacts* facts) {
  const std::vector<std::string_view> parts = names(name);
  const bool is_public = parts.size() == 1 || (parts.size() == 2 && parts[0] == "public");
  if (!is_public || facts == nullptr || facts->types == nullptr) return std::nullopt;
  const auto found = facts->types->find(parts.back());
  return found == facts->types->end() ? std::nullopt : std::optional(Type{found->second});
}

Result<Type> bind_plain_type(const Json& type_name_json, const SessionFacts* facts) {
  const std::optional<Type> made = made_type(list(type_name_json, "names"), facts);
  const bool has_modifiers = !list(type_name_json, "typmods").empty();
  if (made && has_modifiers) {
    return Status(ErrorCode::syntax_error,
                  "type modifier is not allowed for type \"" + std::string(type_name(made->id)) + "\"");
  }
  const std::string_view name = name_in_catalog(list(type_name_json, "names"));
  if (name.empty()) {
    const std::vector<std::string_view> parts = names(list(type_name_json, "names"));
    if (parts.size() == 2 && parts[0] != "public" && parts[0] != "information_schema") {
      return Status(ErrorCode::undefined_schema, "schema \"" + std::string(parts[0]) + "\" does not exist");
    }
    if (made) return *made;
    const std::string whole = parts.size() == 2 ? std::string(parts[0]) + "." + std::string(parts[1]) : "";
    return Status(ErrorCode::undefined_object,
                  whole.empty() ? "type does not exist" : "type \"" + whole + "\" does not exist");
  }
  std::vector<std::int64_t> modifiers;
  for (const Json& item : list(type_name_json, "typmods")) {
    const Node modifier = node(item);
    const Json* value = modifier.kind == "A_Const" ? find(*modifier.body, "ival") : nullptr;
    if (value == nullptr) return Status(ErrorCode::invalid_parameter_value, "type modifiers must be numbers");
    modifiers.push_back(integer(*value, "ival"));
  }
  // The parser has already replaced the standard's spellings by these names. Arrays are written with [].
  const std::optional<TypeId> id = name.starts_with('_') ? std::nullopt : type_named(name);
  if (id) {
    const Type type{*id};
    switch (*id) {
      case TypeId::varchar:
      case TypeId::bpchar:
        if (modifiers.empty()) return type;
        if (modifiers.size() > 1) return Status(ErrorCode::invalid_parameter_value, "invalid type modifier");
        if (modifiers[0] < 1 || modifiers[0] > kMaxTypeLength) {
          return Status(ErrorCode::invalid_parameter_value,
                        std::string("length for type ") + (*id == TypeId::varchar ? "varchar" : "char") +
                            (modifiers[0] < 1 ? " must be at least 1"
                                              : " cannot exceed " + std::to_string(kMaxTypeLength)));
        }
        if (*id == TypeId::bpchar && modifiers[0] > layout::kMaxString_bytes)
          return unsupported("char(n) of more than " + std::to_string(layout::kMaxString_bytes) +
                             " characters");
        return string_type(*id, static_cast<std::uint32_t>(modifiers[0]));
      case TypeId::numeric: {
        if (modifiers.empty()) return type;
        const std::int64_t scale = modifiers.size() > 1 ? modifiers[1] : 0;
        if (modifiers.size() > 2) return Status(ErrorCode::invalid_parameter_value, "invalid type modifier");
        if (modifiers[0] < 1 || modifiers[0] > 1000) {
          return Status(ErrorCode::invalid_parameter_value,
                        "NUMERIC precision " + std::to_string(modifiers[0]) + " must be between 1 and 1000");
        }
        if (modifiers[0] > kMaxDecimalDigits)
          return unsupported("numeric with more than " + std::to_string(kMaxDecimalDigits) + " digits");
        if (scale < 0 || scale > modifiers[0]) return unsupported("numeric scale " + std::to_string(scale));
        return numeric_type(static_cast<unsigned>(modifiers[0]), static_cast<unsigned>(scale));
      }
      case TypeId::timestamp:
      case TypeId::timestamptz:
      case TypeId::time:
      case TypeId::timetz:
        if (modifiers.empty()) return type;
        if (modifiers.size() > 1) return Status(ErrorCode::invalid_parameter_value, "invalid type modifier");
        // PostgreSQL warns, and takes its maximum.
        return Type{*id,
                    static_cast<std::int32_t>(std::clamp<std::int64_t>(modifiers[0], 0, kMostTimeDigits))};
      case TypeId::interval:
        if (modifiers.empty()) return type;
        if (modifiers.size() > 1 && (modifiers[1] < 0 || modifiers[1] > kMaxInterval_digits)) {
          // PostgreSQL warns, and takes its maximum.
          modifiers[1] = kMaxInterval_digits;
        }
        return interval_type(modifiers[0], modifiers.size() > 1 ? std::optional(modifiers[1]) : std::nullopt);
      default:
        if (!modifiers.empty()) {
          return Status(ErrorCode::syntax_error,
                        "type modifier is not allowed for type \"" + std::string(name) + "\"");
        }
        return type;
    }
  }
  if (made) return *made;
  for (const std::string_view other : kOtherTypes) {
    if (other == name) return unsupported("type " + std::string(name));
  }
  return Status(ErrorCode::undefined_object, "type \"" + std::string(name) + "\" does not exist");
}

}  // namespace

Result<Type> bind_type(const Json& type_name_json, const SessionFacts* facts) {
  NAMDB_SQL_CHECK(only(type_name_json, "a type name", {"names", "typmods", "typemod", "arrayBounds"}));
  NAMDB_SQL_ASSIGN(const Type type, bind_plain_type(type_name_json, facts));
  const std::size_t dimensions = list(type_name_json, "arrayBounds").size();
  if (dimensions == 0) return type;
  if (dimensions > 1) return unsupported("an array of several dimensions");
  NAMDB_SQL_ASSIGN(Type array, array_of(type.id));
  array.modifier = type.modifier;
  return array;
}

Result<Type> array_of(TypeId element) {
  const std::optional<TypeId> array = array_type(element);
  if (!array) return unsupported("an array of " + std::string(type_name(element)));
  return Type{*array};
}

namespace {

// A name, and whether a surrounding cast keeps it.
struct Name {
  std::string text;
  bool strong = true;
};

Name name_of(const Json& expression);
std::string name_of_first_column(const Json& query);

Name name_of_subquery(const Json& body) {
  const std::string_view kind = text(body, "subLinkType");
  if (kind == "EXISTS_SUBLINK") return {"exists"};
  if (kind == "ARRAY_SUBLINK") return {"array"};
  if (kind != "EXPR_SUBLINK") return {};
  return {name_of_first_column(*node(*find(body, "subselect")).body)};
}

std::string name_of_first_column(const Json& query) {
  if (const Json* left = find(query, "larg")) return name_of_first_column(*left);
  const Json& targets = list(query, "targetList");
  if (targets.empty()) return "column1";  // of VALUES
  const Json& target = *node(targets[0]).body;
  if (const std::string_view name = text(target, "name"); !name.empty()) return std::string(name);
  return column_name_of(*find(target, "val"));
}

Name name_of(const Json& expression) {
  const Node e = node(expression);
  if (e.kind == "ColumnRef") {
    const std::vector<std::string_view> fields = names(list(*e.body, "fields"));
    if (!fields.empty()) return {std::string(fields.back())};
  } else if (e.kind == "FuncCall") {
    const std::vector<std::string_view> parts = names(list(*e.body, "funcname"));
    if (!parts.empty()) return {std::string(parts.back())};
  } else if (e.kind == "TypeCast") {
    if (const Json* argument = find(*e.body, "arg")) {
      Name inner = name_of(*argument);
      if (inner.strong && !inner.text.empty()) return inner;
    }
    if (const Json* type = find(*e.body, "typeName")) {
      const std::vector<std::string_view> parts = names(list(*type, "names"));
      if (!parts.empty()) return {std::string(parts.back()), false};
    }
  } else if (e.kind == "CaseExpr") {
    if (const Json* otherwise = find(*e.body, "defresult")) {
      Name inner = name_of(*otherwise);
      if (inner.strong && !inner.text.empty()) return inner;
    }
    return {"case", false};
  } else if (e.kind == "A_Indirection") {
    // Of elements and slices: the array's.
    if (const Json* argument = find(*e.body, "arg")) return name_of(*argument);
  } else if (e.kind == "CollateClause") {
    return name_of(*find(*e.body, "arg"));
  } else if (e.kind == "A_ArrayExpr") {
    return {"array"};
  } else if (e.kind == "SubLink") {
    return name_of_subquery(*e.body);
  } else if (e.kind == "CoalesceExpr") {
    return {"coalesce"};
  } else if (e.kind == "MinMaxExpr") {
    return {text(*e.body, "op") == "IS_LEAST" ? "least" : "greatest"};
  } else if (e.kind == "A_Expr" && text(*e.body, "kind") == "AEXPR_NULLIF") {
    return {"nullif"};
  } else if (e.kind == "SQLValueFunction") {
    std::string name = in_lower_case(text(*e.body, "op"));
    if (name.starts_with("svfop_")) name.erase(0, 6);
    if (name.ends_with("_n")) name.resize(name.size() - 2);  // with a precision
    return {name};
  }
  return {};
}

}  // namespace

std::string column_name_of(const Json& expression) {
  Name name = name_of(expression);
  return name.text.empty() ? "?column?" : std::move(name.text);
}

}  // namespace namdb::sql
