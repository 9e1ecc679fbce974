// GET_CATALOG: changes of the catalog, or a part of it (memory/coordinator/catalog_changes.cc).
#include <algorithm>

#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

Status get_catalog(Caller caller, const control::GetCatalogRequest& request,
                   control::GetCatalogReply& reply) {
  const Catalog& catalog = *caller.server.catalog;
  catalog.describe(request, reply);
  reply.set_acknowledged(std::min(caller.server.peers.acknowledged().catalog, catalog.version()));
  return Status();
}

}  // namespace namdb::memory::handlers
