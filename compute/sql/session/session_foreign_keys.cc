// Foreign keys as schema changes: they are made in steps, so that no transaction that does not know of one
// breaks it (docs/internals/foreign-keys.md).
#include <algorithm>
#include <string>
#include <utility>

#include "compute/api/table_change.h"
#include "compute/sql/bind/bind_foreign_key.h"
#include "compute/sql/execute/foreign_keys.h"
#include "compute/sql/session/session.h"

namespace namdb::sql {

using reactor::Task;

namespace {

constexpr std::uint32_t kAttempts = 16;
constexpr std::size_t kValuesAtOnce = 16 * kForeignKeysAtOnce;

// A change of nothing.
txn::TableAlteration alteration_of(const storage::TableRef& table) {
  txn::TableAlteration alteration;
  alteration.table = table;
  alteration.name = table->name;
  alteration.columns = table->schema.columns();
  alteration.checks = table->checks;
  alteration.foreign_keys = table->foreign_keys;
  return alteration;
}

}  // namespace

Task<Status> Session::change_foreign_keys(std::string table,
                                          std::function<void(std::vector<storage::ForeignKey>&)> change) {
  for (std::uint32_t attempt = 1;; ++attempt) {
    std::string name = table;
    const auto found = co_await engine_.table(std::move(name));
    if (!found.ok()) co_return found.status();
    txn::TableAlteration alteration = alteration_of(*found);
    change(alteration.foreign_keys);
    if (alteration.foreign_keys == (*found)->foreign_keys) co_return Status();
    Status status = co_await engine_.alter_table(std::move(alteration));
    if (status.ok() || status.code() != ErrorCode::table_is_altered || attempt == kAttempts) co_return status;
    status = interrupt_.check();
    if (!status.ok()) co_return status;
    co_await engine_.backoff(attempt);
    const auto refreshed = co_await engine_.tables();
    if (!refreshed.ok()) co_return refreshed.status();
  }
}

Task<Status> Session::drop_foreign_key(std::string table, std::string key) {
  const auto erase = [key](std::vector<storage::ForeignKey>& keys) {
    std::erase_if(keys, [&key](const storage::ForeignKey& one) { return one.name == key; });
  };
  Status status = co_await change_foreign_keys(std::move(table), erase);
  co_return !status.ok() && status.code() == ErrorCode::undefined_table ? Status() : status;
}

Task<Status> Session::settle_foreign_keys(std::string table, std::vector<std::string> validated) {
  // Keys that others add while it waits are settled by them.
  std::string asked = table;
  const auto before = co_await engine_.table(std::move(asked));
  if (!before.ok()) co_return before.status();
  std::vector<std::string> known;
  for (const storage::ForeignKey& key : (*before)->foreign_keys) known.push_back(key.name);
  Status status = co_await engine_.settle_catalog();
  if (!status.ok()) co_return status;
  for (const std::string& key : validated) {
    std::string name = table;
    std::string checked = key;
    status = co_await check_rows(std::move(name), std::move(checked));
    if (!status.ok()) co_return status;
  }
  const auto settle = [validated, known](std::vector<storage::ForeignKey>& keys) {
    for (storage::ForeignKey& key : keys) {
      if (std::ranges::find(known, key.name) != known.end()) key.unsettled = false;
      if (std::ranges::find(validated, key.name) != validated.end()) key.not_valid = false;
    }
  };
  co_return co_await change_foreign_keys(std::move(table), settle);
}

Task<Status> Session::check_rows(std::string table, std::string key) {
  BindInput input;
  input.procedures = &environment_.procedures;
  input.facts = &facts_;
  std::vector<std::string> names(1, table);
  Status status = co_await look_up_tables(std::move(names), &input);
  if (!status.ok()) co_return status;
  const auto child = input.tables.find(table);
  if (child == input.tables.end()) co_return Status();
  StatementBinder binder{input, {}};
  const auto bound = foreign_keys_of_write(binder, child->second, WriteKind::inserts, nullptr);
  if (!bound.ok()) co_return bound.status();
  if (*bound == nullptr) co_return Status();
  const ForeignKeyGraph& graph = **bound;
  const auto reference = std::ranges::find_if(graph.references, [&](const ForeignKeyGraph::Reference& one) {
    return one.child == 0 && one.key.name == key;
  });
  if (reference == graph.references.end()) co_return Status();
  for (std::uint32_t attempt = 1;; ++attempt) {
    status = co_await check_rows(&graph, &*reference);
    if (status.ok() || !status.info().retry || attempt == kAttempts) co_return status;
    co_await engine_.backoff(attempt);
  }
}

// All writers know of the foreign key: rows that are not in the scan's snapshot are sound.
Task<Status> Session::check_rows(const ForeignKeyGraph* graph, const ForeignKeyGraph::Reference* reference) {
  const storage::TableRef child = graph->tables[reference->child].table;
  GatheredMemory memory("foreign keys can keep", "");
  const std::unique_ptr<txn::Transaction> reader = begin();
  const std::unique_ptr<txn::TableScan> scan = reader->scan(child);
  std::vector<layout::Row> rows;
  auto values = std::make_unique<ForeignKeyValues>(memory);
  Portal scratch;
  GatheredRows sink;  // there are none
  while (true) {
    if (Status status = interrupt_.check(); !status.ok()) co_return status;
    Status status = co_await scan->next(rows);
    if (!status.ok()) co_return status;
    Run run = make_run(nullptr, scratch, sink);
    for (const layout::Row& row : rows) {
      const std::size_t nulls = count_nulls(row.view(), reference->columns);
      if (nulls == 0) status = values->add(run, row.view(), reference->columns, nullptr);
      if (nulls != 0 && nulls < reference->columns.size() && reference->key.match_full) {
        ForeignKeyChecks checks(run, graph);
        status = checks.note_insert(row.view());
      }
      if (!status.ok()) co_return status;
    }
    if (values->size() >= kValuesAtOnce || (rows.empty() && values->size() != 0)) {
      status = co_await check_values(graph, reference, values.get());
      if (!status.ok()) co_return status;
      values = std::make_unique<ForeignKeyValues>(memory);
    }
    co_await engine_.executor().yield();
    if (rows.empty()) co_return Status();
  }
}

// In a snapshot of their own: a value without a parent counts if a child still has it.
Task<Status> Session::check_values(const ForeignKeyGraph* graph, const ForeignKeyGraph::Reference* reference,
                                   const ForeignKeyValues* values) {
  const std::unique_ptr<txn::Transaction> reader = begin();
  Portal scratch;
  GatheredRows sink;  // there are none
  Run run = make_run(reader.get(), scratch, sink);
  std::vector<std::optional<txn::RowId>> parents;
  for (std::size_t first = 0; first < values->size(); first += kForeignKeysAtOnce) {
    Status status = co_await find_parents(&run, graph, reference, values, first, false, &parents);
    for (std::size_t i = 0; i < parents.size() && status.ok(); ++i) {
      if (parents[i]) continue;
      status = co_await ForeignKeyChecks::check_orphans(&run, graph, reference, (*values)[first + i]);
    }
    if (!status.ok()) co_return status;
  }
  co_return co_await reader->commit();
}

}  // namespace namdb::sql
