// The fake engine's part about routines.
#include <utility>

#include "compute/sql/testing/fake_engine.h"

namespace namdb::sql::testing {

using reactor::Task;
using storage::RoutineRef;

RoutineRef FakeEngine::cached_routine(std::string_view name) {
  const auto found = routines_.find(name);
  return found == routines_.end() ? nullptr : found->second;
}

Task<Result<RoutineRef>> FakeEngine::routine(std::string name) {
  co_return cached_routine(name);
}

Task<Result<std::vector<RoutineRef>>> FakeEngine::routines() {
  std::vector<RoutineRef> all;
  for (const auto& [name, routine] : routines_) all.push_back(routine);
  co_return all;
}

namespace {

// A process knows types for good, by their identities (compute/sql/value/enumeration.h): so those of several
// engines have different ones.
std::uint32_t next_type = 1 << 20;
constexpr char kTypeMark = '\x02';

// As the catalog of rights knows it: a view is one of its own kind there, by its plain name.
storage::SecuredObject secured_routine(const std::string& name) {
  const bool is_view = name.starts_with(storage::kViewMark);
  return {is_view ? storage::ObjectKind::view : storage::ObjectKind::routine, 0,
          is_view ? name.substr(1) : name};
}

}  // namespace

Task<Status> FakeEngine::create_routine(txn::RoutineDefinition definition) {
  const RoutineRef replaced = cached_routine(definition.name);
  if (replaced == nullptr && definition.replaces_version != 0)
    co_return Status(ErrorCode::undefined_function,
                     "procedure \"" + definition.name + "\" was dropped meanwhile");
  const storage::SecuredObject secured = secured_routine(definition.name);
  if (replaced == nullptr && secured.kind == storage::ObjectKind::routine &&
      roles_->rights_of(secured) != nullptr)
    co_return Status(ErrorCode::duplicate_function,
                     "procedure \"" + definition.name + "\" has privileges of its own, as one of a library");
  if (replaced != nullptr && definition.replaces_version == 0)
    co_return Status(ErrorCode::duplicate_function,
                     "function \"" + definition.name + "\" already exists with same argument types");
  if (replaced != nullptr && definition.replaces_version != replaced->version)
    co_return Status(ErrorCode::duplicate_function,
                     "procedure \"" + definition.name + "\" was replaced meanwhile");
  storage::Routine routine;
  const bool is_type = definition.name.starts_with(kTypeMark);
  routine.id = replaced != nullptr ? replaced->id : is_type ? next_type++ : next_table_++;
  routine.name = definition.name;
  routine.definition = std::move(definition.text);
  routine.version = ++catalog_version_;
  routines_[definition.name] = std::make_shared<const storage::Routine>(std::move(routine));
  if (replaced == nullptr) own(secured, definition.owner);
  co_return Status();
}

void FakeEngine::change_routine_unheard(std::string_view name, std::string definition) {
  storage::Routine changed = *cached_routine(name);
  changed.definition = std::move(definition);
  ++changed.version;
  routines_[changed.name] = std::make_shared<const storage::Routine>(changed);
}

Task<Status> FakeEngine::drop_routine(std::string name, std::uint64_t version) {
  if (failing_routine_drop_.count != 0 && --failing_routine_drop_.count == 0)
    co_return Status(failing_routine_drop_.code, "injected");
  const auto found = routines_.find(name);
  if (found == routines_.end())
    co_return Status(ErrorCode::undefined_function, "could not find a procedure named \"" + name + "\"");
  if (found->second->version != version)
    co_return Status(ErrorCode::undefined_function, "procedure \"" + name + "\" was replaced meanwhile");
  routines_.erase(found);
  disown(secured_routine(name));
  ++catalog_version_;
  co_return Status();
}

}  // namespace namdb::sql::testing
