#include "tools/namsim/workloads/index_workload.h"

#include <algorithm>
#include <map>

#include "common/layout/hash_entry.h"
#include "common/layout/index_key.h"
#include "common/layout/key.h"
#include "tools/namsim/workloads/tables.h"

namespace namdb::sim {

using storage::IndexRef;
using storage::TableRef;

namespace {

enum ThingColumn : std::uint32_t { kId, kColor, kLabel, kCode };

constexpr std::uint64_t kColors = 4;
constexpr std::uint64_t kCodes = 24;

layout::Schema things() {
  std::vector<layout::Column> columns(4);
  columns[kId] = {.name = "id"};
  columns[kColor] = {.name = "color", .type = layout::ColumnType::integer, .not_null = true};
  columns[kLabel] = {.name = "label", .type = layout::ColumnType::varchar, .length_bytes = 12};
  columns[kCode] = {.name = "code", .type = layout::ColumnType::integer};
  return std::move(*layout::Schema::create(std::move(columns), {kId}));
}

void fill_row(layout::RowWriter writer, Random& draw) {
  Status status = writer.set_integer(kColor, static_cast<std::int64_t>(draw.below(kColors)));
  if (draw.chance(0.2)) {
    writer.set_null(kLabel);
  } else if (status.ok()) {
    status = writer.set_text(kLabel, std::string(draw.below(9), 'l') + std::to_string(draw.below(3)));
  }
  if (draw.chance(0.4)) {
    writer.set_null(kCode);
  } else if (status.ok()) {
    status = writer.set_integer(kCode, static_cast<std::int64_t>(draw.below(kCodes)));
  }
  NAMDB_CHECK(status.ok());
}

}  // namespace

reactor::Task<Status> IndexWorkload::load(txn::Engine* engine) {
  txn::TableDefinition table;
  table.name = kTable;
  table.schema = things();
  table.size_hint_rows = keys_;
  table.ring_slots = 1;
  Status status = co_await engine->create_table(std::move(table));
  if (!status.ok()) co_return status;
  txn::IndexDefinition definition{kByColor, kTable, {{kColor, false}, {kLabel, true}}, false};
  status = co_await engine->create_index(std::move(definition));
  if (!status.ok()) co_return status;
  txn::IndexDefinition shade{kByShade, kTable, {{kColor, false}, {kCode, false}}, false, true};
  co_return co_await engine->create_index(std::move(shade));
}

void IndexWorkload::write(txn::Transaction& transaction, const TableRef& table, txn::RowId row,
                          std::int64_t id, Random& draw) {
  if (!transaction.found(row)) {
    layout::Row fresh(table->schema);
    NAMDB_CHECK(fresh.writer().set_integer(kId, id).ok());
    fill_row(fresh.writer(), draw);
    transaction.insert(table, fresh.bytes());
  } else if (draw.chance(0.3)) {
    transaction.erase(row);
  } else {
    fill_row(transaction.update(row), draw);
  }
}

reactor::Task<bool> IndexWorkload::run_one(txn::Engine* engine, txn::Session* session, Random* draw) {
  const auto table = co_await engine->table(kTable);
  if (!table.ok()) co_return false;
  // Of the time before the snapshot: in an older one there may be duplicates.
  const std::vector<IndexRef> former = (*table)->indexes;
  const auto transaction = engine->begin(*session);
  Status status;
  if (draw->chance(0.3)) status = co_await compare(transaction.get(), *table, &former, draw);
  const std::uint64_t writes = draw->below(4);
  for (std::uint64_t i = 0; i < writes && status.ok(); ++i) {
    const auto id = static_cast<std::int64_t>(draw->below(keys_));
    const txn::RowId row = transaction->get(*table, layout::Key((*table)->schema).integer(id).bytes());
    status = co_await transaction->fetch();
    if (status.ok()) write(*transaction, *table, row, id, *draw);
  }
  if (status.ok() && draw->chance(0.5)) status = co_await compare(transaction.get(), *table, &former, draw);
  if (status.ok()) status = co_await transaction->commit();
  if (!status.ok() && status.code() == ErrorCode::duplicate_key) ++duplicates_;
  if (!status.ok() && (status.code() == ErrorCode::corrupt_data || status.code() == ErrorCode::internal ||
                       status.code() == ErrorCode::protocol_violation)) {
    fail(status.to_string());
  }
  co_return status.ok();
}

reactor::Task<Status> IndexWorkload::compare(txn::Transaction* transaction, TableRef table,
                                             const std::vector<IndexRef>* former, Random* draw) {
  const auto scan = transaction->scan(table);
  std::vector<layout::Row> all;
  std::vector<layout::Row> some;
  do {
    Status status = co_await scan->next(some);
    if (!status.ok()) co_return status;
    all.insert(all.end(), some.begin(), some.end());
  } while (!some.empty());
  // A copy: the worker's catalog may change the table's list meanwhile.
  const std::vector<IndexRef> indexes = table->indexes;
  for (const IndexRef& index : indexes) {
    if (!index->ready()) continue;
    txn::IndexRange range;
    range.descending = draw->chance(0.5);
    if (draw->chance(0.3)) range.limit = draw->between(1, 5);
    if (!all.empty() && draw->chance(0.7)) {
      const auto key_of = [&] {
        return layout::index_key(index->shape, all[draw->below(all.size())].view());
      };
      range.low = draw->chance(0.5) ? key_of().bytes : std::string(key_of().declared());
      if (draw->chance(0.5)) range.high = key_of().bytes;
      if (draw->chance(0.3)) range.high = layout::index_successor(range.low);
      // A hash index answers single keys; for other ranges the table is scanned.
      if (index->hash && draw->chance(0.9)) {
        range.low = key_of().declared();
        range.high = layout::index_successor(range.low);
      }
    }
    Status status = co_await compare_index(transaction, table, index, &all, std::move(range));
    if (!status.ok()) co_return status;
    if (index->name == kByShade && !transaction->has_writes()) {
      status = co_await compare_entries(transaction, index, &all);
      if (!status.ok()) co_return status;
    }
    // Own rows are checked when they are committed. Of an index that was replaced, the one in its place may
    // be gone again, and with it the promise.
    const bool kept = !index->replaced() || std::ranges::any_of(indexes, [&](const IndexRef& other) {
      return other->ready_version == index->replaced_version && !other->replaced();
    });
    const bool was_ready = kept && std::ranges::any_of(*former, [&](const IndexRef& other) {
                             return other->id == index->id && other->ready();
                           });
    if (index->unique && was_ready && !transaction->has_writes()) {
      status = co_await report(transaction, duplicates_of(all));
      if (!status.ok()) co_return status;
    }
  }
  co_return Status();
}

reactor::Task<Status> IndexWorkload::compare_entries(txn::Transaction* transaction, IndexRef index,
                                                     const std::vector<layout::Row>* all) {
  std::vector<std::string> expected;
  for (const layout::Row& row : *all) expected.push_back(layout::index_key(index->shape, row.view()).bytes);
  std::vector<std::string> found;
  const auto scan = transaction->scan(index->entries);
  std::vector<layout::Row> some;
  do {
    Status status = co_await scan->next(some);
    if (!status.ok()) co_return status;
    for (const layout::Row& entry : some) found.push_back(layout::index_key_of(entry.view()));
  } while (!some.empty());
  std::ranges::sort(expected);
  std::ranges::sort(found);
  if (found == expected) co_return Status();
  co_return co_await report(transaction, "index " + index->name + " has " + std::to_string(found.size()) +
                                             " entries, of " + std::to_string(expected.size()) +
                                             ", or others");
}

reactor::Task<Status> IndexWorkload::report(txn::Transaction* transaction, std::string mistake) {
  if (mistake.empty()) co_return Status();
  Status status = co_await transaction->confirm_reads();
  if (status.ok()) fail(mistake);
  co_return status;
}

std::string IndexWorkload::duplicates_of(const std::vector<layout::Row>& all) {
  std::map<std::int64_t, std::int64_t> ids;  // by code
  for (const layout::Row& row : all) {
    if (row.view().is_null(kCode)) continue;
    const auto [other, fresh] = ids.emplace(row.view().integer(kCode), row.view().integer(kId));
    if (fresh) continue;
    return "rows " + std::to_string(other->second) + " and " + std::to_string(row.view().integer(kId)) +
           " have the same code " + std::to_string(other->first);
  }
  return {};
}

reactor::Task<Status> IndexWorkload::compare_index(txn::Transaction* transaction, TableRef table,
                                                   IndexRef index, const std::vector<layout::Row>* all,
                                                   txn::IndexRange range) {
  std::vector<std::string> expected;
  for (const layout::Row& row : *all) {
    std::string key = layout::index_key(index->shape, row.view()).bytes;
    if (key >= range.low && (!range.high || key < *range.high)) expected.push_back(std::move(key));
  }
  std::ranges::sort(expected);
  if (range.descending) std::ranges::reverse(expected);
  std::vector<std::string> found;
  const auto scan = transaction->scan_index(table, index, range);
  std::vector<layout::Row> some;
  do {
    Status status = co_await scan->next(some);
    if (!status.ok()) co_return status;
    for (const layout::Row& row : some) found.push_back(layout::index_key(index->shape, row.view()).bytes);
  } while (!some.empty());
  ++compared_;
  in_parts_ += index->parts.size() > 1 ? 1 : 0;
  if (found != expected) {
    Status status = co_await report(
        transaction, "index " + index->name + " shows " + std::to_string(found.size()) +
                         (range.descending ? " rows of a range, downwards" : " rows of a range") +
                         ", a scan of the table " + std::to_string(expected.size()) +
                         ", or in another order");
    if (!status.ok()) co_return status;
  }
  co_return co_await compare_found(transaction, table, index, std::move(expected), std::move(range));
}

reactor::Task<Status> IndexWorkload::compare_found(txn::Transaction* transaction, TableRef table,
                                                   IndexRef index, std::vector<std::string> expected,
                                                   txn::IndexRange range) {
  if (range.limit != 0 && range.limit < expected.size()) expected.resize(range.limit);
  std::vector<txn::RowId> rows;
  Status status = co_await transaction->find(table, index, std::move(range), rows);
  if (!status.ok()) co_return status;
  std::vector<std::string> found;
  for (const txn::RowId row : rows) {
    found.push_back(transaction->found(row) ? layout::index_key(index->shape, transaction->row(row)).bytes
                                            : std::string());
  }
  if (found == expected) co_return Status();
  co_return co_await report(transaction, "index " + index->name + " finds " + std::to_string(found.size()) +
                                             " rows of a range, of " + std::to_string(expected.size()) +
                                             ", or in another order");
}

reactor::Task<void> IndexWorkload::change_aside(txn::Engine* engine, Random* draw) {
  txn::TableDefinition definition;
  definition.name = kAside;
  definition.schema = things();
  definition.size_hint_rows = 4;
  definition.unique.push_back({kAsideCode, {kCode}});
  const Status created = co_await engine->create_table(std::move(definition));
  if (!created.ok() && created.code() != ErrorCode::duplicate_table) co_return;
  if (draw->chance(0.3)) co_return;
  const Status dropped = co_await engine->drop_table(kAside);
  (void)dropped;
}

reactor::Task<void> IndexWorkload::rebuild_index(txn::Engine* engine, Random* draw) {
  const char* const name = draw->chance(0.5) ? kByColor : draw->chance(0.7) ? kByCode : kByLabel;
  const Status status = co_await engine->rebuild_index(name);
  if (status.ok()) ++rebuilt_;
  // It may be a hash index, or none may be there, or another client builds it.
  const bool wrong = !status.ok() &&
                     (status.code() == ErrorCode::duplicate_key || status.code() == ErrorCode::corrupt_data ||
                      status.code() == ErrorCode::internal || status.code() == ErrorCode::protocol_violation);
  if (wrong) fail("rebuilding " + std::string(name) + ": " + status.to_string());
}

reactor::Task<void> IndexWorkload::change_indexes(txn::Engine* engine, Random* draw) {
  if (draw->chance(0.3)) co_return co_await change_aside(engine, draw);
  if (draw->chance(0.6)) co_return co_await rebuild_index(engine, draw);
  const bool unique = draw->chance(0.5);
  const bool hash = draw->chance(0.5);
  txn::IndexDefinition definition{unique ? kByCode : kByLabel, kTable, {}, unique, hash};
  definition.columns = unique ? std::vector<layout::IndexColumn>{{kCode, !hash && draw->chance(0.5)}}
                              : std::vector<layout::IndexColumn>{{kLabel, false}, {kColor, true}};
  const std::string name = definition.name;
  const Status created = co_await engine->create_index(std::move(definition));
  if (created.ok()) ++built_;
  // There may be one of another client, or rows with the same code.
  if (!created.ok() && created.code() != ErrorCode::duplicate_table) co_return;
  if (draw->chance(0.5)) co_return;
  const Status dropped = co_await engine->drop_index(name, false);
  (void)dropped;
}

reactor::Task<Status> IndexWorkload::touch_all(txn::Engine* engine) {
  const auto session = engine->open_session();
  Random draw(keys_);
  for (std::uint64_t id = 0; id < keys_; ++id) {
    Status status;
    for (int attempt = 0; attempt < 1000; ++attempt) {
      const auto table = co_await engine->table(kTable);
      if (!table.ok()) co_return table.status();
      const auto transaction = engine->begin(*session);
      layout::Row row((*table)->schema);
      NAMDB_CHECK(row.writer().set_integer(kId, static_cast<std::int64_t>(id)).ok());
      fill_row(row.writer(), draw);
      row.writer().set_null(kCode);
      const txn::RowId found = transaction->get(*table, row.key());
      status = co_await transaction->fetch();
      if (status.ok()) {
        if (transaction->found(found)) transaction->erase(found);
        transaction->insert(*table, row.bytes());
        status = co_await transaction->commit();
      }
      if (status.ok() || !status.info().retry) break;
      co_await engine->backoff(static_cast<std::uint32_t>(attempt + 1));
    }
    if (!status.ok()) co_return status;
  }
  Status status;
  for (int attempt = 0; attempt < 1000; ++attempt) {
    status = co_await touch_hash_entries(*engine, kTable);
    if (status.ok() || !status.info().retry) break;
    co_await engine->backoff(static_cast<std::uint32_t>(attempt + 1));
  }
  co_return status;
}

reactor::Task<Status> IndexWorkload::compare_all(txn::Engine* engine) {
  const auto session = engine->open_session();
  for (int attempt = 0; attempt < 100; ++attempt) {
    const auto table = co_await engine->table(kTable);
    if (!table.ok()) co_return table.status();
    const auto transaction = engine->begin(*session);
    const auto scan = transaction->scan(*table);
    std::vector<layout::Row> all;
    std::vector<layout::Row> some;
    Status status;
    do {
      status = co_await scan->next(some);
      all.insert(all.end(), some.begin(), some.end());
    } while (status.ok() && !some.empty());
    rows_ = all.size();
    const std::vector<IndexRef> indexes = (*table)->indexes;
    for (const IndexRef& index : indexes) {
      for (const bool descending : {false, true}) {
        txn::IndexRange range;
        range.descending = descending;
        if (status.ok()) {
          status = co_await compare_index(transaction.get(), *table, index, &all, std::move(range));
        }
      }
      // One that a dead client was building is not ready.
      if (status.ok() && index->hash && index->ready())
        status = co_await compare_entries(transaction.get(), index, &all);
    }
    if (status.ok() || !status.info().retry) co_return status;
    co_await engine->backoff(1);
  }
  co_return Status(ErrorCode::internal, "the indexes could not be compared");
}

}  // namespace namdb::sim
