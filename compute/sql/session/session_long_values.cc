// The tables that keep long values (compute/api/long_value_tables.h) follow those whose values they keep.
#include <string>
#include <utility>
#include <vector>

#include "compute/api/long_value_tables.h"
#include "compute/api/table_change.h"
#include "compute/sql/execute/long_value_rows.h"
#include "compute/sql/session/session.h"

namespace namdb::sql {

using reactor::Task;

namespace {

constexpr std::size_t kErasedAtOnce = 256;
constexpr std::uint32_t kEraseAttempts = 64;

}  // namespace

Task<Status> Session::drop_long_values(std::uint32_t table) {
  // Other servers may have made them.
  const auto tables = co_await engine_.tables();
  if (!tables.ok()) co_return tables.status();
  for (const storage::TableRef& keeper : *tables) {
    if (!storage::keeps_long_values_of(table, keeper->name)) continue;
    std::string name = keeper->name;
    Status status = co_await engine_.drop_table(std::move(name));
    if (!status.ok() && status.code() != ErrorCode::undefined_table) co_return status;
  }
  co_return Status();
}

// The rows name them by their numbers, which stay.
Task<Status> Session::rename_long_values(std::uint32_t from, std::uint32_t to) {
  const auto tables = co_await engine_.tables();
  if (!tables.ok()) co_return tables.status();
  for (const storage::TableRef& keeper : *tables) {
    if (!storage::keeps_long_values_of(from, keeper->name)) continue;
    txn::TableAlteration alteration;
    alteration.table = keeper;
    alteration.columns = keeper->schema.columns();
    const std::string_view own(keeper->name.data() + storage::long_values_prefix(from).size());
    alteration.name = storage::long_values_prefix(to).append(own);
    txn::TableAlteration wanted = alteration;
    Status status = co_await engine_.alter_table(std::move(wanted));
    if (!status.ok() && status.code() == ErrorCode::duplicate_table) {
      // A row with such a value was written meanwhile: there are two of them from now on.
      alteration.name += " " + std::to_string(keeper->id);
      status = co_await engine_.alter_table(std::move(alteration));
    }
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

Task<Status> Session::erase_long_values(std::vector<std::string> places, ResultSink& sink) {
  for (std::size_t first = 0; first < places.size(); first += kErasedAtOnce) {
    for (std::uint32_t attempt = 1;; ++attempt) {
      const std::unique_ptr<txn::Transaction> eraser = begin();
      Portal scratch;
      Run run = make_run(eraser.get(), scratch, sink);
      for (std::size_t i = first; i < std::min(places.size(), first + kErasedAtOnce); ++i)
        run.long_values.note_gone(places[i]);
      Status status = co_await commit_long_values(&run);
      if (status.ok()) break;
      if (!status.info().retry || attempt == kEraseAttempts) co_return status;
      co_await engine_.backoff(attempt);
    }
  }
  co_return Status();
}

}  // namespace namdb::sql
