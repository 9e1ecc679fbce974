#include "compute/txn/latest_committed.h"

#include "compute/cluster/catalog_cache.h"

namespace namdb::protocol {

reactor::Task<Status> CatalogVisibility::prepare() {
  if (started_ns_ == 0) started_ns_ = worker_.executor.fresh_now_ns();
  co_return Status();
}

// The READ shows every change of the catalog that was made before the transaction began.
void CatalogVisibility::piggyback(txn::BatchSet& batches) {
  if (!catalog_word_) catalog_word_ = fabric::LocalBuffer(worker_.cluster.pool(), 8);
  batches.read(worker_.cluster.catalog_word(), catalog_word_.data(), 8);
}

reactor::Task<Result<SnapshotCheck>> CatalogVisibility::confirm_snapshot() {
  catalog_version_ = catalog_word_.word();
  ready_ = true;
  if (catalog_version_ > worker_.catalog.version()) {
    Status status = co_await worker_.catalog.refresh();
    if (!status.ok()) co_return status;
  }
  co_return SnapshotCheck::confirmed;
}

ReadDecision LatestVisibility::check_visibility(const RecordRead& read) {
  if (ignores_locks()) return ReadDecision::visible;
  if (read.header.locked())
    return read.header == owner_.own_lock() ? ReadDecision::visible : owner_.meet_lock(read.header);
  // One READ shows words of different moments.
  return read.header == read.body.header_word() ? ReadDecision::visible : ReadDecision::torn;
}

}  // namespace namdb::protocol
