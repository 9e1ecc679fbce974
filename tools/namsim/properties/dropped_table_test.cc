// A table is dropped while a transaction that has used it runs.
#include <catch2/catch.hpp>
#include <utility>
#include <vector>

#include "tools/namsim/testing/two_computes.h"

namespace namdb::sim {
namespace {

// Drops the table between two scans of one index in one transaction; `again`: the answer of the second scan.
reactor::Task<Status> find_around_drop(compute::Worker* worker, Status* again) {
  const auto table = co_await worker->table(TwoComputes::kTable);
  if (!table.ok()) co_return table.status();
  const auto session = worker->open_session();
  const auto transaction = worker->begin(*session);
  const storage::IndexRef index = (*table)->indexes.front();
  std::vector<txn::RowId> rows;
  const auto range = [&index] { return layout::index_range(layout::IndexPrefix(index->shape).integer(1)); };
  if (Status status = co_await transaction->find(*table, index, range(), rows); !status.ok())
    co_return status;
  if (Status status = co_await worker->drop_table(TwoComputes::kTable); !status.ok()) co_return status;
  *again = co_await transaction->find(*table, index, range(), rows);
  co_return Status();
}

}  // namespace

TEST_CASE("a transaction that scans an index of a table dropped since its first scan is told of the drop",
          "[engine]") {
  const bool hash = GENERATE(false, true);
  TwoComputes test(1);
  REQUIRE(test.run(0, test.worker(0).create_index({"by_id", TwoComputes::kTable, {{0, false}}, false, hash}))
              .ok());
  Status again;
  REQUIRE(test.run(0, find_around_drop(&test.worker(0), &again)).ok());
  REQUIRE_FALSE(again.ok());
  CHECK(again.code() == ErrorCode::catalog_changed);
}

}  // namespace namdb::sim
