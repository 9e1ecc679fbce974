// Fills a table through the engine, as a test of whole transactions needs it.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/layout/row.h"
#include "common/reactor/task.h"
#include "compute/api/engine.h"
#include "compute/api/server_table.h"
#include "compute/api/transaction.h"

namespace namdb::txn::testing {

// A hundred rows a transaction, one after the other. The engine and the rows outlive the task.
inline reactor::Task<Status> insert_rows(Engine* engine, std::string name,
                                         const std::vector<layout::Row>* rows) {
  auto table = co_await engine->table(std::move(name));
  if (!table.ok()) co_return table.status();
  const auto session = engine->open_session();
  for (std::size_t first = 0; first < rows->size(); first += 100) {
    const auto transaction = engine->begin(*session);
    for (std::size_t i = first; i < std::min(first + 100, rows->size()); ++i)
      transaction->insert(*table, (*rows)[i].bytes());
    if (Status status = co_await fetch_and_commit(transaction.get()); !status.ok()) co_return status;
  }
  co_return Status();
}

}  // namespace namdb::txn::testing
