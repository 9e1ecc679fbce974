#include "compute/sql/execute/long_value_rows.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "common/layout/long_value.h"
#include "compute/api/long_value_tables.h"
#include "compute/api/server_table.h"
#include "compute/sql/execute/part_cost.h"

namespace namdb::sql {
namespace {

using layout::LongValuePlace;
using storage::TableRef;

// A value of at most a small part's bytes lies in one of those, every other one in large parts. Records have
// room for two versions of a row.
constexpr std::uint32_t kSmallPart_bytes = 480;
constexpr std::uint32_t kLargePart_bytes = 2000;
constexpr std::uint32_t kId = 0;
constexpr std::uint32_t kNumber = 1;
constexpr std::uint32_t kBytes = 2;

Result<txn::TableDefinition> definition_of(const LongValues::WantedTable& wanted) {
  std::vector<layout::Column> columns(3);
  columns[kId].name = "id";
  columns[kId].type = layout::ColumnType::uuid;
  columns[kNumber].name = "number";
  columns[kNumber].type = layout::ColumnType::integer;
  columns[kBytes].name = "bytes";
  columns[kBytes].type = layout::ColumnType::bytea;
  columns[kBytes].length_bytes = wanted.part_bytes;
  auto schema = layout::Schema::create(std::move(columns), {kId, kNumber});
  if (!schema.ok()) return schema.status();
  txn::TableDefinition made;
  made.name = wanted.name;
  made.schema = std::move(*schema);
  made.ring_slots = 1;
  return made;
}

// While another session makes it, it is waited for: a block cannot begin again.
reactor::Task<Status> make_table(Run* run, txn::TableDefinition definition) {
  for (std::uint32_t attempt = 1;; ++attempt) {
    txn::TableDefinition wanted = definition;
    const auto made = co_await txn::find_or_create(&run->engine, std::move(wanted));
    if (made.ok()) co_return Status();
    const bool again = made.status().info().retry && attempt < run->engine.retry_options().max_attempts;
    if (!again) co_return made.status();
    Status status = run->interrupt.check();
    if (!status.ok()) co_return status;
    co_await run->engine.backoff(attempt);
  }
}

bool is_in_index(const storage::Index& index, std::uint32_t column) {
  return std::ranges::any_of(index.shape.columns(),
                             [column](const layout::IndexColumn& part) { return part.column == column; });
}

// The key or index that has the column; empty: there is none.
std::string key_with(const storage::Table& table, std::uint32_t column) {
  if (table.schema.is_key_column(column)) return table.primary_key_name();
  for (const storage::IndexRef& index : table.indexes) {
    if (!index->replaced() && is_in_index(*index, column)) return index->name;
  }
  for (const storage::ForeignKey& key : table.foreign_keys) {
    if (std::ranges::find(key.columns, table.schema.columns()[column].name) != key.columns.end())
      return key.name;
  }
  return {};
}

std::size_t parts_of(const LongValuePlace& place, const storage::Table& table) {
  const std::size_t part_bytes = table.schema.columns()[kBytes].length_bytes;
  return (place.length_bytes + part_bytes - 1) / part_bytes;
}

// The key of a part in a row of its own.
void set_key(layout::RowWriter writer, const LongValuePlace& place, std::size_t number) {
  NAMDB_CHECK(writer.set_text(kId, place.id_bytes()).ok());
  NAMDB_CHECK(writer.set_integer(kNumber, static_cast<std::int64_t>(number)).ok());
}

std::vector<txn::RowId> request(txn::Transaction& transaction, const TableRef& table,
                                const LongValuePlace& place, txn::RowUse use) {
  std::vector<txn::RowId> rows;
  layout::Row key(table->schema);
  for (std::size_t i = 0; i < parts_of(place, *table); ++i) {
    set_key(key.writer(), place, i);
    rows.push_back(use == txn::RowUse::only_read ? transaction.read(table, key.key())
                                                 : transaction.get(table, key.key()));
  }
  return rows;
}

TableRef find_table(const std::vector<TableRef>& tables, std::uint32_t id) {
  const auto found = std::ranges::find(tables, id, [](const TableRef& table) { return table->id; });
  return found == tables.end() ? nullptr : *found;
}

// The table of that number.
reactor::Task<Result<TableRef>> table_of(txn::Engine* engine, std::uint32_t id) {
  if (TableRef table = find_table(engine->cached_tables(), id); table != nullptr) co_return table;
  const auto tables = co_await engine->tables();
  if (!tables.ok()) co_return tables.status();
  if (TableRef table = find_table(*tables, id); table != nullptr) co_return table;
  co_return Status(ErrorCode::catalog_changed, "a table was dropped while the transaction ran");
}

struct Requested {
  std::string packed;
  LongValuePlace place;
  std::vector<txn::RowId> rows;
};

// Requests the parts of the values, and reads them.
reactor::Task<Status> read_parts(Run* run, txn::Transaction* transaction, std::vector<std::string> packed,
                                 txn::RowUse use, std::vector<Requested>* requested) {
  TableRef table;
  for (std::string& one : packed) {
    const LongValuePlace place = layout::unpack_long_value_place(one);
    if (table == nullptr || table->id != place.table) {
      auto found = co_await table_of(&run->engine, place.table);
      if (!found.ok()) co_return found.status();
      table = std::move(*found);
    }
    requested->push_back({std::move(one), place, request(*transaction, table, place, use)});
    run->work.charge(requested->back().rows.size() * Work::kReadRow_units);
  }
  co_return co_await transaction->fetch();
}

bool is_whole(const txn::Transaction& transaction, const Requested& value) {
  return std::ranges::all_of(value.rows, [&](txn::RowId row) { return transaction.found(row); });
}

// In the statement's transaction, where they must be there.
reactor::Task<Status> read_own_parts(Run* run, std::vector<std::string> packed, txn::RowUse use,
                                     std::vector<Requested>* requested) {
  PartCost cost(*run, run->long_part);
  Status status = co_await read_parts(run, run->transaction, std::move(packed), use, requested);
  cost.end(0);
  if (!status.ok()) co_return status;
  for (const Requested& one : *requested) {
    // Under protocols without snapshots the value may have gone since its row was read.
    if (!is_whole(*run->transaction, one)) {
      co_return co_await txn::confirm_error(
          run->transaction, Status(ErrorCode::corrupt_data, "a part of a long value is missing"));
    }
  }
  co_return Status();
}

Status add_value(const txn::Transaction& transaction, Requested& value, LongValues& values) {
  std::string text;
  text.reserve(value.place.length_bytes);
  for (const txn::RowId row : value.rows) text += transaction.row(row).text(kBytes);
  if (text.size() != value.place.length_bytes)
    return Status(ErrorCode::corrupt_data, "a long value has another length than its row says");
  values.add(std::move(value.packed), std::move(text));
  return {};
}

// In a transaction of its own, whose memory is free afterwards. The bytes of an id never change, so those
// that it finds are right, whatever it sees of other rows. `wanted` keeps the values that it does not find:
// those that the statement's transaction has written, and those that are deleted since its snapshot.
reactor::Task<Status> read_apart(Run* run, std::vector<std::string>* wanted, LongValues* values) {
  const std::unique_ptr<txn::Session> session = run->engine.open_session();
  const std::unique_ptr<txn::Transaction> reader = run->engine.begin(*session);
  reader->set_interrupt(&run->interrupt);
  std::vector<Requested> requested;
  std::vector<std::string> packed = *wanted;
  Status status =
      co_await read_parts(run, reader.get(), std::move(packed), txn::RowUse::only_read, &requested);
  if (!status.ok()) co_return status.info().retry ? Status() : status;
  wanted->clear();
  for (Requested& one : requested) {
    if (is_whole(*reader, one)) {
      status = add_value(*reader, one, *values);
      if (!status.ok()) co_return status;
    } else {
      wanted->push_back(std::move(one.packed));
    }
  }
  co_return Status();
}

Status insert_parts(Run& run, const TableRef& table, const LongValues::Written& value) {
  const LongValuePlace place = layout::unpack_long_value_place(value.place);
  const std::size_t part_bytes = table->schema.columns()[kBytes].length_bytes;
  layout::Row row(table->schema);
  for (std::size_t i = 0; i < parts_of(place, *table); ++i) {
    set_key(row.writer(), place, i);
    Status status =
        row.writer().set_text(kBytes, std::string_view(value.bytes).substr(i * part_bytes, part_bytes));
    if (!status.ok()) return status;
    run.transaction->insert(table, row.bytes());
    run.work.charge(Work::kWrittenRow_units);
  }
  return {};
}

reactor::Task<Status> write_made(Run* run) {
  TableRef table;
  std::size_t bytes = 0;
  for (const LongValues::Written& value : run->long_values.take_written()) {
    const std::uint32_t id = layout::unpack_long_value_place(value.place).table;
    if (table == nullptr || table->id != id) {
      auto found = co_await table_of(&run->engine, id);
      if (!found.ok()) co_return found.status();
      table = std::move(*found);
    }
    Status status = insert_parts(*run, table, value);
    if (!status.ok()) co_return status;
    bytes += value.bytes.size();
    if (run->work.due()) status = co_await run->take_turn();
    if (!status.ok()) co_return status;
  }
  run->long_memory.give_back(bytes);
  co_return Status();
}

reactor::Task<Status> erase_gone(Run* run) {
  constexpr std::size_t kAtOnce_bytes = 8 << 20;
  std::vector<std::string> gone = run->long_values.take_gone();
  for (std::size_t next = 0; next < gone.size();) {
    std::vector<std::string> some;
    for (std::size_t bytes = 0; next < gone.size() && bytes < kAtOnce_bytes; ++next) {
      bytes += layout::unpack_long_value_place(gone[next]).length_bytes;
      some.push_back(std::move(gone[next]));
    }
    std::vector<Requested> requested;
    Status status = co_await read_own_parts(run, std::move(some), txn::RowUse::may_change, &requested);
    if (!status.ok()) co_return status;
    for (const Requested& one : requested) {
      for (const txn::RowId row : one.rows) run->transaction->erase(row);
      run->work.charge(one.rows.size() * Work::kWrittenRow_units);
    }
    if (run->work.due()) status = co_await run->take_turn();
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

reactor::Task<Status> write_and_erase(Run* run) {
  if (Status status = co_await write_made(run); !status.ok()) co_return status;
  co_return co_await erase_gone(run);
}

}  // namespace

bool is_too_long(const layout::Column& column, const Datum& value) {
  return !value.null && value.text.size() > column.length_bytes && layout::can_be_long(column);
}

Status set_apart(const Run& run, const storage::Table& table, const layout::Schema& schema,
                 std::uint32_t column, Datum& value) {
  const layout::Column& definition = schema.columns()[column];
  if (!is_too_long(definition, value)) return {};
  if (Status status = cut_elements(definition, run.arena, value); !status.ok()) return status;
  if (!is_too_long(definition, value)) return {};
  if (Status status = check_text_bytes(value.text.size()); !status.ok()) return status;
  const std::string key = &schema == &table.schema       ? key_with(table, column)
                          : schema.is_key_column(column) ? table.primary_key_name()
                                                         : std::string();
  if (!key.empty()) {
    return Status(ErrorCode::limit_exceeded,
                  "index row size " + std::to_string(value.text.size()) + " exceeds maximum " +
                      std::to_string(definition.length_bytes) + " for index \"" + key + "\"",
                  "create the table WITH (text_bytes = ...); ALTER COLUMN TYPE text gives 256");
  }
  if (run.leaves_no_work) return run.work.pause();
  const bool small = value.text.size() <= kSmallPart_bytes;
  const std::string name = storage::long_values_table(table.id, small);
  const TableRef keeper = run.engine.cached_table(name);
  if (keeper == nullptr) {
    run.long_values.want_table(name, small ? kSmallPart_bytes : kLargePart_bytes);
    return run.work.wait_for_long_values(run.long_values);
  }
  if (Status status = run.long_memory.add(run.client_memory, value.text.size()); !status.ok()) return status;
  LongValuePlace place;
  place.length_bytes = static_cast<std::uint32_t>(value.text.size());
  place.table = keeper->id;
  Random& random = run.engine.executor().random();
  for (std::size_t i = 0; i < place.id.size(); i += sizeof(std::uint64_t)) {
    const std::uint64_t drawn = random.next();
    std::memcpy(place.id.data() + i, &drawn, sizeof drawn);
  }
  std::string packed = layout::pack(place);
  const std::string_view kept = run.arena.copy(packed);
  run.long_values.make(std::move(packed), value.text);
  run.work.charge(value.text.size());
  value = Datum::of_place(kept);
  return {};
}

Status store_or_place(layout::RowWriter& row, std::uint32_t column, const Datum& value) {
  if (!value.is_place()) return store_value(row, column, value);
  layout::set_long_value(row, column, value.text);
  return {};
}

Status set_apart_and_store(const Run& run, const storage::Table& table, const layout::Schema& schema,
                           std::uint32_t column, Datum& value, layout::RowWriter& row) {
  if (Status status = set_apart(run, table, schema, column, value); !status.ok()) return status;
  return store_or_place(row, column, value);
}

void want_ahead(Run& run, std::size_t rows, std::size_t most,
                const std::function<bool(std::size_t, EvalContext&)>& show) {
  constexpr std::size_t kMost_bytes = 1 << 20;
  LongValues* const values = run.work.waiting_long_values();
  if (values == nullptr || values->wanted().size() != 1) return;
  const std::string wanted = values->wanted().front();
  EvalContext context = run.context();
  if (!show(0, context)) return;
  const std::size_t columns =
      context.row != nullptr ? context.row->schema().columns().size() : context.values.size();
  std::uint32_t column = 0;
  Datum value;
  for (; column < columns; ++column) {
    if (context.row != nullptr && !layout::is_long(*context.row, column)) continue;
    read_value(context, column, value);
    if (value.is_place() && value.text == wanted) break;
  }
  if (column == columns) return;
  most = std::min(most, values->window());
  std::size_t count = 0;
  std::size_t bytes = layout::unpack_long_value_place(wanted).length_bytes;
  for (std::size_t row = 1; row < rows && count < most && bytes < kMost_bytes; ++row) {
    if (!show(row, context)) continue;
    if (context.row != nullptr && !layout::is_long(*context.row, column)) continue;
    read_value(context, column, value);
    if (!value.is_place()) continue;
    values->want(value.text);
    bytes += layout::unpack_long_value_place(value.text).length_bytes;
    ++count;
  }
  values->brought_ahead(count);
}

reactor::Task<Status> bring_long_values(Run* run, LongValues* values) {
  for (const LongValues::WantedTable& wanted : values->take_wanted_tables()) {
    auto definition = definition_of(wanted);
    if (!definition.ok()) co_return definition.status();
    Status status = co_await make_table(run, std::move(*definition));
    if (!status.ok()) co_return status;
  }
  std::vector<std::string> wanted = values->take_wanted();
  if (wanted.empty()) co_return Status();
  if (run->transaction == nullptr)
    co_return Status(ErrorCode::feature_not_supported, "a long value cannot be read in this place");
  std::size_t bytes = 0;
  for (const std::string& packed : wanted) bytes += layout::unpack_long_value_place(packed).length_bytes;
  Status status = run->long_memory.add(run->client_memory, bytes);
  // The transaction keeps what it reads until its end, so it does not read much itself. But where it may have
  // locked parts, another one would wait for it.
  constexpr std::uint64_t kOwn_bytes = 8 << 20;
  if (status.ok() && !run->engine.serializable() &&
      run->transaction->counters().read_bytes + bytes > kOwn_bytes) {
    status = co_await read_apart(run, &wanted, values);
    std::size_t left_bytes = 0;
    for (const std::string& packed : wanted)
      left_bytes += layout::unpack_long_value_place(packed).length_bytes;
    // Of those that were read so, few are kept (LongValues).
    run->long_memory.give_back(bytes - left_bytes);
  }
  if (!status.ok() || wanted.empty()) co_return status;
  std::vector<Requested> requested;
  status = co_await read_own_parts(run, std::move(wanted), txn::RowUse::only_read, &requested);
  for (std::size_t i = 0; i < requested.size() && status.ok(); ++i)
    status = add_value(*run->transaction, requested[i], *values);
  co_return status;
}

reactor::Task<Status> write_long_values(Run* run) {
  Status status = co_await write_and_erase(run);
  run->long_memory.give_back(run->long_values.forget_unused());
  co_return status;
}

reactor::Task<Status> commit_long_values(Run* run) {
  if (Status status = co_await write_long_values(run); !status.ok()) co_return status;
  co_return co_await run->transaction->commit();
}

}  // namespace namdb::sql
