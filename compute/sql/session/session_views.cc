// CREATE VIEW and DROP VIEW. They take effect at once, as those of procedures do.
#include <algorithm>
#include <string>
#include <utility>

#include "compute/sql/session/find_relation.h"
#include "compute/sql/session/session.h"

namespace namdb::sql {

using reactor::Task;

namespace {

// The rules of CREATE OR REPLACE: columns may only come behind those that are there.
Status check_replacement(const View& before, const View& after) {
  const auto refused = [](std::string message, std::string hint) {
    return Status(ErrorCode::invalid_table_definition, std::move(message), std::move(hint));
  };
  if (after.columns.size() < before.columns.size()) return refused("cannot drop columns from view", "");
  for (std::size_t i = 0; i < before.columns.size(); ++i) {
    const View::Column& old = before.columns[i];
    const View::Column& column = after.columns[i];
    if (old.name != column.name) {
      return refused("cannot change name of view column \"" + old.name + "\" to \"" + column.name + "\"",
                     "Use ALTER VIEW ... RENAME COLUMN ... to change name of view column instead.");
    }
    if (old.type != column.type) {
      return refused("cannot change data type of view column \"" + old.name + "\" from " +
                         std::string(type_name(old.type)) + " to " + std::string(type_name(column.type)),
                     "");
    }
  }
  return {};
}

Status exists(const std::string& name) {
  return Status(ErrorCode::duplicate_table, "relation \"" + name + "\" already exists");
}

}  // namespace

Task<Status> Session::create_view(const CreateViewPlan& plan, ResultSink& sink) {
  const std::string name = plan.view->name;
  std::string wanted = name;
  const auto relation = co_await find_relation(&engine_, std::move(wanted));
  if (!relation.ok()) co_return relation.status();
  if (relation->table != nullptr) {
    co_return plan.replaces ? Status(ErrorCode::wrong_object_type, "\"" + name + "\" is not a view")
                            : exists(name);
  }
  const storage::RoutineRef there = engine_.cached_routine(storage::view_key(name));
  Status allowed = rights_.check_may_create();
  if (allowed.ok() && there != nullptr && plan.replaces)
    allowed = rights_.check_object_owner({storage::ObjectKind::view, 0, name}, "view", name);
  if (!allowed.ok()) co_return allowed;
  txn::RoutineDefinition definition;
  definition.owner = rights_.owner_of_new();
  definition.name = storage::view_key(name);
  definition.text = text_of(*plan.view);
  if (there != nullptr) {
    if (!plan.replaces) co_return exists(name);
    const auto before = view_of(*there);
    if (!before.ok()) co_return before.status();
    Status status = check_replacement(**before, *plan.view);
    if (!status.ok()) co_return status;
    definition.replaces_version = there->version;
  }
  if (state_ == State::block && there != nullptr)
    notify(sink, "WARNING", "01000",
           "CREATE OR REPLACE VIEW takes effect at once: ROLLBACK does not undo it");
  const std::string text = definition.text;
  Status status = co_await engine_.create_routine(std::move(definition));
  if (status.ok()) {
    storage::RoutineRef replacement = engine_.cached_routine(storage::view_key(name));
    const bool is_own = replacement != nullptr && replacement->definition == text;
    status = co_await type_uses_.hold_types(plan.view.get());
    if (!status.ok() && there != nullptr && is_own)
      co_await type_uses_.undo_replacement(there, std::move(replacement));
    if (!status.ok() && there == nullptr) {
      std::string made = name;
      static_cast<void>(co_await drop_view(std::move(made)));  // the first error tells more
    }
    if (!status.ok()) co_return status;
  }
  const storage::RoutineRef made = engine_.cached_routine(storage::view_key(name));
  if (status.ok() && state_ == State::block && there == nullptr && made != nullptr)
    block_.created.push_back({RelationKind::view, name, made->id});
  // The catalog's words are about procedures.
  if (!status.ok() && status.code() == ErrorCode::duplicate_function) co_return exists(name);
  co_return status;
}

Task<Status> Session::drop_view(std::string name) {
  const auto all = co_await engine_.routines();
  if (!all.ok()) co_return all.status();
  const storage::RoutineRef there = engine_.cached_routine(storage::view_key(name));
  if (there == nullptr) co_return Status();
  Status status = co_await engine_.drop_routine(storage::view_key(name), there->version);
  co_return !status.ok() && status.code() == ErrorCode::undefined_function ? Status() : status;
}

Task<Status> Session::drop_views(const DropViewPlan& plan, ResultSink& sink) {
  Drop drop;
  drop.kind = RelationKind::view;
  drop.cascades = plan.cascades;
  std::vector<std::string> there;
  for (const std::string& name : plan.names) {
    std::string wanted = name;
    const auto relation = co_await find_relation(&engine_, std::move(wanted));
    if (!relation.ok()) co_return relation.status();
    if (relation->table != nullptr) {
      const bool is_index = relation->index != nullptr;
      co_return Status(ErrorCode::wrong_object_type, "\"" + name + "\" is not a view",
                       is_index ? "Use DROP INDEX to remove an index." : "Use DROP TABLE to remove a table.");
    }
    if (engine_.cached_routine(storage::view_key(name)) != nullptr) {
      Status status = rights_.check_object_owner({storage::ObjectKind::view, 0, name}, "view", name);
      if (!status.ok()) co_return status;
      there.push_back(name);
    } else if (plan.if_exists) {
      notify(sink, "NOTICE", "00000",
             (plan.renamed.empty() ? "view \"" : "relation \"") + name + "\" does not exist, skipping");
    } else {
      co_return Status(ErrorCode::undefined_table,
                       (plan.renamed.empty() ? "view \"" : "relation \"") + name + "\" does not exist");
    }
  }
  std::vector<std::string> relations = there;
  Dependents dependents;
  Status status = co_await find_dependents(RelationKind::view, std::move(relations), &dependents);
  if (!status.ok()) co_return status;
  if (!plan.renamed.empty() && !there.empty()) co_return co_await rename_view(&plan, &dependents);
  status = check_dependents(drop, there, dependents, sink);
  if (!status.ok()) co_return status;
  if (state_ == State::block && !there.empty())
    notify(sink, "WARNING", "01000", "DROP VIEW takes effect at once: ROLLBACK does not undo it");
  status = co_await drop_dependents(&dependents);
  for (std::size_t i = 0; i < there.size() && status.ok(); ++i)
    status = co_await drop_view(std::move(there[i]));
  co_return status;
}

// Under the new name first: so it is never gone.
Task<Status> Session::rename_view(const DropViewPlan* plan, const Dependents* dependents) {
  const std::string name = plan->names.front();
  if (!dependents->views.empty()) {
    co_return Status(ErrorCode::feature_not_supported,
                     "RENAME of view \"" + name + "\" that other views read is not supported");
  }
  const auto read = view_of(*engine_.cached_routine(storage::view_key(name)));
  if (!read.ok()) co_return read.status();
  std::string wanted = plan->renamed;
  const auto relation = co_await find_relation(&engine_, std::move(wanted));
  if (!relation.ok()) co_return relation.status();
  const bool is_taken =
      relation->table != nullptr || engine_.cached_routine(storage::view_key(plan->renamed)) != nullptr;
  if (is_taken) co_return exists(plan->renamed);
  txn::RoutineDefinition definition;
  follow_roles();
  definition.owner = facts_.roles->owner_of({storage::ObjectKind::view, 0, name});
  definition.name = storage::view_key(plan->renamed);
  definition.text = text_of(**read);
  Status status = co_await engine_.create_routine(std::move(definition));
  if (!status.ok()) co_return status;
  storage::SecuredObject renamed{storage::ObjectKind::view, 0, name};
  wanted = plan->renamed;
  status = co_await copy_rights(std::move(renamed), std::move(wanted));
  if (!status.ok()) co_return status;
  wanted = name;
  co_return co_await drop_view(std::move(wanted));
}

}  // namespace namdb::sql
