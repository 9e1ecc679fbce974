#include "tools/namsim/testing/pairs_table.h"

#include <algorithm>

#include "tools/namsim/workloads/tables.h"

namespace namdb::sim {

reactor::Task<Status> load_pairs(txn::Engine* engine, std::int64_t rows, std::int64_t at_once) {
  const layout::Schema schema = bigints({"id", "value"});
  // So many rows that the table does not grow: no test of costs is about growth.
  Status status = co_await create_table(*engine, kPairs, schema, 65'536, 0);
  if (!status.ok()) co_return status;
  auto table = co_await engine->table(kPairs);
  const auto session = engine->open_session();
  for (std::int64_t id = 0; id < rows && status.ok();) {
    const auto transaction = engine->begin(*session);
    for (const std::int64_t end = std::min(rows, id + at_once); id < end && status.ok(); ++id)
      status = insert_pair(*transaction, *table, id, 0);
    if (status.ok()) status = co_await transaction->fetch();
    if (status.ok()) status = co_await transaction->commit();
  }
  co_return status;
}

}  // namespace namdb::sim
