#include "compute/index/index_sample.h"

#include "compute/txn/bucket_scan.h"

namespace namdb::protocol {

reactor::Task<Status> sample_index_keys(TransactionState* transaction, storage::TableRef table,
                                        IndexSample sample, std::vector<std::string>* keys) {
  ScanPosition begin;
  begin.server = sample.server;
  BucketScan scan(*transaction, table, begin);
  std::vector<layout::Row> some;
  std::size_t taken = 0;
  do {
    Status status = co_await scan.next(some);
    if (!status.ok()) co_return status;
    for (const layout::Row& row : some) {
      // One READ may reach into the next server's buckets.
      if (table->server_of(table->hash_of(row.key())) != sample.server || taken == sample.rows) continue;
      ++taken;
      const layout::IndexKey key = layout::index_key(*sample.shape, row.view());
      if (key.bytes.size() > sample.max_key_bytes) continue;
      keys->emplace_back(sample.declared_only ? key.declared() : std::string_view(key.bytes));
    }
    if (scan.position().server != sample.server) scan.wind_up();
  } while (!some.empty() && taken < sample.rows &&
           transaction->worker().executor.now_ns() < sample.enough_ns);
  co_return Status();
}

}  // namespace namdb::protocol
