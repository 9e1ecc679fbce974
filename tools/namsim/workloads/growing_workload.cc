#include "tools/namsim/workloads/growing_workload.h"

#include <utility>

#include "common/layout/key.h"
#include "tools/namsim/workloads/tables.h"

namespace namdb::sim {

using history::Operation;
using history::Version;

namespace {

// Columns of a group's row.
constexpr std::uint32_t kMask = 1;  // which keys are there
constexpr std::uint32_t kSum = 2;   // of their values
constexpr std::uint32_t kGroupVersion = 3;

layout::Schema rows_schema() {
  return bigints({"id", "value"});
}

layout::Schema groups_schema() {
  return bigints({"id", "mask", "sum", "version"});
}

layout::Key row_key(const storage::TableRef& table, std::uint64_t number) {
  return std::move(layout::Key(table->schema).integer(static_cast<std::int64_t>(number)));
}

bool has(std::int64_t mask, std::uint64_t key) {
  return (static_cast<std::uint64_t>(mask) >> key & 1) != 0;
}

}  // namespace

void GrowingWorkload::found_wrong(std::string what) {
  if (anomaly_.empty()) anomaly_ = std::move(what);
}

reactor::Task<Status> GrowingWorkload::load(txn::Engine& engine) {
  txn::TableDefinition rows_table{
      .name = kTable, .schema = rows_schema(), .size_hint_rows = options_.size_hint_rows};
  txn::TableDefinition groups_table{
      .name = kGroups, .schema = groups_schema(), .size_hint_rows = options_.size_hint_rows};
  Status status = co_await engine.create_table(std::move(rows_table));
  if (status.ok()) status = co_await engine.create_table(std::move(groups_table));
  if (!status.ok()) co_return status;
  auto groups = co_await engine.table(kGroups);
  if (!groups.ok()) co_return groups.status();
  const auto session = engine.open_session();
  const auto transaction = engine.begin(*session);
  for (std::uint64_t group = 0; group < options_.groups; ++group) {
    layout::Row row((*groups)->schema);
    for (std::uint32_t column = 0; column <= kGroupVersion; ++column) {
      status = row.writer().set_integer(column, column == 0 ? static_cast<std::int64_t>(group) : 0);
      if (!status.ok()) co_return status;
    }
    transaction->insert(*groups, row.bytes());
  }
  status = co_await transaction->fetch();
  if (!status.ok()) co_return status;
  co_return co_await transaction->commit();
}

reactor::Task<bool> GrowingWorkload::run_one(txn::Engine& engine, txn::Session& session,
                                             std::uint64_t session_id) {
  const std::size_t record = history_.add({.session = session_id, .begin_ns = world_.now_ns()});
  const Status status = co_await attempt(engine, session, record);
  history::Transaction& recorded = history_.at(record);
  recorded.outcome = status.ok() ? history::Outcome::committed : history::Outcome::aborted;
  recorded.end_ns = world_.now_ns();
  if (!status.ok()) {
    if (!status.info().retry) found_wrong(status.to_string());
    ++retries_;
  }
  co_return status.ok();
}

void GrowingWorkload::ask(txn::Transaction& transaction, const storage::TableRef& table,
                          const storage::TableRef& groups, Group& group) const {
  group.row = transaction.get(groups, row_key(groups, group.number).bytes());
  for (const std::uint64_t key : group.keys) {
    group.rows.push_back(
        transaction.get(table, row_key(table, group.number * options_.keys_per_group + key).bytes()));
  }
}

bool GrowingWorkload::agrees(txn::Transaction& transaction, const Group& group) {
  if (!transaction.found(group.row)) {
    found_wrong("group " + std::to_string(group.number) + " is gone");
    return false;
  }
  const std::int64_t mask = transaction.row(group.row).integer(kMask);
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < group.keys.size(); ++i) {
    const bool found = transaction.found(group.rows[i]);
    if (found != has(mask, group.keys[i])) {
      found_wrong("key " + std::to_string(group.keys[i]) + " of group " + std::to_string(group.number) +
                  (found ? " is there, but should not be" : " is not found"));
      return false;
    }
    if (found) sum += transaction.row(group.rows[i]).integer(1);
  }
  if (group.keys.size() == options_.keys_per_group && sum != transaction.row(group.row).integer(kSum)) {
    found_wrong("the values of group " + std::to_string(group.number) + " do not add up");
    return false;
  }
  return true;
}

Status GrowingWorkload::change(txn::Transaction& transaction, const storage::TableRef& table, Group& group,
                               bool all, Version version) {
  std::int64_t mask = transaction.row(group.row).integer(kMask);
  std::int64_t sum = transaction.row(group.row).integer(kSum);
  for (std::size_t i = 0; i < group.keys.size(); ++i) {
    const txn::RowId row = group.rows[i];
    const std::int64_t bit = std::int64_t{1} << group.keys[i];
    const std::int64_t value = next_value_++;
    Status status;
    if (!transaction.found(row)) {
      layout::Row image(table->schema);
      status = image.writer().set_integer(
          0, static_cast<std::int64_t>(group.number * options_.keys_per_group + group.keys[i]));
      if (status.ok()) status = image.writer().set_integer(1, value);
      if (status.ok()) transaction.insert(table, image.bytes());
      mask |= bit;
      sum += value;
    } else if (!all && world_.random().chance(options_.delete_probability)) {
      sum -= transaction.row(row).integer(1);
      transaction.erase(row);
      mask &= ~bit;
    } else {
      sum += value - transaction.row(row).integer(1);
      status = transaction.update(row).set_integer(1, value);
    }
    if (!status.ok()) return status;
  }
  Status status = transaction.update(group.row).set_integer(kMask, mask);
  if (status.ok()) status = transaction.update(group.row).set_integer(kSum, sum);
  if (status.ok()) {
    status = transaction.update(group.row).set_integer(kGroupVersion, static_cast<std::int64_t>(version));
  }
  return status;
}

reactor::Task<Status> GrowingWorkload::attempt(txn::Engine& engine, txn::Session& session,
                                               std::size_t record) {
  auto table = co_await engine.table(kTable);
  if (!table.ok()) co_return table.status();
  auto groups = co_await engine.table(kGroups);
  if (!groups.ok()) co_return groups.status();
  const auto transaction = engine.begin(session);
  Random& random = world_.random();
  if (random.chance(options_.scan_probability)) {
    co_return co_await compare_by_scan(*transaction, *table, *groups);
  }
  Group group{.number = random.below(options_.groups), .keys = {}, .row = 0, .rows = {}};
  const bool all = random.chance(0.2);
  for (std::uint64_t key = 0; key < options_.keys_per_group; ++key) {
    if (all || random.chance(0.3)) group.keys.push_back(key);
  }
  ask(*transaction, *table, *groups, group);
  Status status = co_await transaction->fetch();
  if (!status.ok()) co_return status;
  if (!agrees(*transaction, group)) co_return Status();
  const auto before = static_cast<Version>(transaction->row(group.row).integer(kGroupVersion));
  history_.at(record).operations.push_back(Operation::read(group.number, before));
  if (random.chance(0.1)) co_return co_await transaction->commit();
  if (random.chance(0.3)) {
    const std::uint64_t pause_ns = random.below(50 * kMicrosecond_ns);
    co_await engine.executor().sleep_for(pause_ns);
  }
  const Version version = history_.next_version();
  status = change(*transaction, *table, group, false, version);
  if (status.ok()) status = co_await transaction->fetch();
  if (!status.ok()) co_return status;
  history_.at(record).operations.push_back(Operation::write(group.number, version, before));
  co_return co_await transaction->commit();
}

reactor::Task<Status> GrowingWorkload::compare_by_scan(txn::Transaction& transaction, storage::TableRef table,
                                                       storage::TableRef groups) {
  std::map<std::uint64_t, std::int64_t> values;
  std::vector<layout::Row> rows;
  const auto scan = transaction.scan(table);
  do {
    const Status status = co_await scan->next(rows);
    if (!status.ok()) co_return status;
    for (const layout::Row& row : rows) {
      const auto key = static_cast<std::uint64_t>(row.view().integer(0));
      if (!values.emplace(key, row.view().integer(1)).second) {
        found_wrong("a scan shows key " + std::to_string(key) + " twice");
      }
    }
  } while (!rows.empty());
  std::uint64_t seen = 0;
  const auto group_scan = transaction.scan(groups);
  do {
    const Status status = co_await group_scan->next(rows);
    if (!status.ok()) co_return status;
    for (const layout::Row& row : rows) {
      ++seen;
      const auto first = static_cast<std::uint64_t>(row.view().integer(0)) * options_.keys_per_group;
      std::int64_t sum = 0;
      for (std::uint64_t key = 0; key < options_.keys_per_group; ++key) {
        const auto value = values.find(first + key);
        if ((value != values.end()) != has(row.view().integer(kMask), key)) {
          found_wrong("a scan is wrong about key " + std::to_string(first + key));
        }
        if (value != values.end()) sum += value->second;
      }
      if (sum != row.view().integer(kSum)) found_wrong("what a scan shows does not add up");
    }
  } while (!rows.empty());
  if (seen != options_.groups) found_wrong("a scan shows " + std::to_string(seen) + " groups");
  co_return Status();
}

reactor::Task<Status> GrowingWorkload::touch(txn::Engine& engine, txn::Session& session,
                                             std::uint64_t number) {
  auto table = co_await engine.table(kTable);
  if (!table.ok()) co_return table.status();
  auto groups = co_await engine.table(kGroups);
  if (!groups.ok()) co_return groups.status();
  const auto transaction = engine.begin(session);
  Group group{.number = number, .keys = {}, .row = 0, .rows = {}};
  for (std::uint64_t key = 0; key < options_.keys_per_group; ++key) group.keys.push_back(key);
  ask(*transaction, *table, *groups, group);
  Status status = co_await transaction->fetch();
  if (!status.ok()) co_return status;
  if (!agrees(*transaction, group)) co_return Status(ErrorCode::internal, anomaly_);
  const auto version = static_cast<Version>(transaction->row(group.row).integer(kGroupVersion));
  status = change(*transaction, *table, group, true, version);
  if (!status.ok()) co_return status;
  status = co_await transaction->fetch();
  if (!status.ok()) co_return status;
  co_return co_await transaction->commit();
}

reactor::Task<Status> GrowingWorkload::touch_all(txn::Engine& engine) {
  const auto session = engine.open_session();
  Status status;
  for (std::uint64_t group = 0; group < options_.groups; ++group) {
    for (std::uint32_t attempt = 1; attempt <= 200; ++attempt) {
      status = co_await touch(engine, *session, group);
      if (status.ok() || !status.info().retry) break;
      co_await engine.backoff(attempt);
    }
    if (!status.ok()) co_return status;
  }
  auto table = co_await engine.table(kTable);
  if (!table.ok()) co_return table.status();
  auto groups = co_await engine.table(kGroups);
  if (!groups.ok()) co_return groups.status();
  const auto transaction = engine.begin(*session);
  status = co_await compare_by_scan(*transaction, *table, *groups);
  if (status.ok() && !anomaly_.empty()) status = Status(ErrorCode::internal, anomaly_);
  co_return status;
}

}  // namespace namdb::sim
