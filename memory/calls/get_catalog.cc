// GET_CATALOG: the whole catalog, unless the caller's version is the latest.
#include <algorithm>

#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

Status get_catalog(Caller caller, const control::GetCatalogRequest& request,
                   control::GetCatalogReply& reply) {
  const Catalog& catalog = *caller.server.catalog;
  reply.set_version(catalog.version());
  reply.set_acknowledged(std::min(caller.server.peers.acknowledged().catalog, catalog.version()));
  if (request.known_version() == catalog.version()) {
    reply.set_unchanged(true);
    return Status();
  }
  for (const auto& [name, table] : catalog.tables()) *reply.add_tables() = table;
  for (const std::uint32_t table : catalog.creating()) reply.add_creating(table);
  for (const auto& [name, index] : catalog.indexes()) *reply.add_indexes() = index;
  for (const auto& [id, index] : catalog.indexes_beside()) *reply.add_indexes() = index;
  for (const auto& [name, routine] : catalog.routines()) *reply.add_routines() = routine;
  for (const auto& [id, role] : catalog.roles()) *reply.add_roles() = role;
  for (const auto& [id, rights] : catalog.rights()) *reply.add_rights() = rights;
  reply.set_roles_version(catalog.roles_version());
  return Status();
}

}  // namespace namdb::memory::handlers
