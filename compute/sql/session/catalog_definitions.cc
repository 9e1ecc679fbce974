#include "compute/sql/session/catalog_definitions.h"

#include <string>
#include <utility>

#include "compute/sql/bind/bind_routine.h"

namespace namdb::sql {

reactor::Task<Result<std::vector<ViewRef>>> read_views(txn::Engine* engine) {
  const auto routines = co_await engine->routines();
  if (!routines.ok()) co_return routines.status();
  std::vector<ViewRef> views;
  for (const storage::RoutineRef& routine : *routines) {
    if (!storage::is_view(*routine)) continue;
    Result<ViewRef> view = view_of(*routine);
    if (!view.ok()) co_return view.status();
    views.push_back(std::move(view).value());
  }
  co_return views;
}

Result<std::shared_ptr<const RoutineSignature>> read_signature(const storage::RoutineRef& routine,
                                                               const SessionFacts& facts,
                                                               RoutineCache* cache) {
  const std::string zone = facts.zone().name();
  std::shared_ptr<const RoutineSignature> signature;
  if (cache != nullptr) signature = cache->signature(*routine, zone);
  if (signature != nullptr) return signature;
  Result<std::shared_ptr<const RoutineSignature>> read = signature_of(routine, &facts);
  if (read.ok() && cache != nullptr) cache->add(*read, zone);
  return read;
}

}  // namespace namdb::sql
