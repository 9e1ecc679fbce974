#include "compute/cluster/catalog_changes.h"

#include <utility>

namespace namdb::txn {
namespace {

template <typename Entries, typename Entry>
void take(Entries& entries, google::protobuf::RepeatedPtrField<Entry>& list) {
  for (Entry& entry : list) entries[entry.id()] = std::move(entry);
}

// An entry that changed between two replies is in both: the later one counts.
void merge(CatalogChanges& changes, control::GetCatalogReply& reply) {
  if (!reply.difference()) {
    changes = CatalogChanges();
    changes.whole = true;
  }
  for (const std::uint32_t id : reply.dropped()) {
    changes.tables.erase(id);
    changes.indexes.erase(id);
    changes.routines.erase(id);
    changes.roles.erase(id);
    changes.rights.erase(id);
    changes.dropped.insert(id);
  }
  take(changes.tables, *reply.mutable_tables());
  take(changes.indexes, *reply.mutable_indexes());
  take(changes.routines, *reply.mutable_routines());
  take(changes.roles, *reply.mutable_roles());
  take(changes.rights, *reply.mutable_rights());
  changes.position = reply.position();
}

}  // namespace

reactor::Task<Status> read_changes(Cluster* cluster, std::uint64_t version, std::uint64_t position,
                                   CatalogChanges* changes) {
  control::GetCatalogRequest request;
  request.set_known_version(version);
  request.set_position(position);
  while (true) {
    control::GetCatalogReply reply;
    Status status = co_await cluster->call(0, control::GET_CATALOG, request, &reply);
    if (!status.ok() || reply.unchanged()) co_return status;
    if (reply.more() && reply.difference() && reply.position() <= request.position())
      co_return Status(ErrorCode::protocol_violation, "the catalog of memory server 0 has no end");
    merge(*changes, reply);
    if (!reply.more()) {
      changes->version = reply.version();
      changes->roles_version = reply.roles_version();
      co_return Status();
    }
    // The entries so far are not yet a version of the catalog.
    request.set_known_version(0);
    request.set_position(reply.position());
    request.set_listing(reply.listing());
  }
}

}  // namespace namdb::txn
