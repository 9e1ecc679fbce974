#include "compute/sql/expression/catalog_cast.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "compute/sql/catalog/definition_text.h"
#include "compute/sql/catalog/type_routines.h"
#include "compute/sql/value/enumeration.h"

namespace namdb::sql {
namespace {

constexpr Oid kTriggerOid = 2279;

Status invalid_name() {
  return Status(ErrorCode::invalid_name, "invalid name syntax");
}

char lower_case(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::optional<Oid> parse_number(std::string_view text) {
  Oid oid = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), oid);
  if (error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  return oid;
}

Datum object(Oid oid, std::string_view name, Arena& arena) {
  Datum datum = Datum::of_integer(oid);
  datum.text = arena.copy(name);
  return datum;
}

std::optional<std::string> name_of_type(Oid oid, bool hides_public) {
  if (oid == 0) return std::nullopt;
  const std::optional<TypeId> type = type_from_oid(oid);
  if (!type || *type == TypeId::unknown) return std::nullopt;
  return shown_type_name({*type}, hides_public);
}

std::optional<std::string> name_of(Oid oid, TypeId to, const Catalog& catalog) {
  switch (to) {
    case TypeId::regclass: {
      const CatalogRelation* const relation = catalog.find(oid);
      return relation == nullptr ? std::nullopt
                                 : std::optional(relation_text(*relation, catalog.hides_public()));
    }
    case TypeId::regtype:
      return name_of_type(oid, catalog.hides_public());
    case TypeId::regnamespace:
      if (std::ranges::find(kSchemaOids, oid) == kSchemaOids.end()) return std::nullopt;
      return std::string(schema_name(oid));
    case TypeId::regproc: {
      if (const auto routine = find_type_routine(oid)) return std::string(routine->name);
      const CatalogRoutine* const routine = catalog.find_routine(std::int64_t{oid});
      return routine == nullptr ? std::nullopt : std::optional(routine->name);
    }
    default:
      return std::nullopt;
  }
}

// "f", or "public.f"; null: there is none.
const CatalogRoutine* find_routine(const Catalog& catalog, std::string_view text) {
  std::vector<std::string> parts;
  if (!parse_qualified_name(text, parts).ok()) return nullptr;
  const bool is_public = parts.size() == 1 || (parts.size() == 2 && parts[0] == "public");
  return is_public ? catalog.find_routine(std::string_view(parts.back())) : nullptr;
}

// The name without the schema pg_catalog.
std::string_view in_catalog(std::string_view name) {
  constexpr std::string_view kSchema = "pg_catalog.";
  return name.starts_with(kSchema) ? name.substr(kSchema.size()) : name;
}

// Of words, as "double precision", or a name in quotes, perhaps behind the schema.
TypeId type_of_name(std::string_view text, const Catalog& catalog) {
  std::vector<std::string> parts;
  if (const TypeId known = find_type(text); known != TypeId::unknown) return known;
  const bool is_array = text.ends_with("[]");
  const std::string_view element = is_array ? text.substr(0, text.size() - 2) : text;
  if (parse_qualified_name(element, parts).ok() &&
      (parts.size() == 1 || (parts.size() == 2 && parts[0] == "public"))) {
    for (const TypeId made : catalog.enumerations()) {
      if (internal_type_name(made) == parts.back()) return is_array ? array_of_made(made) : made;
      if (internal_type_name(array_of_made(made)) == parts.back() && !is_array) return array_of_made(made);
    }
  }
  parts.clear();
  if (text.find('"') == std::string_view::npos || !parse_qualified_name(text, parts).ok())
    return find_type(text);
  const bool is_in_catalog = parts.size() == 1 || (parts.size() == 2 && parts[0] == "pg_catalog");
  return is_in_catalog ? find_type(parts.back()) : TypeId::unknown;
}

Status from_name(std::string_view text, TypeId to, const Catalog& catalog, Arena& arena, Datum& out) {
  const std::string quoted = "\"" + std::string(text) + "\"";
  switch (to) {
    case TypeId::regclass: {
      const CatalogRelation* relation = nullptr;
      if (Status status = find_relation(catalog, text, relation); !status.ok()) return status;
      if (relation == nullptr)
        return Status(ErrorCode::undefined_table, "relation " + quoted + " does not exist");
      out = object(relation->oid, relation_text(*relation, catalog.hides_public()), arena);
      return {};
    }
    case TypeId::regtype: {
      // That of functions of triggers, which psql asks for; there are none.
      if (text == "trigger" || text == "pg_catalog.trigger") {
        out = object(kTriggerOid, "trigger", arena);
        return {};
      }
      const TypeId type = type_of_name(text, catalog);
      if (type == TypeId::unknown)
        return Status(ErrorCode::undefined_object, "type " + quoted + " does not exist");
      out = object(type_oid(type), shown_type_name({type}, catalog.hides_public()), arena);
      return {};
    }
    case TypeId::regnamespace:
      for (const Oid schema : kSchemaOids) {
        if (schema_name(schema) != text) continue;
        out = object(schema, text, arena);
        return {};
      }
      return Status(ErrorCode::undefined_schema, "schema " + quoted + " does not exist");
    case TypeId::regproc:
      if (const CatalogRoutine* const routine = find_routine(catalog, text)) {
        out = object(routine->oid, routine->name, arena);
        return {};
      }
      if (const auto routine = find_type_routine(in_catalog(text))) {
        out = object(routine->oid, routine->name, arena);
        return {};
      }
      return Status(ErrorCode::undefined_function, "function " + quoted + " does not exist");
    default:
      return Status(ErrorCode::undefined_object, "role " + quoted + " does not exist");
  }
}

}  // namespace

Status parse_qualified_name(std::string_view text, std::vector<std::string>& parts) {
  std::size_t at = 0;
  const auto skip_blanks = [&text, &at] {
    while (at < text.size() && (text[at] == ' ' || (text[at] >= '\t' && text[at] <= '\r'))) ++at;
  };
  while (true) {
    skip_blanks();
    std::string part;
    if (at < text.size() && text[at] == '"') {
      while (++at < text.size()) {
        if (text[at] == '"' && (at + 1 == text.size() || text[at + 1] != '"')) break;
        if (text[at] == '"') ++at;
        part += text[at];
      }
      if (at == text.size()) return invalid_name();
      ++at;
    } else {
      while (at < text.size() && text[at] != '.' && text[at] != ' ' && text[at] != '"')
        part += lower_case(text[at++]);
    }
    if (part.empty()) return invalid_name();
    parts.push_back(std::move(part));
    skip_blanks();
    if (at == text.size()) return {};
    if (text[at++] != '.') return invalid_name();
  }
}

Status find_relation(const Catalog& catalog, std::string_view name, const CatalogRelation*& relation) {
  std::vector<std::string> parts;
  if (Status status = parse_qualified_name(name, parts); !status.ok()) return status;
  if (parts.size() > 3)
    return Status(ErrorCode::syntax_error,
                  "improper qualified name (too many dotted names): " + std::string(name));
  if (parts.size() == 3 && parts[0] != catalog.database()) {
    return Status(ErrorCode::feature_not_supported, "cross-database references are not implemented: \"" +
                                                        parts[0] + "." + parts[1] + "." + parts[2] + "\"");
  }
  if (parts.size() == 3) parts.erase(parts.begin());
  relation = catalog.find(parts.size() == 2 ? parts[0] : std::string_view(), parts.back());
  return {};
}

TypeId find_type(std::string_view name) {
  if (name.starts_with("pg_catalog.")) name.remove_prefix(std::string_view("pg_catalog.").size());
  for (const TypeId type : all_types()) {
    if (name == type_name(type) || name == internal_type_name(type)) return type;
    if (type_name(type).ends_with("[]") && name == std::string(internal_type_name(element_type(type))) + "[]")
      return type;
  }
  if (name == "int") return TypeId::int4;
  if (name == "char") return TypeId::bpchar;
  if (name == "decimal") return TypeId::numeric;
  return TypeId::unknown;
}

Status cast_to_catalog_object(const Datum& in, TypeId from, TypeId to, const Catalog& catalog, Arena& arena,
                              Datum& out) {
  Oid oid = static_cast<Oid>(in.integer);
  if (Type{from}.is_string() || from == TypeId::unknown) {
    if (in.text == "-") {
      out = object(0, "-", arena);
      return {};
    }
    const std::optional<Oid> number = parse_number(in.text);
    if (!number) return from_name(in.text, to, catalog, arena, out);
    oid = *number;
  } else if (in.integer < INT32_MIN || in.integer > std::int64_t{UINT32_MAX}) {
    return Status(ErrorCode::numeric_out_of_range, "OID out of range");
  }
  if (oid == 0) {
    out = object(0, "-", arena);
    return {};
  }
  const std::optional<std::string> name = name_of(oid, to, catalog);
  out = object(oid, name ? *name : std::to_string(oid), arena);
  return {};
}

}  // namespace namdb::sql
