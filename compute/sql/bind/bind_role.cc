// Statements about roles, privileges and owners. Names are looked up when they run.
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "compute/sql/bind/bind_enumeration.h"
#include "compute/sql/bind/bind_role.h"
#include "compute/sql/bind/bind_statement.h"
#include "compute/sql/bind/check_status.h"
#include "compute/sql/catalog/role_texts.h"

namespace namdb::sql {
namespace {

using storage::ObjectKind;
using storage::Privileges;

Plan role_plan(std::string_view tag, RolePlan role) {
  Plan plan;
  plan.tag = tag;
  plan.body = std::move(role);
  return plan;
}

std::vector<RoleName> bind_role_names(const Json& roles) {
  std::vector<RoleName> bound;
  for (const Json& item : roles) bound.push_back(bind_role_name(*node(item).body));
  return bound;
}

Status repeated_option(const StatementBinder& binder, const Json& option) {
  return located(binder.input.place, option,
                 Status(ErrorCode::syntax_error, "conflicting or redundant options"));
}

struct SwitchOption {
  std::string_view name;
  std::optional<bool> RoleOptions::* member;
};
constexpr std::array kSwitches = {SwitchOption{"superuser", &RoleOptions::superuser},
                                  SwitchOption{"canlogin", &RoleOptions::login},
                                  SwitchOption{"inherit", &RoleOptions::inherit},
                                  SwitchOption{"createrole", &RoleOptions::create_role},
                                  SwitchOption{"createdb", &RoleOptions::create_database},
                                  SwitchOption{"isreplication", &RoleOptions::replication},
                                  SwitchOption{"bypassrls", &RoleOptions::bypass_row_security}};

// The role lists of CREATE ROLE and ALTER GROUP.
struct RoleLists {
  std::vector<RoleName>* member_of = nullptr;
  std::vector<RoleName>* members = nullptr;
  std::vector<RoleName>* admins = nullptr;
};

Status bind_role_option(const StatementBinder& binder, const Json& option, RoleOptions& options,
                        const RoleLists& lists) {
  const std::string_view name = text(option, "defname");
  const Json* const argument = find(option, "arg");
  const Node value = argument == nullptr ? Node() : node(*argument);
  for (const SwitchOption& known : kSwitches) {
    if (known.name != name) continue;
    if (options.*known.member) return repeated_option(binder, option);
    options.*known.member = value.body != nullptr && flag(*value.body, "boolval");
    return {};
  }
  if (name == "password") {
    if (options.has_password) return repeated_option(binder, option);
    options.has_password = true;
    if (value.body != nullptr) options.password = std::string(text(*value.body, "sval"));
    return {};
  }
  if (name == "connectionlimit") {
    if (options.connection_limit) return repeated_option(binder, option);
    const std::int64_t limit = value.body == nullptr ? -1 : integer(*value.body, "ival");
    if (limit < -1) {
      return Status(ErrorCode::invalid_parameter_value, "invalid connection limit: " + std::to_string(limit));
    }
    options.connection_limit = static_cast<std::int32_t>(limit);
    return {};
  }
  if (name == "validUntil") {
    if (options.valid_until) return repeated_option(binder, option);
    options.valid_until = value.body == nullptr ? std::string() : std::string(text(*value.body, "sval"));
    return {};
  }
  if (name == "sysid") return {};
  std::vector<RoleName>* const list_of = name == "addroleto"      ? lists.member_of
                                         : name == "rolemembers"  ? lists.members
                                         : name == "adminmembers" ? lists.admins
                                                                  : nullptr;
  if (list_of == nullptr) return unsupported("role option " + std::string(name));
  if (!list_of->empty()) return repeated_option(binder, option);
  *list_of = bind_role_names(list(*value.body, "items"));
  return {};
}

std::string upper_case(std::string_view word) {
  std::string upper(word);
  for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return upper;
}

struct ObjectWord {
  std::string_view type;  // the grammar's
  ObjectKind kind;
  std::string_view word;
};
constexpr std::array kObjectWords = {ObjectWord{"OBJECT_TABLE", ObjectKind::table, "table"},
                                     ObjectWord{"OBJECT_SEQUENCE", ObjectKind::sequence, "sequence"},
                                     ObjectWord{"OBJECT_PROCEDURE", ObjectKind::routine, "procedure"},
                                     ObjectWord{"OBJECT_FUNCTION", ObjectKind::routine, "function"},
                                     ObjectWord{"OBJECT_ROUTINE", ObjectKind::routine, "routine"},
                                     ObjectWord{"OBJECT_SCHEMA", ObjectKind::schema, "schema"}};

// "DATABASE" of OBJECT_DATABASE.
std::string word_of_type(std::string_view type) {
  if (type.starts_with("OBJECT_")) type.remove_prefix(7);
  std::string word(type);
  for (char& c : word) c = c == '_' ? ' ' : c;
  return word;
}

Result<NamedObjects::Object> bind_named_object(const StatementBinder& binder, const Json& item,
                                               ObjectKind kind) {
  NamedObjects::Object object;
  const Node name = node(item);
  if (kind == ObjectKind::schema) {
    object.name = text(*name.body, "sval");
    if (object.name != "public") {
      return Status(ErrorCode::undefined_schema, "schema \"" + object.name + "\" does not exist",
                    "the one schema is public");
    }
  } else if (kind == ObjectKind::routine) {
    const std::vector<std::string_view> parts = names(list(*name.body, "objname"));
    if (parts.empty() || parts.size() > 2) return unsupported("a name with a database");
    if (parts.size() == 2) NAMDB_SQL_CHECK(check_schema(parts[0]));
    object.name = parts.back();
    if (!flag(*name.body, "args_unspecified")) {
      object.types.emplace();
      for (const Json& argument : list(*name.body, "objargs")) {
        NAMDB_SQL_ASSIGN(const Type type, bind_type(*node(argument).body, binder.input.facts));
        object.types->push_back(type.id);
      }
    }
  } else {
    const Json& range_var = name.kind == "RangeVar" ? *name.body : item;
    Result<std::string> relation = relation_name(range_var);
    if (!relation.ok()) return located(binder.input.place, range_var, relation.status());
    object.name = *std::move(relation);
  }
  return object;
}

Result<NamedObjects> bind_objects(std::string_view type, std::string_view what) {
  NamedObjects objects;
  for (const ObjectWord& known : kObjectWords) {
    if (known.type != type) continue;
    objects.kind = known.kind;
    objects.word = known.word;
    return objects;
  }
  return unsupported(std::string(what) + " ON " + word_of_type(type));
}

}  // namespace

RoleName bind_role_name(const Json& spec) {
  const std::string_view type = text(spec, "roletype");
  if (type == "ROLESPEC_PUBLIC") return {RoleName::Kind::everybody, "public"};
  if (type == "ROLESPEC_SESSION_USER") return {RoleName::Kind::session, {}};
  if (type == "ROLESPEC_CURRENT_USER" || type == "ROLESPEC_CURRENT_ROLE")
    return {RoleName::Kind::current, {}};
  return {RoleName::Kind::named, std::string(text(spec, "rolename"))};
}

Result<Plan> bind_create_role(StatementBinder& binder, const Json& body) {
  NAMDB_SQL_CHECK(only(body, "CREATE ROLE", {"stmt_type", "role", "options"}));
  CreateRolePlan create;
  create.name = text(body, "role");
  const bool is_user = text(body, "stmt_type") == "ROLESTMT_USER";
  const RoleLists lists{&create.member_of, &create.members, &create.admins};
  for (const Json& item : list(body, "options"))
    NAMDB_SQL_CHECK(bind_role_option(binder, *node(item).body, create.options, lists));
  if (!create.options.login) create.options.login = is_user;
  return role_plan("CREATE ROLE", {std::move(create)});
}

Result<Plan> bind_alter_role(StatementBinder& binder, const Json& body) {
  NAMDB_SQL_CHECK(only(body, "ALTER ROLE", {"role", "options", "action"}));
  AlterRolePlan alter;
  alter.role = bind_role_name(*find(body, "role"));
  const RoleLists lists{nullptr, &alter.members, nullptr};
  for (const Json& item : list(body, "options")) {
    const Json& option = *node(item).body;
    alter.of_members = alter.of_members || text(option, "defname") == "rolemembers";
    NAMDB_SQL_CHECK(bind_role_option(binder, option, alter.options, lists));
  }
  alter.adds_members = integer(body, "action") > 0;
  return role_plan("ALTER ROLE", {std::move(alter)});
}

Result<Plan> bind_rename_role(const Json& body) {
  RenameRolePlan rename{std::string(text(body, "subname")), std::string(text(body, "newname"))};
  return role_plan("ALTER ROLE", {std::move(rename)});
}

Result<Plan> bind_drop_role(const Json& body) {
  NAMDB_SQL_CHECK(only(body, "DROP ROLE", {"roles", "missing_ok"}));
  DropRolePlan drop;
  drop.roles = bind_role_names(list(body, "roles"));
  drop.if_exists = flag(body, "missing_ok");
  return role_plan("DROP ROLE", {std::move(drop)});
}

Result<Plan> bind_grant_role(const Json& body) {
  NAMDB_SQL_CHECK(only(body, "GRANT",
                       {"granted_roles", "grantee_roles", "is_grant", "admin_opt", "grantor", "behavior"}));
  GrantRolePlan grant;
  grant.is_grant = flag(body, "is_grant");
  grant.admin_option = flag(body, "admin_opt");
  for (const Json& item : list(body, "granted_roles")) {
    const Json& role = *node(item).body;
    if (find(role, "cols") != nullptr) {
      return Status(ErrorCode::invalid_grant_operation,
                    "column names cannot be included in GRANT/REVOKE ROLE");
    }
    grant.roles.emplace_back(text(role, "priv_name"));
  }
  grant.members = bind_role_names(list(body, "grantee_roles"));
  if (const Json* const grantor = find(body, "grantor")) grant.grantor = bind_role_name(*grantor);
  const std::string_view tag = grant.is_grant ? "GRANT ROLE" : "REVOKE ROLE";
  return role_plan(tag, {std::move(grant)});
}

Result<Plan> bind_grant(StatementBinder& binder, const Json& body) {
  GrantPlan grant;
  grant.is_grant = flag(body, "is_grant");
  const std::string_view statement = grant.is_grant ? "GRANT" : "REVOKE";
  NAMDB_SQL_CHECK(only(body, statement,
                       {"is_grant", "targtype", "objtype", "objects", "privileges", "grantees",
                        "grant_option", "grantor", "behavior"}));
  NAMDB_SQL_ASSIGN(grant.on, bind_objects(text(body, "objtype"), statement));
  for (const Json& item : list(body, "privileges")) {
    const Json& privilege = *node(item).body;
    if (find(privilege, "cols") != nullptr) return unsupported("a privilege of columns");
    const std::string_view name = text(privilege, "priv_name");
    const Privileges bit = privilege_of(name);
    const bool is_other =
        name == "temporary" || name == "temp" || name == "connect" || name == "set" || name == "alter system";
    if (bit == 0 && !is_other) {
      return Status(ErrorCode::syntax_error, "unrecognized privilege type \"" + std::string(name) + "\"");
    }
    // Behind TABLE, or nothing, the name of a sequence will do.
    const Privileges known =
        storage::all_privileges(grant.on.kind) |
        (grant.on.kind == ObjectKind::table ? storage::all_privileges(ObjectKind::sequence) : 0);
    if (is_other || (known & bit) == 0) {
      const std::string word = grant.on.kind == ObjectKind::table ? "relation" : std::string(grant.on.word);
      return Status(ErrorCode::invalid_grant_operation,
                    "invalid privilege type " + upper_case(name) + " for " + word);
    }
    grant.privileges |= bit;
  }
  grant.all_privileges = grant.privileges == 0;
  if (grant.all_privileges) grant.privileges = ~Privileges{0};
  grant.on.all_in_schema = text(body, "targtype") == "ACL_TARGET_ALL_IN_SCHEMA";
  for (const Json& item : list(body, "objects")) {
    const ObjectKind kind = grant.on.all_in_schema ? ObjectKind::schema : grant.on.kind;
    NAMDB_SQL_ASSIGN(NamedObjects::Object object, bind_named_object(binder, item, kind));
    grant.on.objects.push_back(std::move(object));
  }
  grant.grantees = bind_role_names(list(body, "grantees"));
  grant.grant_option = flag(body, "grant_option");
  grant.cascades = text(body, "behavior") == "DROP_CASCADE";
  if (const Json* const grantor = find(body, "grantor")) grant.grantor = bind_role_name(*grantor);
  return role_plan(statement, {std::move(grant)});
}

Result<Plan> bind_change_owner(StatementBinder& binder, const Json& body) {
  ChangeOwnerPlan change;
  const std::string_view type = text(body, "objectType");
  if (type == "OBJECT_TYPE") {
    change.of.kind = ObjectKind::routine;
    change.of.word = "type";
    NamedObjects::Object object;
    NAMDB_SQL_ASSIGN(const std::string name,
                     bind_type_name(list(*node(*find(body, "object")).body, "items")));
    object.name = type_key(name);
    change.of.objects.push_back(std::move(object));
    change.owner = bind_role_name(*find(body, "newowner"));
    return role_plan("ALTER TYPE", {std::move(change)});
  }
  NAMDB_SQL_ASSIGN(change.of, bind_objects(type, "ALTER ... OWNER TO"));
  if (change.of.kind == ObjectKind::schema) {
    // As scripts have it that were dumped elsewhere.
    if (bind_role_name(*find(body, "newowner")).name != kDatabaseOwner)
      return unsupported("ALTER SCHEMA ... OWNER TO");
    Plan plan;
    plan.tag = "ALTER SCHEMA";
    plan.body = NothingPlan{"ALTER SCHEMA ... OWNER TO has nothing to do: that is the owner of public"};
    return plan;
  }
  NAMDB_SQL_ASSIGN(NamedObjects::Object object,
                   bind_named_object(binder, *find(body, "object"), change.of.kind));
  change.of.objects.push_back(std::move(object));
  change.owner = bind_role_name(*find(body, "newowner"));
  const std::string_view tag = type == "OBJECT_PROCEDURE"  ? "ALTER PROCEDURE"
                               : type == "OBJECT_FUNCTION" ? "ALTER FUNCTION"
                                                           : "ALTER ROUTINE";
  return role_plan(tag, {std::move(change)});
}

Result<std::optional<Plan>> bind_relation_owner(StatementBinder& binder, const Json& body) {
  const Json& commands = list(body, "cmds");
  if (commands.size() != 1) return std::optional<Plan>();
  const Json& command = *node(commands[0]).body;
  const std::string_view type = text(body, "objtype");
  const bool is_view = type == "OBJECT_VIEW";
  if (text(command, "subtype") != "AT_ChangeOwner" ||
      (type != "OBJECT_TABLE" && type != "OBJECT_SEQUENCE" && !is_view))
    return std::optional<Plan>();
  ChangeOwnerPlan change;
  // Views are named as tables are.
  NAMDB_SQL_ASSIGN(change.of, bind_objects(is_view ? "OBJECT_TABLE" : type, "ALTER ... OWNER TO"));
  NAMDB_SQL_ASSIGN(NamedObjects::Object object,
                   bind_named_object(binder, *find(body, "relation"), change.of.kind));
  change.of.objects.push_back(std::move(object));
  change.owner = bind_role_name(*find(command, "newowner"));
  change.if_exists = flag(body, "missing_ok");
  const std::string_view tag = is_view                  ? "ALTER VIEW"
                               : type == "OBJECT_TABLE" ? "ALTER TABLE"
                                                        : "ALTER SEQUENCE";
  return std::optional<Plan>(role_plan(tag, {std::move(change)}));
}

Result<Plan> bind_reassign_owned(const Json& body) {
  ReassignOwnedPlan reassign{bind_role_names(list(body, "roles")), bind_role_name(*find(body, "newrole"))};
  return role_plan("REASSIGN OWNED", {std::move(reassign)});
}

Result<Plan> bind_drop_owned(const Json& body) {
  DropOwnedPlan drop{bind_role_names(list(body, "roles"))};
  return role_plan("DROP OWNED", {std::move(drop)});
}

}  // namespace namdb::sql
