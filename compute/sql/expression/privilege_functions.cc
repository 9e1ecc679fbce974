// has_table_privilege() and its like, and pg_has_role().
#include <algorithm>
#include <optional>
#include <string>

#include "compute/sql/catalog/role_texts.h"
#include "compute/sql/expression/catalog_cast.h"
#include "compute/sql/expression/expression.h"
#include "compute/sql/expression/function_tables.h"
#include "compute/sql/expression/statement_state.h"

namespace namdb::sql {
namespace {

using storage::ObjectKind;
using storage::Privileges;
using storage::SecuredObject;

using Arguments = std::span<const Datum>;
using Context = const EvalContext&;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// One of the words of a list such as "SELECT, INSERT WITH GRANT OPTION".
struct WantedPrivilege {
  Privileges privilege = 0;
  bool grant_option = false;
  std::string word;  // upper case, without the option
};

std::vector<WantedPrivilege> wanted_privileges(std::string_view text) {
  std::vector<WantedPrivilege> wanted;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    std::string word(trimmed(text.substr(begin, end - begin)));
    for (char& c : word) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    WantedPrivilege& one = wanted.emplace_back();
    for (const std::string_view option : {" WITH GRANT OPTION", " WITH ADMIN OPTION"}) {
      if (!word.ends_with(option)) continue;
      one.grant_option = true;
      word.resize(word.size() - option.size());
    }
    one.word = trimmed(word);
    one.privilege = privilege_of(one.word);
    begin = end + 1;
  }
  return wanted;
}

Status unknown_privilege(std::string_view text) {
  return Status(ErrorCode::invalid_parameter_value,
                "unrecognized privilege type: \"" + std::string(trimmed(text)) + "\"");
}

// The role that the first argument names, if the function was given one more than `usual`; otherwise the
// current one. While there are no roles there is nothing to tell.
Status asked_role(Context context, Arguments& arguments, std::size_t usual, std::uint32_t& role) {
  role = context.facts->role;
  if (arguments.size() == usual) return {};
  const Datum& named = arguments[0];
  arguments = arguments.subspan(1);
  const storage::Roles* const roles = context.facts->roles.get();
  if (roles == nullptr || roles->empty()) return {};
  const storage::Role* const found =
      named.text.empty() ? find_role(roles, named.integer) : roles->find(named.text);
  if (found != nullptr) {
    role = found->id;
    return {};
  }
  if (named.text == "public" || named.text.empty()) {
    role = storage::kUnknownRole;
    return {};
  }
  return Status(ErrorCode::undefined_object, "role \"" + std::string(named.text) + "\" does not exist");
}

bool has_one(Context context, std::uint32_t role, const SecuredObject& object,
             const std::vector<WantedPrivilege>& wanted) {
  const storage::Roles* const roles = context.facts->roles.get();
  if (roles == nullptr || roles->empty()) return true;
  const Privileges held = roles->privileges(role, object);
  const Privileges options = roles->grant_options(role, object);
  return std::ranges::any_of(wanted, [&](const WantedPrivilege& one) {
    return ((one.grant_option ? options : held) & one.privilege) != 0;
  });
}

Status check_words(std::string_view text, const std::vector<WantedPrivilege>& wanted, Privileges known) {
  for (const WantedPrivilege& one : wanted) {
    if ((one.privilege & known) == 0) return unknown_privilege(text);
  }
  return {};
}

// Of a table, or of a sequence that fills a column.
Status has_relation_privilege(Context context, Arguments arguments, Privileges known, bool of_sequence,
                              Datum& out) {
  out = Datum();
  const std::string_view text = arguments[1].text;
  const std::vector<WantedPrivilege> wanted = wanted_privileges(text);
  if (Status status = check_words(text, wanted, known); !status.ok()) return status;
  const auto role = static_cast<std::uint32_t>(arguments[2].integer);
  const Catalog& catalog = *context.state->catalog;
  const CatalogRelation* relation = nullptr;
  const bool by_name = !arguments[0].text.empty();
  if (by_name) {
    if (Status status = find_relation(catalog, arguments[0].text, relation); !status.ok()) return status;
    // Sequences that fill no column are known by their owners.
    const SecuredObject sequence{ObjectKind::sequence, 0, std::string(arguments[0].text)};
    const storage::Roles* const roles = context.facts->roles.get();
    if (relation == nullptr && of_sequence && roles != nullptr && roles->rights_of(sequence) != nullptr) {
      out = Datum::of_boolean(has_one(context, role, sequence, wanted));
      return {};
    }
    if (relation == nullptr)
      return Status(ErrorCode::undefined_table,
                    "relation \"" + std::string(arguments[0].text) + "\" does not exist");
  } else {
    relation = catalog.find(arguments[0].integer);
    if (relation == nullptr) return {};
  }
  SecuredObject object;
  if (relation->kind == 'S') {
    object = {ObjectKind::sequence, 0, relation->name};
  } else if (of_sequence) {
    return Status(ErrorCode::wrong_object_type, "\"" + relation->name + "\" is not a sequence");
  } else if (relation->system != nullptr || relation->schema == kCatalogSchemaOid) {
    const bool secret = relation->name == "pg_authid" || relation->name == "pg_shadow";
    const bool reads = std::ranges::all_of(wanted, [](const WantedPrivilege& one) {
      return one.privilege == storage::kSelectPrivilege && !one.grant_option;
    });
    const storage::Roles* const roles = context.facts->roles.get();
    const bool all = roles == nullptr || roles->is_superuser(role);
    out = Datum::of_boolean(all || (reads && !secret));
    return {};
  } else if (relation->view != nullptr) {
    object = {ObjectKind::view, 0, relation->name};
  } else {
    object = {ObjectKind::table, relation->table->id, {}};
  }
  out = Datum::of_boolean(has_one(context, role, object, wanted));
  return {};
}

constexpr Privileges kColumnPrivileges = storage::kInsertPrivilege | storage::kSelectPrivilege |
                                         storage::kUpdatePrivilege | storage::kReferencesPrivilege;

// The object of a privilege: a table, a sequence, any column of a table, or the one that is named.
enum class PrivilegeOf : std::uint8_t { table, sequence, any_column, column };

// (relation, privilege), perhaps with a role before, and a column behind the relation.
template <PrivilegeOf kOf>
Status has_privilege(Context context, Arguments arguments, Datum& out) {
  constexpr bool kOfSequence = kOf == PrivilegeOf::sequence;
  constexpr bool kHasColumn = kOf == PrivilegeOf::column;
  constexpr bool kOfColumns = kHasColumn || kOf == PrivilegeOf::any_column;
  std::uint32_t role = 0;
  if (Status status = asked_role(context, arguments, kHasColumn ? 3 : 2, role); !status.ok()) return status;
  const std::array<Datum, 3> given = {arguments[0], arguments[kHasColumn ? 2 : 1], Datum::of_integer(role)};
  const Privileges known = kOfColumns    ? kColumnPrivileges
                           : kOfSequence ? storage::all_privileges(ObjectKind::sequence)
                                         : storage::all_privileges(ObjectKind::table);
  return has_relation_privilege(context, given, known, kOfSequence, out);
}

Status has_schema_privilege(Context context, Arguments arguments, Datum& out) {
  std::uint32_t role = 0;
  if (Status status = asked_role(context, arguments, 2, role); !status.ok()) return status;
  const std::vector<WantedPrivilege> wanted = wanted_privileges(arguments[1].text);
  const Privileges known = storage::all_privileges(ObjectKind::schema);
  if (Status status = check_words(arguments[1].text, wanted, known); !status.ok()) return status;
  const std::string_view name =
      arguments[0].text.empty() ? schema_name(static_cast<Oid>(arguments[0].integer)) : arguments[0].text;
  if (name == "public") {
    out = Datum::of_boolean(has_one(context, role, {ObjectKind::schema, 0, "public"}, wanted));
    return {};
  }
  if (name != kCatalogSchema && name != kInformationSchema)
    return Status(ErrorCode::undefined_schema, "schema \"" + std::string(name) + "\" does not exist");
  const storage::Roles* const roles = context.facts->roles.get();
  const bool uses = std::ranges::any_of(
      wanted, [](const WantedPrivilege& one) { return one.privilege == storage::kUsagePrivilege; });
  out = Datum::of_boolean(uses || roles == nullptr || roles->is_superuser(role));
  return {};
}

// Every role may connect, and make temporary tables; only superusers make schemas.
Status has_database_privilege(Context context, Arguments arguments, Datum& out) {
  std::uint32_t role = 0;
  if (Status status = asked_role(context, arguments, 2, role); !status.ok()) return status;
  const std::vector<WantedPrivilege> wanted = wanted_privileges(arguments[1].text);
  const storage::Roles* const roles = context.facts->roles.get();
  bool has = roles == nullptr || roles->is_superuser(role);
  for (const WantedPrivilege& one : wanted) {
    const bool of_all = one.word == "CONNECT" || one.word == "TEMPORARY" || one.word == "TEMP";
    if (!of_all && one.word != "CREATE") return unknown_privilege(arguments[1].text);
    has = has || (of_all && !one.grant_option);
  }
  out = Datum::of_boolean(has);
  return {};
}

// "p(integer)" or "p".
Status has_function_privilege(Context context, Arguments arguments, Datum& out) {
  std::uint32_t role = 0;
  if (Status status = asked_role(context, arguments, 2, role); !status.ok()) return status;
  const std::vector<WantedPrivilege> wanted = wanted_privileges(arguments[1].text);
  if (Status status = check_words(arguments[1].text, wanted, storage::kExecutePrivilege); !status.ok())
    return status;
  const std::string_view name = arguments[0].text.substr(0, arguments[0].text.find('('));
  std::vector<std::string> parts;
  // By an identity all are PostgreSQL's own functions.
  if (name.empty()) {
    out = Datum::of_boolean(true);
    return {};
  }
  if (Status status = parse_qualified_name(name, parts); !status.ok()) return status;
  out = Datum::of_boolean(has_one(context, role, {ObjectKind::routine, 0, parts.back()}, wanted));
  return {};
}

Status has_role(Context context, Arguments arguments, Datum& out) {
  std::uint32_t member = 0;
  if (Status status = asked_role(context, arguments, 2, member); !status.ok()) return status;
  out = Datum::of_boolean(true);
  const std::vector<WantedPrivilege> wanted = wanted_privileges(arguments[1].text);
  for (const WantedPrivilege& one : wanted) {
    if (one.word != "MEMBER" && one.word != "USAGE") return unknown_privilege(arguments[1].text);
  }
  const storage::Roles* const roles = context.facts->roles.get();
  if (roles == nullptr || roles->empty()) return {};
  const Datum& named = arguments[0];
  const storage::Role* const role =
      named.text.empty() ? find_role(roles, named.integer) : roles->find(named.text);
  if (role == nullptr && !named.text.empty())
    return Status(ErrorCode::undefined_object, "role \"" + std::string(named.text) + "\" does not exist");
  if (role == nullptr) {
    out = Datum::of_boolean(roles->is_superuser(member));
    return {};
  }
  const bool has = std::ranges::any_of(wanted, [&](const WantedPrivilege& one) {
    if (one.grant_option)
      return roles->is_superuser(member) || member == role->id || roles->has_admin_option(member, role->id);
    return one.word == "MEMBER" ? roles->is_member(member, role->id) : roles->inherits(member, role->id);
  });
  out = Datum::of_boolean(has);
  return {};
}

// PostgreSQL's own objects are open to all roles.
Status always_has(Context context, Arguments arguments, Datum& out) {
  std::uint32_t role = 0;
  if (Status status = asked_role(context, arguments, 2, role); !status.ok()) return status;
  out = Datum::of_boolean(true);
  return {};
}

// An overload without a role, one with its name, one with its identity, each with the object's name and with
// its identity.
void add_overloads(std::vector<Function>& functions, Function function) {
  using enum TypeId;
  const std::vector<TypeId> behind(function.parameters.begin() + 1, function.parameters.end());
  const TypeId by_name = function.parameters.front();
  for (const TypeId object : {by_name, oid}) {
    std::vector<TypeId> parameters = {object};
    parameters.insert(parameters.end(), behind.begin(), behind.end());
    function.parameters = parameters;
    functions.push_back(function);
    for (const TypeId role : {name, oid}) {
      function.parameters = {role};
      function.parameters.insert(function.parameters.end(), parameters.begin(), parameters.end());
      functions.push_back(function);
    }
  }
}

std::vector<Function> make_privilege_functions() {
  using enum TypeId;
  std::vector<Function> functions;
  const auto add = [&functions](Function function) { add_overloads(functions, std::move(function)); };
  const auto add_of_catalog = [&add](Function function) {
    function.reads_catalog = true;
    add(std::move(function));
  };
  add_of_catalog({"has_table_privilege", {text, text}, boolean, has_privilege<PrivilegeOf::table>});
  add_of_catalog({"has_sequence_privilege", {text, text}, boolean, has_privilege<PrivilegeOf::sequence>});
  add_of_catalog({"has_any_column_privilege", {text, text}, boolean, has_privilege<PrivilegeOf::any_column>});
  add_of_catalog({"has_column_privilege", {text, text, text}, boolean, has_privilege<PrivilegeOf::column>});
  add_of_catalog({"has_column_privilege", {text, int2, text}, boolean, has_privilege<PrivilegeOf::column>});
  add({"has_schema_privilege", {text, text}, boolean, has_schema_privilege});
  add({"has_database_privilege", {text, text}, boolean, has_database_privilege});
  add({"has_function_privilege", {text, text}, boolean, has_function_privilege});
  add({"has_language_privilege", {text, text}, boolean, always_has});
  add({"has_tablespace_privilege", {text, text}, boolean, always_has});
  add({"has_type_privilege", {text, text}, boolean, always_has});
  add({"pg_has_role", {name, text}, boolean, has_role});
  return functions;
}

}  // namespace

std::span<const Function> privilege_functions() {
  static const std::vector<Function> functions = make_privilege_functions();
  return functions;
}

}  // namespace namdb::sql
