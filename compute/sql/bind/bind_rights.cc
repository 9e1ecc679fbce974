// The rights that a statement needs of its user. They are checked whenever it runs.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "compute/sql/bind/bind_role.h"
#include "compute/sql/system/server_table.h"
#include "compute/sql/system/virtual_table.h"

namespace namdb::sql {
namespace {

using storage::ObjectKind;

void add_right(StatementBinder& binder, RequiredRight right) {
  const auto same = std::ranges::find_if(binder.rights, [&right](const RequiredRight& other) {
    return other.object == right.object && other.through_view == right.through_view;
  });
  if (same == binder.rights.end()) {
    binder.rights.push_back(std::move(right));
  } else {
    same->privileges |= right.privileges;
  }
}

}  // namespace

void require(StatementBinder& binder, const storage::TableRef& table, storage::Privileges privileges) {
  add_right(binder, {{ObjectKind::table, table->id, {}}, privileges, false, table->name, "table"});
}

void require_read(StatementBinder& binder, const Source& source) {
  if (source.virtual_table != nullptr) {
    const std::string name(source.virtual_table->name);
    const std::string_view kind = name == "pg_shadow" ? "view" : "table";
    // Only superusers have privileges on an object without an owner.
    if (name == "pg_authid" || name == "pg_shadow")
      add_right(binder, {{ObjectKind::table, 0, name}, storage::kSelectPrivilege, false, name, kind});
    return;
  }
  if (source.table != nullptr && find_server_table(source.table->name) == nullptr)
    require(binder, source.table, storage::kSelectPrivilege);
}

void require_view(StatementBinder& binder, const std::string& view, std::vector<RequiredRight> of_query) {
  add_right(binder, {{ObjectKind::view, 0, view}, storage::kSelectPrivilege, false, view, "view"});
  for (RequiredRight& right : of_query) {
    // A function runs as the user, in a view, too.
    const bool is_users = right.object.kind == ObjectKind::routine;
    if (!is_users && right.through_view.empty()) right.through_view = view;
    add_right(binder, std::move(right));
  }
}

void require_changed(StatementBinder& binder, const storage::TableRef& table, storage::Privileges privileges,
                     bool is_read) {
  require(binder, table, privileges | (is_read ? storage::kSelectPrivilege : 0));
  const storage::SecuredObject object{ObjectKind::table, table->id, {}};
  const auto own = std::ranges::find_if(binder.rights, [&object](const RequiredRight& right) {
    return right.object == object && right.through_view.empty();
  });
  std::rotate(binder.rights.begin(), own, own + 1);
}

void require(StatementBinder& binder, const std::vector<RequiredRight>& of_part) {
  for (const RequiredRight& right : of_part) add_right(binder, right);
}

void require_execute(StatementBinder& binder, std::string_view routine, std::string_view kind) {
  const std::string name(routine);
  add_right(binder, {{ObjectKind::routine, 0, name}, storage::kExecutePrivilege, false, name, kind});
}

bool names_columns(const Json& body, std::initializer_list<const char*> clauses) {
  std::vector<const Json*> open;
  for (const char* const clause : clauses) {
    if (const Json* const found = find(body, clause)) open.push_back(found);
  }
  while (!open.empty()) {
    const Json& json = *open.back();
    open.pop_back();
    if (!json.is_structured()) continue;
    if (json.is_object() && json.contains("ColumnRef")) return true;
    for (const Json& child : json) open.push_back(&child);
  }
  return false;
}

}  // namespace namdb::sql
