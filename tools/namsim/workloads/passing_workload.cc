#include "tools/namsim/workloads/passing_workload.h"

#include <utility>

#include "common/layout/key.h"

namespace namdb::sim {
namespace {

constexpr std::uint32_t kNumber = 1;  // columns
constexpr std::uint32_t kValue = 2;
constexpr std::uint32_t kMark = 3;

// Of different lengths, so that the pieces of one table's memory lie across those of another.
layout::Schema schema_of(std::uint64_t number) {
  std::vector<layout::Column> columns(4 + number % 3);
  for (std::size_t i = 0; i < columns.size(); ++i) columns[i].name = "c" + std::to_string(i);
  return std::move(*layout::Schema::create(std::move(columns), {0}));
}

std::string passing_name(std::uint64_t number) {
  return "passing_" + std::to_string(number);
}

std::int64_t mark_of(std::int64_t key, std::int64_t number, std::int64_t value) {
  return key * 1'000'003 + number * 10'007 + value;
}

layout::Key passing_key(const storage::TableRef& table, std::uint64_t key) {
  return std::move(layout::Key(table->schema).integer(static_cast<std::int64_t>(key)));
}

}  // namespace

void PassingWorkload::found_wrong(std::string what) {
  if (anomaly_.empty()) anomaly_ = std::move(what);
}

Status PassingWorkload::write(txn::Transaction& transaction, const storage::TableRef& table,
                              std::uint64_t number, std::uint64_t key, txn::RowId row) {
  const auto signed_key = static_cast<std::int64_t>(key);
  const auto signed_number = static_cast<std::int64_t>(number);
  const std::int64_t value = next_value_++;
  const auto fill = [&](layout::RowWriter writer) {
    if (Status status = writer.set_integer(kNumber, signed_number); !status.ok()) return status;
    if (Status status = writer.set_integer(kValue, value); !status.ok()) return status;
    return writer.set_integer(kMark, mark_of(signed_key, signed_number, value));
  };
  if (transaction.found(row)) return fill(transaction.update(row));
  layout::Row image(table->schema);
  Status status = image.writer().set_integer(0, signed_key);
  for (std::uint32_t column = kMark + 1; status.ok() && column < table->schema.columns().size(); ++column)
    status = image.writer().set_integer(column, 0);
  if (status.ok()) status = fill(image.writer());
  if (status.ok()) transaction.insert(table, image.bytes());
  return status;
}

reactor::Task<Status> PassingWorkload::create(txn::Engine& engine, std::uint64_t number) {
  txn::TableDefinition definition;
  definition.name = passing_name(number);
  definition.schema = schema_of(number);
  definition.size_hint_rows = 8;
  definition.ring_slots = 2;
  Status status = co_await engine.create_table(std::move(definition));
  if (!status.ok()) co_return status;
  auto table = co_await engine.table(passing_name(number));
  if (!table.ok()) co_return table.status();
  const auto session = engine.open_session();
  const auto transaction = engine.begin(*session);
  std::vector<txn::RowId> rows;
  for (std::uint64_t key = 0; key < options_.keys; key += 2)
    rows.push_back(transaction->get(*table, passing_key(*table, key).bytes()));
  status = co_await transaction->fetch();
  for (std::uint64_t key = 0; status.ok() && key < options_.keys; key += 2)
    status = write(*transaction, *table, number, key, rows[key / 2]);
  if (status.ok()) status = co_await transaction->fetch();
  if (status.ok()) status = co_await transaction->commit();
  // A row of the new table that another client has written already.
  if (!status.ok() && status.info().retry) status = Status();
  co_return status;
}

reactor::Task<Status> PassingWorkload::load(txn::Engine& engine) {
  Status status;
  while (status.ok() && next_ < 1 + options_.tables) {
    const std::uint64_t number = next_++;
    status = co_await create(engine, number);
  }
  co_return status;
}

reactor::Task<Status> PassingWorkload::replace_one(txn::Engine& engine) {
  const std::uint64_t victim = oldest_++;
  Status status = co_await engine.drop_table(passing_name(victim));
  if (!status.ok()) co_return status;
  const std::uint64_t number = next_++;
  co_return co_await create(engine, number);
}

reactor::Task<bool> PassingWorkload::run_one(txn::Engine& engine, txn::Session& session) {
  ++transactions_;
  const std::uint64_t number = world_.random().between(oldest_, next_ - 1);
  const Status status = co_await attempt(engine, session, number, false);
  if (status.ok()) co_return true;
  const bool dropped =
      status.code() == ErrorCode::catalog_changed || status.code() == ErrorCode::undefined_table;
  if (!dropped && !status.info().retry) found_wrong(status.to_string());
  co_return false;
}

reactor::Task<Status> PassingWorkload::attempt(txn::Engine& engine, txn::Session& session,
                                               std::uint64_t number, bool all) {
  auto table = co_await engine.table(passing_name(number));
  if (!table.ok()) co_return table.status();
  const auto transaction = engine.begin(session);
  std::vector<std::pair<std::uint64_t, txn::RowId>> rows;
  for (std::uint64_t key = 0; key < options_.keys; ++key) {
    if (all || world_.random().chance(0.5))
      rows.emplace_back(key, transaction->get(*table, passing_key(*table, key).bytes()));
  }
  Status status = co_await transaction->fetch();
  if (!status.ok()) co_return status;
  for (const auto& [key, id] : rows) {
    if (!transaction->found(id)) continue;
    const layout::RowView row = transaction->row(id);
    const auto signed_number = static_cast<std::int64_t>(number);
    if (row.integer(kNumber) != signed_number ||
        row.integer(kMark) != mark_of(row.integer(0), signed_number, row.integer(kValue))) {
      found_wrong("a row of table " + std::to_string(number) + " is not what anybody wrote there");
      co_return Status();
    }
  }
  for (const auto& [key, id] : rows) {
    if (!all && world_.random().chance(0.3)) continue;
    status = write(*transaction, *table, number, key, id);
    if (!status.ok()) co_return status;
  }
  status = co_await transaction->fetch();
  if (!status.ok()) co_return status;
  co_return co_await transaction->commit();
}

reactor::Task<Status> PassingWorkload::touch_all(txn::Engine& engine) {
  const auto session = engine.open_session();
  Status status;
  for (std::uint64_t number = oldest_; number < next_; ++number) {
    for (std::uint32_t tries = 1; tries <= 200; ++tries) {
      status = co_await attempt(engine, *session, number, true);
      if (status.ok() || !status.info().retry) break;
      co_await engine.backoff(tries);
    }
    if (!status.ok()) co_return status;
  }
  co_return status;
}

}  // namespace namdb::sim
