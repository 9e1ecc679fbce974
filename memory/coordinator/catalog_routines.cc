// The catalog's part about routines. A routine may have the name of a table or an index, but not if it is a
// view; its number is none of theirs.
#include "memory/coordinator/catalog.h"

namespace namdb::memory {

Result<std::uint64_t> Catalog::create_routine(const control::CreateRoutineRequest& request) {
  const std::string& name = request.name();
  if (name.empty() || name.size() > kMaxName_bytes)
    return Status(ErrorCode::invalid_function_definition, "a procedure's name has 1 to 255 bytes");
  if (request.definition().size() > kMaxDefinition_bytes)
    return Status(ErrorCode::limit_exceeded,
                  "the definition of procedure \"" + name + "\" is longer than 256 KiB");
  const auto found = routines_.find(name);
  const bool is_new = found == routines_.end();
  if (is_new && name.front() == kViewMark && name_taken(name.substr(1)))
    return Status(ErrorCode::duplicate_table, "relation \"" + name.substr(1) + "\" already exists");
  if (is_new && request.replaces_version() != 0)
    return Status(ErrorCode::undefined_function, "procedure \"" + name + "\" was dropped meanwhile");
  // One of a library, which is not in the catalog: its rights would become those of another owner.
  if (is_new && name.front() != kViewMark && find_rights(rights_of_routine(name)) != rights_.end())
    return Status(ErrorCode::duplicate_function,
                  "procedure \"" + name + "\" has privileges of its own, as one of a library",
                  "choose another name");
  if (!is_new && request.replaces_version() == 0)
    return Status(ErrorCode::duplicate_function,
                  "function \"" + name + "\" already exists with same argument types");
  if (!is_new && request.replaces_version() != found->second.version())
    return Status(ErrorCode::duplicate_function, "procedure \"" + name + "\" was replaced meanwhile");
  control::RoutineDescriptor routine;
  routine.set_id(is_new ? next_id_ : found->second.id());
  routine.set_name(name);
  routine.set_definition(request.definition());
  routine.set_version(version_ + 1);
  const std::size_t freed_bytes = is_new ? 0 : found->second.ByteSizeLong() + kFrame_bytes;
  const std::size_t bytes = encoded_bytes_ - freed_bytes + routine.ByteSizeLong() + kFrame_bytes;
  if (bytes > kMaxCatalog_bytes)
    return Status(ErrorCode::limit_exceeded, "the catalog is full",
                  "drop tables or procedures that are not needed");
  if (is_new) ++next_id_;
  encoded_bytes_ = bytes;
  routines_[name] = std::move(routine);
  if (is_new) own(rights_of_routine(name), request.owner());
  changed();
  return version_;
}

Result<std::uint64_t> Catalog::drop_routine(const control::DropRoutineRequest& request) {
  const auto found = routines_.find(request.name());
  if (found == routines_.end())
    return Status(ErrorCode::undefined_function,
                  "could not find a procedure named \"" + request.name() + "\"");
  if (found->second.version() != request.version())
    return Status(ErrorCode::undefined_function,
                  "procedure \"" + request.name() + "\" was replaced meanwhile");
  encoded_bytes_ -= found->second.ByteSizeLong() + kFrame_bytes;
  routines_.erase(found);
  disown(rights_of_routine(request.name()));
  changed();
  return version_;
}

}  // namespace namdb::memory
