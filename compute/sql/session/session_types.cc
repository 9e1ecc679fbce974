// Types that statements make: CREATE TYPE ... AS ENUM, ALTER TYPE and DROP TYPE. They take effect at once, as
// tables do; a block's drops wait for its commit.
#include <algorithm>
#include <string>
#include <utility>

#include "compute/sql/catalog/definition_text.h"
#include "compute/sql/session/find_relation.h"
#include "compute/sql/session/session.h"

namespace namdb::sql {

using reactor::Task;

namespace {

using Command = EnumerationPlan::Command;

std::string with_quotes(std::string_view name) {
  return "\"" + std::string(name) + "\"";
}

Status already_there(const std::string& type) {
  return Status(ErrorCode::duplicate_object, "type " + with_quotes(type) + " already exists");
}

Status missing_type(const std::string& type) {
  return Status(ErrorCode::undefined_object, "type " + with_quotes(type) + " does not exist");
}

Status missing_label(std::string_view label) {
  return Status(ErrorCode::invalid_parameter_value, with_quotes(label) + " is not an existing enum label");
}

Status label_exists(const std::string& label) {
  return Status(ErrorCode::duplicate_object, "enum label " + with_quotes(label) + " already exists");
}

// Adds a label to the values, whose positions stay.
Status add_label(const EnumerationPlan& plan, Enumeration& enumeration) {
  std::vector<Enumeration::Value>& values = enumeration.values;
  std::ptrdiff_t after = std::ssize(values) - 1;
  if (plan.neighbor) {
    const auto found = std::ranges::find(values, *plan.neighbor, &Enumeration::Value::label);
    if (found == values.end()) return missing_label(*plan.neighbor);
    after = found - values.begin() - (plan.is_after ? 0 : 1);
  }
  const std::optional<std::int64_t> position = new_position(values, after);
  if (!position) {
    return Status(ErrorCode::limit_exceeded,
                  "too many labels were added between two others of enum " + enumeration.shown_name);
  }
  values.insert(values.begin() + after + 1, {plan.labels.front(), *position});
  return {};
}

}  // namespace

Task<Status> Session::change_types(const EnumerationPlan& plan, ResultSink& sink) {
  Status status = co_await types_.read();
  if (!status.ok()) co_return status;
  if (plan.command == Command::create) co_return co_await create_type(plan);
  if (plan.command == Command::drop) co_return co_await drop_types(plan, sink);
  if (state_ == State::block)
    notify(sink, "WARNING", "01000", "ALTER TYPE takes effect at once: ROLLBACK does not undo it");
  while (true) {
    status = co_await alter_type(plan, sink);
    // Its entry has changed since it was read: another session has altered it, or uses it.
    if (status.ok() || status.code() != ErrorCode::duplicate_function) break;
    status = co_await types_.read();
    if (!status.ok()) co_return status;
  }
  if (!status.ok()) co_return status;
  co_return co_await types_.read();
}

Task<Status> Session::alter_type(const EnumerationPlan& plan, ResultSink& sink) {
  const std::string name = plan.names.front();
  const storage::RoutineRef there = types_.entry_of(name);
  if (there == nullptr) co_return missing_type(name);
  Status status = rights_.check_object_owner({storage::ObjectKind::routine, 0, there->name}, "type", name);
  if (!status.ok()) co_return status;
  Result<Enumeration> read = enumeration_of(*there);
  if (!read.ok()) co_return read.status();
  Enumeration& enumeration = *read;
  const std::string& made = plan.labels.back();
  if (plan.command == Command::rename) {
    if (Status allowed = rights_.check_may_create(); !allowed.ok()) co_return allowed;
    if (Status unused = co_await check_type_name(made); !unused.ok()) co_return unused;
    if (Status unnamed = co_await type_uses_.check_type_unnamed(&enumeration); !unnamed.ok())
      co_return unnamed;
    enumeration.name = made;
  } else if (plan.command == Command::rename_value) {
    const auto renamed =
        std::ranges::find(enumeration.values, plan.labels.front(), &Enumeration::Value::label);
    if (renamed == enumeration.values.end()) co_return missing_label(plan.labels.front());
    if (enumeration.find(made) != nullptr) co_return label_exists(made);
    status = co_await type_uses_.check_not_in_texts(&enumeration, quote_literal(plan.labels.front()),
                                                    "RENAME VALUE of a label");
    if (!status.ok()) co_return status;
    renamed->label = made;
  } else {
    if (enumeration.find(made) != nullptr) {
      if (!plan.is_conditional) co_return label_exists(made);
      notify(sink, "NOTICE", "42710", "enum label " + with_quotes(made) + " already exists, skipping");
      co_return Status();
    }
    status = add_label(plan, enumeration);
    if (!status.ok()) co_return status;
  }
  txn::RoutineDefinition definition;
  definition.name = there->name;
  definition.text = text_of(enumeration);
  definition.replaces_version = there->version;
  status = co_await engine_.create_routine(std::move(definition));
  // The catalog's words are about procedures.
  co_return !status.ok() && status.code() == ErrorCode::undefined_function ? missing_type(name) : status;
}

Task<Status> Session::check_type_name(std::string name) {
  if (facts_.types->contains(name)) co_return already_there(name);
  if (block_.dropped.contains(type_key(name))) {
    co_return Status(ErrorCode::feature_not_supported,
                     "a type with the name of one that the same block drops is not supported",
                     "commit the block between DROP TYPE and CREATE TYPE");
  }
  std::string wanted = name;
  const auto relation = co_await find_relation(&engine_, std::move(wanted));
  if (!relation.ok()) co_return relation.status();
  const bool is_table = relation->table != nullptr && relation->index == nullptr;
  if (is_table || engine_.cached_routine(storage::view_key(name)) != nullptr) co_return already_there(name);
  co_return Status();
}

Task<Status> Session::create_type(const EnumerationPlan& plan) {
  const std::string name = plan.names.front();
  if (Status status = rights_.check_may_create(); !status.ok()) co_return status;
  if (Status status = co_await check_type_name(name); !status.ok()) co_return status;
  Enumeration enumeration;
  enumeration.name = name;
  enumeration.birth = std::to_string(facts_.present_us()) + " " + name;
  for (const std::string& label : plan.labels) {
    const auto position = new_position(enumeration.values, std::ssize(enumeration.values) - 1);
    enumeration.values.push_back({label, *position});
  }
  txn::RoutineDefinition definition;
  definition.owner = rights_.owner_of_new();
  definition.name = type_key(name);
  for (int number = 2; engine_.cached_routine(definition.name) != nullptr; ++number)
    definition.name = type_key(name) + kTypeMark + std::to_string(number);
  definition.text = text_of(enumeration);
  const std::string key = definition.name;
  Status status = co_await engine_.create_routine(std::move(definition));
  // The catalog's words are about procedures.
  if (!status.ok() && status.code() == ErrorCode::duplicate_function) co_return already_there(name);
  if (!status.ok()) co_return status;
  const storage::RoutineRef made = engine_.cached_routine(key);
  if (state_ == State::block && made != nullptr)
    block_.created.push_back({RelationKind::type, name, made->id});
  co_return co_await types_.read();
}

Task<Status> Session::drop_types(const EnumerationPlan& plan, ResultSink& sink) {
  std::vector<std::string> there;
  Dependents dependents;
  for (const std::string& name : plan.names) {
    if (!facts_.types->contains(name)) {
      if (!plan.is_conditional) co_return missing_type(name);
      notify(sink, "NOTICE", "00000", "type " + with_quotes(name) + " does not exist, skipping");
      continue;
    }
    const storage::RoutineRef entry = types_.entry_of(name);
    if (entry == nullptr) co_return missing_type(name);
    Status status = rights_.check_object_owner({storage::ObjectKind::routine, 0, entry->name}, "type", name);
    if (!status.ok()) co_return status;
    status = co_await type_uses_.find_type_dependents(enumeration_id(facts_.types->find(name)->second),
                                                      &dependents);
    if (!status.ok()) co_return status;
    there.push_back(name);
  }
  if (plan.cascades && !dependents.names.empty()) {
    error_.detail = dependents.texts.front();
    co_return Status(ErrorCode::feature_not_supported,
                     "DROP TYPE ... CASCADE of a type that other objects depend on is not supported",
                     "drop them first");
  }
  Drop drop;
  drop.kind = RelationKind::type;
  Status status = check_dependents(drop, there, dependents, sink);
  if (!status.ok()) co_return status;
  std::vector<std::uint32_t> dropped;
  for (const std::string& name : there) {
    const std::uint32_t id = enumeration_id(facts_.types->find(name)->second);
    // An index may have the name, too.
    if (state_ == State::block) block_.drop(type_key(name), {RelationKind::type, id});
    if (state_ != State::block) dropped.push_back(id);
  }
  status = co_await drop_all_types(std::move(dropped));
  if (!status.ok()) co_return status;
  co_return co_await types_.read();
}

// Its version is read before its uses. A session that uses it writes it anew, with another version, after its
// use is in the catalog (hold_types): so the uses are read again then.
Task<Status> Session::drop_type(std::uint32_t id) {
  while (true) {
    // Functions that name it are read with the types of now.
    Status status = co_await types_.read();
    if (!status.ok()) co_return status;
    types_.forget();
    const auto all = co_await engine_.routines();
    if (!all.ok()) co_return all.status();
    const auto there = std::ranges::find(*all, id, [](const auto& routine) { return routine->id; });
    if (there == all->end()) co_return Status();  // another session has dropped it
    Result<Enumeration> type = enumeration_of(**there);
    if (!type.ok()) co_return type.status();
    const std::string name = type->name;
    know_enumeration(std::move(type).value());
    Dependents dependents;
    status = co_await type_uses_.find_type_dependents(id, &dependents);
    Drop drop;
    drop.kind = RelationKind::type;
    if (status.ok() && !dependents.names.empty()) status = refuse_drop(drop, {name}, dependents);
    if (!status.ok()) co_return status;
    std::string key = (*there)->name;
    status = co_await engine_.drop_routine(std::move(key), (*there)->version);
    if (status.ok() || status.code() != ErrorCode::undefined_function) co_return status;
  }
}

// The catalog drops one after the other. Nothing uses those that are gone, so after an error others with the
// same labels take their places.
Task<Status> Session::drop_all_types(std::vector<std::uint32_t> ids) {
  std::vector<txn::RoutineDefinition> gone;
  for (const std::uint32_t id : ids) {
    const auto all = co_await engine_.routines();
    if (!all.ok()) co_return all.status();
    const auto there = std::ranges::find(*all, id, [](const auto& routine) { return routine->id; });
    follow_roles();
    if (there != all->end()) {
      txn::RoutineDefinition& definition = gone.emplace_back();
      definition.name = (*there)->name;
      definition.text = (*there)->definition;
      definition.owner = facts_.roles->owner_of({storage::ObjectKind::routine, 0, definition.name});
    }
    Status status = co_await drop_type(id);
    if (status.ok()) continue;
    if (there != all->end()) gone.pop_back();
    // The first error tells more.
    for (txn::RoutineDefinition& definition : gone)
      static_cast<void>(co_await engine_.create_routine(std::move(definition)));
    co_return status;
  }
  co_return Status();
}

Task<Status> Session::drop_type_unless_used(std::uint32_t id, ResultSink& sink) {
  const ErrorFields error = error_;
  Status status = co_await drop_type(id);
  if (status.ok() || status.code() != ErrorCode::dependent_objects_still_exist) co_return status;
  notify(sink, "WARNING", "01000",
         "type " + std::string(type_name(enumeration_type(id))) + " stays: " + error_.detail);
  error_ = error;
  co_return Status();
}

}  // namespace namdb::sql
