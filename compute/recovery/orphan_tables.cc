#include "compute/recovery/orphan_tables.h"

#include <set>
#include <utility>
#include "proto/control.pb.h"

namespace namdb::txn {

void OrphanTables::learn(std::size_t server, std::uint64_t peers_gone) {
  if (gone_.size() <= server) gone_.resize(server + 1);
  if (std::exchange(gone_[server], peers_gone) != peers_gone) peer_gone_ = true;
}

reactor::Task<Status> OrphanTables::discard() {
  if (!peer_gone_) co_return Status();
  peer_gone_ = false;
  Status status = co_await discard_all();
  if (!status.ok()) peer_gone_ = true;
  co_return status;
}

// The catalog is read last. Ids are begun there before any memory server hears of them and are never used
// again: a table that is listed, and then is neither created nor being created, will never be.
reactor::Task<Status> OrphanTables::discard_all() {
  std::vector<control::ListTablesReply> kept(cluster_.server_count());
  for (std::size_t server = 0; server < kept.size(); ++server) {
    if (cluster_.lacks(static_cast<layout::ServerId>(server))) continue;
    const control::ListTablesRequest request;
    Status status = co_await cluster_.call(static_cast<layout::ServerId>(server), control::LIST_TABLES,
                                           request, &kept[server]);
    if (!status.ok()) co_return status;
  }
  control::GetCatalogRequest request;
  request.set_part(control::CATALOG_IDS);
  control::GetCatalogReply catalog;
  Status status = co_await cluster_.call(0, control::GET_CATALOG, request, &catalog);
  if (!status.ok()) co_return status;
  std::set<std::uint32_t> known(catalog.creating().begin(), catalog.creating().end());
  known.insert(catalog.ids().begin(), catalog.ids().end());
  for (std::size_t server = 0; server < kept.size(); ++server) {
    for (const std::uint32_t table : kept[server].tables()) {
      if (known.contains(table)) continue;
      control::DiscardTableRequest discard;
      discard.set_table(table);
      status = co_await cluster_.call(static_cast<layout::ServerId>(server), control::DISCARD_TABLE, discard,
                                      nullptr);
      if (cluster_.lacks(static_cast<layout::ServerId>(server))) co_return status;
    }
  }
  co_return Status();
}

}  // namespace namdb::txn
