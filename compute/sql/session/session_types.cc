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

Task<Status> Session::read_types() {
  const auto all = co_await engine_.routines();
  if (!all.ok()) co_return all.status();
  types_version_ = engine_.catalog_version();
  auto names = std::make_shared<TypeNames>();
  for (const storage::RoutineRef& routine : *all) {
    if (!is_type(*routine)) continue;
    Result<Enumeration> enumeration = enumeration_of(*routine);
    if (!enumeration.ok()) co_return enumeration.status();
    const auto dropped = dropped_in_block_.find(type_key(enumeration->name));
    const bool is_dropped = dropped != dropped_in_block_.end() && dropped->second.kind == RelationKind::type;
    if (!is_dropped) names->emplace(enumeration->name, enumeration_type(enumeration->id));
    know_enumeration(std::move(enumeration).value());
  }
  facts_.types = std::move(names);
  co_return Status();
}

Task<Status> Session::learn_labels(const LabelWatch* labels) {
  Status status = co_await read_types();
  if (!status.ok() || !labels->has_learned()) co_return status;
  co_return Status(ErrorCode::catalog_changed, "an enum got another label while the statement ran");
}

bool Session::types_are_current() const {
  return types_version_ == engine_.catalog_version();
}

Task<Status> Session::follow_types(const BindInput* input) {
  if (types_are_current()) co_return Status();
  bool needs_types = facts_.types != nullptr && !facts_.types->empty();
  for (const auto& [name, table] : input->tables) {
    for (const layout::Column& column : table->schema.columns())
      needs_types = needs_types || enumeration_of(column) != 0;
  }
  for (const auto& [name, view] : input->views) {
    for (const View::Column& column : view->columns) needs_types = needs_types || is_made(column.type.id);
  }
  if (needs_types) co_return co_await read_types();
  co_return Status();
}

Task<Status> Session::change_types(const EnumerationPlan& plan, ResultSink& sink) {
  Status status = co_await read_types();
  if (!status.ok()) co_return status;
  if (plan.command == Command::create) co_return co_await create_type(plan);
  if (plan.command == Command::drop) co_return co_await drop_types(plan, sink);
  if (state_ == State::block)
    notify(sink, "WARNING", "01000", "ALTER TYPE takes effect at once: ROLLBACK does not undo it");
  while (true) {
    status = co_await alter_type(plan, sink);
    // Its entry has changed since it was read: another session has altered it, or uses it.
    if (status.ok() || status.code() != ErrorCode::duplicate_function) break;
    status = co_await read_types();
    if (!status.ok()) co_return status;
  }
  if (!status.ok()) co_return status;
  co_return co_await read_types();
}

Task<Status> Session::alter_type(const EnumerationPlan& plan, ResultSink& sink) {
  const std::string name = plan.names.front();
  const storage::RoutineRef there = entry_of_type(name);
  if (there == nullptr) co_return missing_type(name);
  Status status = check_object_owner({storage::ObjectKind::routine, 0, there->name}, "type", name);
  if (!status.ok()) co_return status;
  Result<Enumeration> read = enumeration_of(*there);
  if (!read.ok()) co_return read.status();
  Enumeration& enumeration = *read;
  const std::string& made = plan.labels.back();
  if (plan.command == Command::rename) {
    if (Status allowed = check_may_create(); !allowed.ok()) co_return allowed;
    if (Status unused = co_await check_type_name(made); !unused.ok()) co_return unused;
    if (Status unnamed = co_await check_type_unnamed(&enumeration); !unnamed.ok()) co_return unnamed;
    enumeration.name = made;
  } else if (plan.command == Command::rename_value) {
    const auto renamed =
        std::ranges::find(enumeration.values, plan.labels.front(), &Enumeration::Value::label);
    if (renamed == enumeration.values.end()) co_return missing_label(plan.labels.front());
    if (enumeration.find(made) != nullptr) co_return label_exists(made);
    status = co_await check_not_in_texts(&enumeration, quote_literal(plan.labels.front()),
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

storage::RoutineRef Session::entry_of_type(const std::string& name) const {
  const auto found = facts_.types->find(name);
  const Enumeration* const known = found == facts_.types->end() ? nullptr : known_enumeration(found->second);
  return known == nullptr ? nullptr : engine_.cached_routine(known->key);
}

Task<Status> Session::check_type_name(std::string name) {
  if (facts_.types->contains(name)) co_return already_there(name);
  if (dropped_in_block_.contains(type_key(name))) {
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
  if (Status status = check_may_create(); !status.ok()) co_return status;
  if (Status status = co_await check_type_name(name); !status.ok()) co_return status;
  Enumeration enumeration;
  enumeration.name = name;
  enumeration.birth = std::to_string(facts_.present_us()) + " " + name;
  for (const std::string& label : plan.labels) {
    const auto position = new_position(enumeration.values, std::ssize(enumeration.values) - 1);
    enumeration.values.push_back({label, *position});
  }
  txn::RoutineDefinition definition;
  definition.owner = owner_of_new();
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
    created_in_block_.push_back({RelationKind::type, name, made->id});
  co_return co_await read_types();
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
    const storage::RoutineRef entry = entry_of_type(name);
    if (entry == nullptr) co_return missing_type(name);
    Status status = check_object_owner({storage::ObjectKind::routine, 0, entry->name}, "type", name);
    if (!status.ok()) co_return status;
    status = co_await find_type_dependents(enumeration_id(facts_.types->find(name)->second), &dependents);
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
  for (std::string& name : there) {
    const std::uint32_t id = enumeration_id(facts_.types->find(name)->second);
    if (state_ == State::block) {
      // An index may have the name, too.
      dropped_in_block_.emplace(type_key(name), DroppedInBlock{RelationKind::type, id});
    } else {
      status = co_await drop_type(id);
      if (!status.ok()) co_return status;
    }
  }
  co_return co_await read_types();
}

}  // namespace namdb::sql
