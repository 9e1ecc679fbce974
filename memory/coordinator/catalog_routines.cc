// The catalog's part about routines. A routine may have the name of a table or an index, but not if it is a
// view; its number is not used by any of them.
#include "memory/coordinator/catalog.h"

namespace namdb::memory {

Result<std::uint64_t> Catalog::create_routine(const control::CreateRoutineRequest& request) {
  const std::string& name = request.name();
  if (name.empty() || name.size() > kMaxName_bytes)
    return Status(ErrorCode::invalid_function_definition, "a procedure's name has 1 to 255 bytes");
  if (request.definition().size() > kMaxDefinition_bytes)
    return Status(ErrorCode::limit_exceeded,
                  "the definition of procedure \"" + name + "\" is longer than 256 KiB");
  const control::RoutineDescriptor* const found = routines_.get(name);
  const bool is_new = found == nullptr;
  if (is_new && name.front() == kViewMark && name_taken(name.substr(1)))
    return Status(ErrorCode::duplicate_table, "relation \"" + name.substr(1) + "\" already exists");
  if (is_new && request.replaces_version() != 0)
    return Status(ErrorCode::undefined_function, "procedure \"" + name + "\" was dropped meanwhile");
  // One of a library, which is not in the catalog: its rights would become those of another owner.
  if (is_new && name.front() != kViewMark && find_rights(rights_of_routine(name)) != nullptr)
    return Status(ErrorCode::duplicate_function,
                  "procedure \"" + name + "\" has privileges of its own, as one of a library",
                  "choose another name");
  if (!is_new && request.replaces_version() == 0)
    return Status(ErrorCode::duplicate_function,
                  "function \"" + name + "\" already exists with same argument types");
  if (!is_new && request.replaces_version() != found->version())
    return Status(ErrorCode::duplicate_function, "procedure \"" + name + "\" was replaced meanwhile");
  control::RoutineDescriptor routine;
  routine.set_id(is_new ? next_id_ : found->id());
  routine.set_name(name);
  routine.set_definition(request.definition());
  routine.set_version(version_ + 1);
  const std::size_t freed_bytes = is_new ? 0 : found->ByteSizeLong() + kFrame_bytes;
  Status room = check_room(routine.ByteSizeLong() + kFrame_bytes, freed_bytes,
                           "drop tables or procedures that are not needed");
  if (!room.ok()) return room;
  if (is_new) ++next_id_;
  put_routine(std::move(routine));
  if (is_new) own(rights_of_routine(name), request.owner());
  changed();
  return version_;
}

Result<std::uint64_t> Catalog::drop_routine(const control::DropRoutineRequest& request) {
  const control::RoutineDescriptor* const found = routines_.get(request.name());
  if (found == nullptr)
    return Status(ErrorCode::undefined_function,
                  "could not find a procedure named \"" + request.name() + "\"");
  if (found->version() != request.version())
    return Status(ErrorCode::undefined_function,
                  "procedure \"" + request.name() + "\" was replaced meanwhile");
  erase_routine(found->id());
  disown(rights_of_routine(request.name()));
  changed();
  return version_;
}

}  // namespace namdb::memory
