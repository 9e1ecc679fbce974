#include "compute/schema/routines.h"

#include <utility>

#include "compute/cluster/catalog_cache.h"
#include "proto/control.pb.h"

namespace namdb::schema {

reactor::Task<Status> Routines::create(txn::RoutineDefinition definition) {
  control::CreateRoutineRequest request;
  request.set_name(std::move(definition.name));
  request.set_definition(std::move(definition.text));
  request.set_replaces_version(definition.replaces_version);
  request.set_owner(definition.owner);
  Status status = co_await state_.cluster.call(0, control::CREATE_ROUTINE, request, nullptr);
  if (!status.ok()) co_return status;
  co_return co_await state_.catalog.refresh();
}

reactor::Task<Status> Routines::drop(std::string name, std::uint64_t version) {
  control::DropRoutineRequest request;
  request.set_name(std::move(name));
  request.set_version(version);
  Status status = co_await state_.cluster.call(0, control::DROP_ROUTINE, request, nullptr);
  if (!status.ok()) co_return status;
  co_return co_await state_.catalog.refresh();
}

}  // namespace namdb::schema
