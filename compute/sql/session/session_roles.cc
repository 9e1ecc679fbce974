// Statements about roles, privileges and owners: the objects that they name, and the change, which is made
// again if others changed roles meanwhile. They take effect at once, in blocks, too.
#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "compute/api/long_value_tables.h"
#include "compute/sql/execute/inner_sink.h"
#include "compute/sql/session/catalog_definitions.h"
#include "compute/sql/session/find_relation.h"
#include "compute/sql/session/grant_change.h"
#include "compute/sql/session/role_change.h"
#include "compute/sql/session/routine_types.h"
#include "compute/sql/session/session.h"
#include "compute/sql/system/server_table.h"
#include "compute/sql/value/sequence_default.h"

namespace namdb::sql {

using reactor::Task;
using storage::ObjectKind;

namespace {

constexpr int kMaxRoleTries = 32;

std::vector<std::string> sequences_of(const storage::Table& table) {
  std::vector<std::string> names;
  for (const layout::Column& column : table.schema.columns()) {
    if (const auto filled = owned_sequence_of(column)) names.push_back(filled->name);
  }
  return names;
}

Status no_such_relation(const std::string& name) {
  return Status(ErrorCode::undefined_table, "relation \"" + name + "\" does not exist");
}

}  // namespace

Task<Status> Session::change_roles(const RoleChangeMaker* make, ResultSink* sink,
                                   std::vector<FoundObject>* secured) {
  for (int i = 0; i < kMaxRoleTries; ++i) {
    const auto roles = co_await engine_.roles();
    if (!roles.ok()) co_return roles.status();
    const storage::RolesRef known = *roles;
    // Tables are read after the roles: an entry of rights without a table is one of a table that is gone.
    if (secured != nullptr) {
      secured->clear();
      const Status found = co_await find_secured(secured);
      if (!found.ok()) co_return found;
    }
    follow_roles();
    RoleActor actor(facts_, *known);
    actor.current = facts_.role;
    actor.session = facts_.session_role;
    auto change = (*make)(actor);
    error_.detail = actor.detail;
    if (!change.ok()) co_return change.status();
    std::erase_if(change->roles, [&known](const storage::Role& role) {
      const storage::Role* const old = known->find(role.id);
      return old != nullptr && *old == role;
    });
    std::erase_if(change->rights, [&known](const storage::ObjectRights& rights) {
      const storage::ObjectRights* const old = known->rights_of(rights.object);
      return old != nullptr && *old == rights;
    });
    Status status;
    if (!change->empty()) {
      txn::RoleChange made = *std::move(change);
      status = co_await engine_.change_roles(std::move(made));
    }
    follow_roles();
    if (!status.ok() && status.code() == ErrorCode::catalog_changed) continue;
    if (!status.ok()) co_return status;
    for (const RoleNotice& message : actor.notices)
      notify(*sink, message.severity, message.sqlstate, message.message);
    co_return Status();
  }
  co_return Status(ErrorCode::serialization_failure, "others change roles or privileges all the time",
                   "try again");
}

Task<Status> Session::run_role(const RolePlan& plan, std::string_view tag, ResultSink& sink) {
  follow_roles();
  if (state_ == State::block)
    notify(sink, "WARNING", "01000", std::string(tag) + " takes effect at once: ROLLBACK does not undo it");
  RoleChangeMaker make;
  std::string password;
  std::vector<FoundObject> objects;
  Status status;
  if (const auto* create = plan.as<CreateRolePlan>()) {
    auto stored = stored_password(create->options);
    if (!stored.ok()) co_return stored.status();
    password = *std::move(stored);
    make = [create, &password](RoleActor& actor) { return change_of(actor, *create, password); };
  } else if (const auto* alter = plan.as<AlterRolePlan>()) {
    auto stored = stored_password(alter->options);
    if (!stored.ok()) co_return stored.status();
    password = *std::move(stored);
    make = [alter, &password](RoleActor& actor) { return change_of(actor, *alter, password); };
  } else if (const auto* rename = plan.as<RenameRolePlan>()) {
    make = [rename](RoleActor& actor) { return change_of(actor, *rename); };
  } else if (const auto* drop = plan.as<DropRolePlan>()) {
    make = [drop, &objects](RoleActor& actor) {
      std::map<storage::SecuredObject, std::string> named;
      for (const FoundObject& object : objects)
        named.emplace(object.object, std::string(object.word) + " " + object.name);
      return change_of(actor, *drop, named);
    };
    co_return co_await change_roles(&make, &sink, &objects);
  } else if (const auto* member = plan.as<GrantRolePlan>()) {
    make = [member](RoleActor& actor) { return change_of(actor, *member); };
  } else if (const auto* grant = plan.as<GrantPlan>()) {
    status = co_await find_objects(&grant->on, &objects);
    make = [grant, &objects](RoleActor& actor) { return change_of(actor, *grant, objects); };
  } else if (const auto* owner = plan.as<ChangeOwnerPlan>()) {
    co_return co_await change_owner(owner, &sink);
  } else if (const auto* reassign = plan.as<ReassignOwnedPlan>()) {
    make = [reassign](RoleActor& actor) { return change_of(actor, *reassign); };
  } else {
    const auto* const owned = plan.as<DropOwnedPlan>();
    make = [owned, &objects](RoleActor& actor) { return change_of(actor, *owned, objects); };
    co_return co_await change_roles(&make, &sink, &objects);
  }
  if (!status.ok()) co_return status;
  co_return co_await change_roles(&make, &sink);
}

Task<Status> Session::change_owner(const ChangeOwnerPlan* plan, ResultSink* sink) {
  std::vector<FoundObject> objects;
  Status status = co_await find_objects(&plan->of, &objects);
  if (!status.ok() && plan->if_exists && status.code() == ErrorCode::undefined_table) {
    notify(*sink, "NOTICE", "00000", status.message() + ", skipping");
    co_return Status();
  }
  if (!status.ok()) co_return status;
  // While there are no roles, all belongs to the session's user.
  const bool is_user = plan->owner.kind == RoleName::Kind::named
                           ? plan->owner.name == facts_.user
                           : plan->owner.kind != RoleName::Kind::everybody;
  if (is_user && (facts_.roles == nullptr || facts_.roles->empty())) co_return Status();
  RoleChangeMaker make = [&](RoleActor& actor) { return change_of(actor, *plan, objects.front()); };
  if (objects.front().object.kind == ObjectKind::table) {
    // The sequences of its columns go with a table.
    const auto table = co_await engine_.table(plan->of.objects.front().name);
    if (!table.ok()) co_return table.status();
    for (const std::string& name : sequences_of(**table))
      objects.push_back({{ObjectKind::sequence, 0, name}, name, "sequence"});
    make = [&](RoleActor& actor) {
      auto change = change_of(actor, *plan, objects.front());
      for (std::size_t i = 1; i < objects.size() && change.ok(); ++i) {
        const auto more = change_of(actor, *plan, objects[i]);
        if (more.ok()) change->rights.insert(change->rights.end(), more->rights.begin(), more->rights.end());
      }
      return change;
    };
  }
  co_return co_await change_roles(&make, sink);
}

Task<Status> Session::find_object(ObjectKind kind, std::string_view word, const NamedObjects::Object* wanted,
                                  std::vector<FoundObject>* found) {
  const std::string& name = wanted->name;
  if (kind == ObjectKind::schema) {
    found->push_back({{kind, 0, name}, name, "schema"});
    co_return Status();
  }
  if (kind == ObjectKind::routine && name.starts_with(kTypeMark)) {
    if (Status status = co_await types_.read(); !status.ok()) co_return status;
    const storage::RoutineRef type = types_.entry_of(name.substr(1));
    if (type == nullptr)
      co_return Status(ErrorCode::undefined_object, "type \"" + name.substr(1) + "\" does not exist");
    found->push_back({{kind, 0, type->name}, name.substr(1), word});
    co_return Status();
  }
  if (kind == ObjectKind::routine) {
    std::string asked = name;
    bool is_there = environment_.procedures.find(name) != nullptr;
    if (!is_there) {
      const auto signature = co_await find_routine(std::move(asked));
      if (!signature.ok()) co_return signature.status();
      is_there = *signature != nullptr && (!wanted->types || has_types(**signature, *wanted->types));
    }
    if (!is_there) co_return missing_routine(name, word, wanted->types);
    found->push_back({{kind, 0, name}, name, word == "routine" ? std::string_view("procedure") : word});
    co_return Status();
  }
  std::string asked = name;
  const auto relation = co_await find_relation(&engine_, std::move(asked));
  if (!relation.ok()) co_return relation.status();
  if (relation->index != nullptr)
    co_return Status(ErrorCode::wrong_object_type, "\"" + name + "\" is an index");
  if (relation->table != nullptr) {
    if (kind == ObjectKind::sequence)
      co_return Status(ErrorCode::wrong_object_type, "\"" + name + "\" is not a sequence");
    if (find_server_table(name) != nullptr) {
      co_return Status(ErrorCode::insufficient_privilege, "permission denied for table " + name,
                       "the server keeps it for itself");
    }
    found->push_back({{ObjectKind::table, relation->table->id, {}}, name, "table"});
    co_return Status();
  }
  if (engine_.cached_routine(storage::view_key(name)) != nullptr) {
    if (kind == ObjectKind::sequence)
      co_return Status(ErrorCode::wrong_object_type, "\"" + name + "\" is not a sequence");
    found->push_back({{ObjectKind::view, 0, name}, name, "view"});
    co_return Status();
  }
  if (environment_.sequences != nullptr) {
    asked = name;
    const auto exists = co_await environment_.sequences->exists(std::move(asked));
    if (!exists.ok()) co_return exists.status();
    if (*exists) {
      found->push_back({{ObjectKind::sequence, 0, name}, name, "sequence"});
      co_return Status();
    }
  }
  co_return no_such_relation(name);
}

Task<Status> Session::find_objects(const NamedObjects* named, std::vector<FoundObject>* found) {
  if (named->all_in_schema) co_return co_await find_all_objects(named->kind, found);
  for (const NamedObjects::Object& object : named->objects) {
    Status status = co_await find_object(named->kind, named->word, &object, found);
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

Task<Status> Session::find_all_objects(ObjectKind kind, std::vector<FoundObject>* found) {
  if (kind == ObjectKind::routine) {
    const auto routines = co_await engine_.routines();
    if (!routines.ok()) co_return routines.status();
    for (const storage::RoutineRef& routine : *routines) {
      if (is_procedure(*routine)) found->push_back({{kind, 0, routine->name}, routine->name, "procedure"});
    }
    co_return Status();
  }
  const auto tables = co_await engine_.tables();
  if (!tables.ok()) co_return tables.status();
  for (const storage::TableRef& table : *tables) {
    if (find_server_table(table->name) != nullptr || table->replaces != 0 ||
        storage::keeps_long_values(table->name) || is_temporary(table->name))
      continue;
    if (kind == ObjectKind::table) {
      found->push_back({{kind, table->id, {}}, table->name, "table"});
      continue;
    }
    for (const std::string& name : sequences_of(*table))
      found->push_back({{kind, 0, name}, name, "sequence"});
  }
  if (kind == ObjectKind::table) {
    const auto views = co_await read_views(&engine_);
    if (!views.ok()) co_return views.status();
    for (const ViewRef& view : *views)
      found->push_back({{ObjectKind::view, 0, view->name}, view->name, "view"});
  }
  if (kind != ObjectKind::sequence) co_return Status();
  // Those that fill no column are known by their owners.
  const auto roles = co_await engine_.roles();
  if (!roles.ok()) co_return roles.status();
  for (const storage::ObjectRights& rights : (*roles)->rights()) {
    const bool is_known =
        std::ranges::any_of(*found, [&](const FoundObject& other) { return other.object == rights.object; });
    if (rights.object.kind == kind && !is_known && !is_temporary(rights.object.name))
      found->push_back({rights.object, rights.object.name, "sequence"});
  }
  co_return Status();
}

Task<Status> Session::find_secured(std::vector<FoundObject>* found) {
  const auto roles = co_await engine_.roles();
  if (!roles.ok()) co_return roles.status();
  const auto tables = co_await engine_.tables();
  if (!tables.ok()) co_return tables.status();
  for (const storage::ObjectRights& rights : (*roles)->rights()) {
    const storage::SecuredObject& object = rights.object;
    switch (object.kind) {
      case ObjectKind::table: {
        const auto table = std::ranges::find(*tables, object.table,
                                             [](const storage::TableRef& other) { return other->id; });
        if (table != tables->end()) found->push_back({object, (*table)->name, "table"});
        break;
      }
      case ObjectKind::sequence:
        found->push_back({object, object.name, "sequence"});
        break;
      case ObjectKind::routine:
        if (object.name.starts_with(kTypeMark)) {
          found->push_back({object, object.name.substr(1), "type"});
        } else {
          found->push_back({object, object.name, "procedure"});
        }
        break;
      case ObjectKind::schema:
        found->push_back({object, object.name, "schema"});
        break;
      case ObjectKind::view:
        found->push_back({object, object.name, "view"});
        break;
    }
  }
  co_return Status();
}

Task<Status> Session::copy_rights(storage::SecuredObject from, std::string name) {
  const RoleChangeMaker make = [&](RoleActor& actor) {
    txn::RoleChange change;
    change.version = actor.roles.version();
    const storage::ObjectRights* const rights = actor.roles.rights_of(from);
    if (rights == nullptr) return Result<txn::RoleChange>(std::move(change));
    change.rights.push_back(*rights);
    change.rights.back().id = 0;
    change.rights.back().object.name = name;
    return Result<txn::RoleChange>(std::move(change));
  };
  SilentSink silent;
  co_return co_await change_roles(&make, &silent);
}

Task<Status> Session::own_sequence(std::string name, std::uint32_t owner) {
  const storage::SecuredObject object{ObjectKind::sequence, 0, std::move(name)};
  follow_roles();
  // One of that name that is gone may have left its rights.
  if (owner == storage::kNoRole && facts_.roles->rights_of(object) == nullptr) co_return Status();
  const RoleChangeMaker make = [&](RoleActor& actor) {
    txn::RoleChange change;
    change.version = actor.roles.version();
    change.rights.push_back({0, object, owner, std::nullopt});
    return Result<txn::RoleChange>(std::move(change));
  };
  SilentSink silent;
  co_return co_await change_roles(&make, &silent);
}

Task<Status> Session::disown_sequences(std::vector<std::string> names) {
  const RoleChangeMaker make = [&](RoleActor& actor) {
    txn::RoleChange change;
    change.version = actor.roles.version();
    for (const std::string& name : names) {
      const storage::ObjectRights* const rights = actor.roles.rights_of({ObjectKind::sequence, 0, name});
      if (rights != nullptr) change.dropped_rights.push_back(rights->id);
    }
    return Result<txn::RoleChange>(std::move(change));
  };
  follow_roles();
  const bool has_rights = std::ranges::any_of(names, [this](const std::string& name) {
    return facts_.roles->rights_of({ObjectKind::sequence, 0, name}) != nullptr;
  });
  if (!has_rights) co_return Status();
  SilentSink silent;
  // Those of an error that came before stay.
  const ErrorFields error = error_;
  Status status = co_await change_roles(&make, &silent);
  error_ = error;
  co_return status;
}

}  // namespace namdb::sql
