// Functions of the catalog, as PostgreSQL's clients call them.
#include <array>
#include <optional>
#include <string>

#include "compute/sql/catalog/definition_text.h"
#include "compute/sql/catalog/role_texts.h"
#include "compute/sql/expression/catalog_cast.h"
#include "compute/sql/expression/expression.h"
#include "compute/sql/expression/function_tables.h"
#include "compute/sql/expression/statement_state.h"
#include "compute/sql/value/array.h"

namespace namdb::sql {
namespace {

using Arguments = std::span<const Datum>;
using Context = const EvalContext&;

void give_text(Context context, std::string_view text, Datum& out) {
  out = Datum::of_text(context.arena->copy(text));
}

const CatalogRelation* relation_of(Context context, const Datum& oid) {
  return context.state->catalog->find(oid.integer);
}

// The name of a type with its modifier, as a column's definition has it.
Status format_type(Context context, Arguments arguments, Datum& out) {
  out = Datum();
  if (arguments[0].null) return {};
  if (arguments[0].integer == 0) {
    give_text(context, "-", out);
    return {};
  }
  const std::optional<TypeId> id = type_from_oid(static_cast<Oid>(arguments[0].integer));
  if (!id || *id == TypeId::unknown) {
    give_text(context, "???", out);
    return {};
  }
  Type type{*id};
  if (!arguments[1].null) type.modifier = static_cast<std::int32_t>(arguments[1].integer);
  std::string name = shown_type_name(type, context.state->catalog->hides_public());
  // Without a length, char would be char(1).
  if (*id == TypeId::bpchar && type.modifier < 0 && !arguments[1].null) name = "bpchar";
  give_text(context, name, out);
  return {};
}

// Expressions are kept as text.
Status expression_of(Context context, Arguments arguments, Datum& out) {
  out = arguments[0];
  if (arguments.size() > 2 && arguments[2].is_true()) give_text(context, pretty_expression(out.text), out);
  return {};
}

Status index_definition(Context context, Arguments arguments, Datum& out) {
  const CatalogRelation* const index = relation_of(context, arguments[0]);
  out = Datum();
  if (index == nullptr || index->kind != 'i') return {};
  const std::int64_t column = arguments.size() > 1 ? arguments[1].integer : 0;
  if (column == 0) {
    const bool pretty = arguments.size() > 2 && arguments[2].is_true();
    give_text(context, index_text(*index, !pretty), out);
    return {};
  }
  const std::vector<layout::IndexColumn> columns = Catalog::columns_of(*index);
  if (column < 1 || column > static_cast<std::int64_t>(columns.size())) {
    give_text(context, "", out);
    return {};
  }
  const std::uint32_t position = columns[static_cast<std::size_t>(column - 1)].column;
  const bool pretty = arguments.size() > 2 && arguments[2].is_true();
  give_text(context, index_column_text(index->table->schema, position, pretty), out);
  return {};
}

// A constraint has the identity of its index.
Status constraint_definition(Context context, Arguments arguments, Datum& out) {
  const CatalogRelation* const index = relation_of(context, arguments[0]);
  out = Datum();
  const bool pretty = arguments.size() > 1 && arguments[1].integer != 0;
  if (index != nullptr && index->is_constraint())
    give_text(context, constraint_text(*index, pretty, context.state->catalog->hides_public()), out);
  return {};
}

Status view_definition(Context context, Arguments arguments, Datum& out) {
  const CatalogRelation* const relation = relation_of(context, arguments[0]);
  out = Datum();
  if (relation != nullptr && relation->view != nullptr) give_text(context, view_text(*relation), out);
  return {};
}

Status is_visible(Context context, Arguments arguments, Datum& out) {
  const CatalogRelation* const relation = relation_of(context, arguments[0]);
  const bool hides_public = context.state->catalog->hides_public();
  out = relation == nullptr ? Datum()
                            : Datum::of_boolean(relation->schema == kCatalogSchemaOid ||
                                                (relation->schema == kPublicSchemaOid && !hides_public));
  return {};
}

// nullopt: no role has that identity.
std::optional<std::string> name_of_user(Context context, std::int64_t oid) {
  const storage::Roles* const roles = context.facts->roles.get();
  const bool no_roles = roles == nullptr || roles->empty();
  if (const storage::Role* const role = find_role(roles, oid)) return role->name;
  if (oid == kOwnerOid && no_roles) return context.facts->user;
  if (oid == kDatabaseOwnerOid) return std::string(kDatabaseOwner);
  return std::nullopt;
}

Status user_of(Context context, Arguments arguments, Datum& out) {
  const std::int64_t oid = arguments[0].integer;
  give_text(context, name_of_user(context, oid).value_or("unknown (OID=" + std::to_string(oid) + ")"), out);
  return {};
}

Status default_privileges(Context context, Arguments arguments, Datum& out) {
  const std::string_view kind = arguments[0].text;
  const std::int64_t oid = arguments[1].integer;
  const auto grants = default_grant_texts(kind.empty() ? ' ' : kind.front(),
                                          name_of_user(context, oid).value_or(std::to_string(oid)));
  if (!grants) return Status(ErrorCode::internal, "unrecognized objtype abbreviation: " + std::string(kind));
  ArrayWriter texts(TypeId::text_array);
  for (const std::string& grant : *grants) texts.add(Datum::of_text(grant));
  out = texts.finish(*context.arena);
  return {};
}

template <TypeId kType>
Status to_object(Context context, Arguments arguments, Datum& out) {
  Status status =
      cast_to_catalog_object(arguments[0], TypeId::text, kType, *context.state->catalog, *context.arena, out);
  if (!status.ok() && status.code() != ErrorCode::invalid_name) {
    out = Datum();
    return {};
  }
  return status;
}

Status current_schemas(Context context, Arguments arguments, Datum& out) {
  ArrayWriter schemas(TypeId::name_array);
  if (arguments[0].is_true()) schemas.add(Datum::of_text(kCatalogSchema));
  if (!context.facts->hides_public) schemas.add(Datum::of_text("public"));
  out = schemas.finish(*context.arena);
  return {};
}

constexpr std::int64_t kUtf8 = 6;  // PostgreSQL's number of it

Status encoding_name(Context, Arguments arguments, Datum& out) {
  out = Datum::of_text(arguments[0].integer == kUtf8 ? "UTF8" : "");
  return {};
}

Status encoding_number(Context, Arguments arguments, Datum& out) {
  std::string name(arguments[0].text);
  for (char& c : name) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  out = Datum::of_integer(name == "UTF8" || name == "UTF-8" ? kUtf8 : -1);
  return {};
}

Status database_encoding(Context, Arguments, Datum& out) {
  out = Datum::of_text("UTF8");
  return {};
}

Status quote_name(Context context, Arguments arguments, Datum& out) {
  give_text(context, quote_identifier(arguments[0].text), out);
  return {};
}

Status quote_text(Context context, Arguments arguments, Datum& out) {
  give_text(context, quote_literal(arguments[0].text), out);
  return {};
}

template <bool kValue>
Status always(Context, Arguments, Datum& out) {
  out = Datum::of_boolean(kValue);
  return {};
}

// A text of a routine; NULL: there is no such routine, or it has none.
template <std::string CatalogRoutine::* kText>
Status routine_text(Context context, Arguments arguments, Datum& out) {
  const CatalogRoutine* const routine = context.state->catalog->find_routine(arguments[0].integer);
  out = Datum();
  if (routine == nullptr) return {};
  const bool is_known = kText != &CatalogRoutine::result_text && kText != &CatalogRoutine::definition;
  if (is_known || !(routine->*kText).empty()) give_text(context, routine->*kText, out);
  return {};
}

// Of features that namdb does not have: rules, triggers, comments, sizes.
Status nothing(Context, Arguments, Datum& out) {
  out = Datum();
  return {};
}

Status zero(Context, Arguments, Datum& out) {
  out = Datum::of_integer(0);
  return {};
}

Function reads_catalog(Function function) {
  function.reads_catalog = true;
  return function;
}

std::vector<Function> make_functions() {
  using enum TypeId;
  std::vector<Function> functions = {
      reads_catalog({"pg_get_indexdef", {oid}, text, index_definition}),
      reads_catalog({"pg_get_indexdef", {oid, int4, boolean}, text, index_definition}),
      reads_catalog({"pg_get_constraintdef", {oid}, text, constraint_definition}),
      reads_catalog({"pg_get_constraintdef", {oid, boolean}, text, constraint_definition}),
      reads_catalog({"pg_table_is_visible", {oid}, boolean, is_visible}),
      reads_catalog({"to_regclass", {text}, regclass, to_object<regclass>}),
      reads_catalog({"to_regtype", {text}, regtype, to_object<regtype>}),
      reads_catalog({"to_regnamespace", {text}, regnamespace, to_object<regnamespace>}),
      {"pg_get_expr", {text, oid}, text, expression_of},
      {"pg_get_expr", {text, oid, boolean}, text, expression_of},
      {"pg_get_userbyid", {oid}, name, user_of},
      {"acldefault", {char1, oid}, text_array, default_privileges},
      {"current_schemas", {boolean}, name_array, current_schemas},
      {"pg_encoding_to_char", {int4}, name, encoding_name},
      {"pg_char_to_encoding", {name}, int4, encoding_number},
      {"getdatabaseencoding", {}, name, database_encoding},
      {"quote_ident", {text}, text, quote_name},
      {"quote_literal", {text}, text, quote_text},
      {"pg_relation_is_publishable", {regclass}, boolean, always<true>},
      {"pg_is_other_temp_schema", {oid}, boolean, always<false>},
      {"pg_my_temp_schema", {}, oid, zero},
      {"obj_description", {oid, name}, text, nothing},
      {"obj_description", {oid}, text, nothing},
      {"shobj_description", {oid, name}, text, nothing},
      {"col_description", {oid, int4}, text, nothing},
      {"pg_relation_size", {regclass}, int8, nothing},
      {"pg_table_size", {regclass}, int8, nothing},
      {"pg_indexes_size", {regclass}, int8, nothing},
      {"pg_total_relation_size", {regclass}, int8, nothing},
      {"pg_database_size", {name}, int8, nothing},
      {"pg_database_size", {oid}, int8, nothing},
      {"pg_tablespace_size", {oid}, int8, nothing},
      {"pg_tablespace_location", {oid}, text, nothing},
      {"pg_get_statisticsobjdef_columns", {oid}, text, nothing},
      reads_catalog({"pg_get_viewdef", {oid}, text, view_definition}),
      reads_catalog({"pg_get_viewdef", {oid, boolean}, text, view_definition}),
      {"pg_get_ruledef", {oid}, text, nothing},
      {"pg_get_ruledef", {oid, boolean}, text, nothing},
      {"pg_get_triggerdef", {oid}, text, nothing},
      {"pg_get_triggerdef", {oid, boolean}, text, nothing},
      {"pg_get_partkeydef", {oid}, text, nothing},
      reads_catalog({"pg_get_functiondef", {oid}, text, routine_text<&CatalogRoutine::definition>}),
      reads_catalog({"pg_get_function_arguments", {oid}, text, routine_text<&CatalogRoutine::arguments>}),
      reads_catalog({"pg_get_function_identity_arguments",
                     {oid},
                     text,
                     routine_text<&CatalogRoutine::identity_arguments>}),
      reads_catalog({"pg_get_function_result", {oid}, text, routine_text<&CatalogRoutine::result_text>}),
      {"pg_get_function_sqlbody", {oid}, text, nothing},
  };
  Function format = reads_catalog({"format_type", {oid, int4}, text, format_type});
  format.nulls = true;
  functions.push_back(format);
  // All objects of these kinds are PostgreSQL's own.
  for (const std::string_view function :
       {"pg_type_is_visible", "pg_function_is_visible", "pg_operator_is_visible", "pg_opclass_is_visible",
        "pg_opfamily_is_visible", "pg_collation_is_visible", "pg_conversion_is_visible",
        "pg_statistics_obj_is_visible", "pg_ts_config_is_visible", "pg_ts_dict_is_visible",
        "pg_ts_parser_is_visible", "pg_ts_template_is_visible"})
    functions.push_back({function, {oid}, boolean, always<true>});
  return functions;
}

}  // namespace

std::span<const Function> catalog_functions() {
  static const std::vector<Function> functions = make_functions();
  return functions;
}

}  // namespace namdb::sql
