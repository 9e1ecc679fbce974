#include "tools/conformance/client.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "common/layout/index_key.h"
#include "common/layout/key.h"

namespace namdb::conformance {
namespace {

using reactor::Task;

constexpr const char* kTable = "items";
constexpr const char* kByGroup = "items_by_group";
constexpr const char* kByGroupHash = "items_by_group_hash";
constexpr const char* kByCode = "items_by_code";
constexpr std::uint32_t kAttempts = 50;
constexpr std::uint64_t kPatience_ns = 5 * kMillisecond_ns;
enum Column : std::uint32_t { kId, kGroup, kCode, kValue };

layout::Schema schema() {
  std::vector<layout::Column> columns(4);
  columns[kId] = {.name = "id"};
  columns[kGroup] = {.name = "grp"};
  columns[kCode] = {.name = "code"};
  columns[kValue] = {.name = "value"};
  return std::move(*layout::Schema::create(std::move(columns), {kId}));
}

}  // namespace

Client::Client(Database& database, std::size_t compute)
    : database_(database),
      compute_(compute),
      engine_(database.engine(compute)),
      patience_(engine_.executor()),
      session_(engine_.open_session()) {}

Status Patience::check_wait(layout::GlobalAddress /*held*/, std::uint64_t since_ns) const {
  if (clock_.now_ns() - since_ns < kPatience_ns) return {};
  return Status(ErrorCode::serialization_failure, "it has waited for another transaction");
}

Status Client::create_table() {
  return database_.run(compute_, do_create());
}

Task<Status> Client::do_create() {
  txn::TableDefinition definition{.name = kTable, .schema = schema(), .size_hint_rows = 64};
  Status status = co_await engine_.create_table(std::move(definition));
  if (!status.ok()) co_return status;
  txn::IndexDefinition by_group{.name = kByGroup, .table = kTable, .columns = {{kGroup, false}}};
  status = co_await engine_.create_index(std::move(by_group));
  if (!status.ok()) co_return status;
  txn::IndexDefinition by_hash{
      .name = kByGroupHash, .table = kTable, .columns = {{kGroup, false}}, .hash = true};
  status = co_await engine_.create_index(std::move(by_hash));
  if (!status.ok()) co_return status;
  txn::IndexDefinition by_code{.name = kByCode, .table = kTable, .columns = {{kCode, false}}, .unique = true};
  co_return co_await engine_.create_index(std::move(by_code));
}

void Client::begin() {
  transaction_.reset();
  status_ = Status();
  database_.wait(database_.clocks_apart_ns());
  step(open());
  transaction_ = engine_.begin(*session_);
  transaction_->set_interrupt(&patience_);
}

void Client::step(Task<Status> task) {
  if (status_.ok()) status_ = database_.run(compute_, std::move(task));
}

Task<Status> Client::open() {
  auto table = co_await engine_.table(kTable);
  if (table.ok()) table_ = *table;
  co_return table.status();
}

std::vector<std::optional<std::int64_t>> Client::values(std::vector<std::int64_t> ids) {
  std::vector<std::optional<std::int64_t>> values(ids.size());
  step(read(std::move(ids), Purpose::may_write, &values));
  return values;
}

std::vector<std::optional<std::int64_t>> Client::look_at(std::vector<std::int64_t> ids) {
  std::vector<std::optional<std::int64_t>> values(ids.size());
  step(read(std::move(ids), Purpose::reads, &values));
  return values;
}

Task<Status> Client::read(std::vector<std::int64_t> ids, Purpose purpose,
                          std::vector<std::optional<std::int64_t>>* values) {
  std::vector<txn::RowId> rows;
  for (const std::int64_t id : ids) {
    const layout::Key key = std::move(layout::Key(table_->schema).integer(id));
    rows.push_back(purpose == Purpose::reads ? transaction_->read(table_, key.bytes())
                                             : transaction_->get(table_, key.bytes()));
  }
  Status status = co_await transaction_->fetch();
  for (std::size_t i = 0; i < rows.size() && status.ok(); ++i) {
    if (transaction_->found(rows[i])) (*values)[i] = transaction_->row(rows[i]).integer(kValue);
  }
  co_return status;
}

Task<Status> Client::do_insert(std::vector<Item> items) {
  for (const Item& item : items) {
    layout::Row row(table_->schema);
    Status status = row.writer().set_integer(kId, item.id);
    if (status.ok()) status = row.writer().set_integer(kGroup, item.group);
    if (!item.code) {
      row.writer().set_null(kCode);
    } else if (status.ok()) {
      status = row.writer().set_integer(kCode, *item.code);
    }
    if (status.ok()) status = row.writer().set_integer(kValue, item.value);
    if (!status.ok()) co_return status;
    transaction_->insert(table_, row.bytes());
  }
  co_return co_await transaction_->fetch();
}

void Client::set_value(std::int64_t id, std::int64_t value) {
  step(change(id, kValue, value));
}

void Client::set_group(std::int64_t id, std::int64_t group) {
  step(change(id, kGroup, group));
}

Task<Status> Client::change(std::int64_t id, std::uint32_t column, std::int64_t value) {
  const txn::RowId row = transaction_->get(table_, layout::Key(table_->schema).integer(id).bytes());
  Status status = co_await transaction_->fetch();
  if (!status.ok()) co_return status;
  if (!transaction_->found(row)) co_return Status(ErrorCode::internal, "a row is not there");
  co_return transaction_->update(row).set_integer(column, value);
}

void Client::erase(std::int64_t id) {
  step(do_erase(id));
}

Task<Status> Client::do_erase(std::int64_t id) {
  const txn::RowId row = transaction_->get(table_, layout::Key(table_->schema).integer(id).bytes());
  Status status = co_await transaction_->fetch();
  if (!status.ok()) co_return status;
  if (!transaction_->found(row)) co_return Status(ErrorCode::internal, "a row is not there");
  transaction_->erase(row);
  co_return Status();
}

Sum Client::scan_table(std::int64_t group) {
  return scan_by(nullptr, group);
}

Sum Client::scan_index(std::int64_t group) {
  return scan_by(kByGroup, group);
}

Sum Client::scan_hash_index(std::int64_t group) {
  return scan_by(kByGroupHash, group);
}

Sum Client::scan_by(const char* index, std::int64_t group) {
  Sum sum;
  step(scan(index, group, &sum));
  return sum;
}

Task<Status> Client::scan(const char* name, std::int64_t group, Sum* sum) {
  std::unique_ptr<txn::TableScan> scan;
  if (name != nullptr) {
    const auto index =
        std::ranges::find_if(table_->indexes, [name](const auto& each) { return each->name == name; });
    if (index == table_->indexes.end()) co_return Status(ErrorCode::internal, "an index is not there");
    layout::IndexPrefix prefix((*index)->shape);
    scan = transaction_->scan_index(table_, *index, layout::index_range(prefix.integer(group)));
  } else {
    scan = transaction_->scan(table_);
  }
  std::vector<layout::Row> rows;
  do {
    Status status = co_await scan->next(rows);
    if (!status.ok()) co_return status;
    for (const layout::Row& row : rows) {
      if (row.view().integer(kGroup) != group) continue;
      ++sum->rows;
      sum->value += row.view().integer(kValue);
    }
  } while (!rows.empty());
  co_return Status();
}

Status Client::commit() {
  step(do_commit());
  if (!status_.ok()) transaction_->abort();
  return status_;
}

Task<Status> Client::do_commit() {
  co_return co_await transaction_->commit();
}

Task<Status> Client::back_off(std::uint32_t attempt) {
  co_await engine_.backoff(attempt);
  co_return Status();
}

Status Client::retry(const std::function<void(Client&)>& steps) {
  for (std::uint32_t attempt = 1;; ++attempt) {
    begin();
    steps(*this);
    Status status = commit();
    if (status.ok() || !status.info().retry || attempt == kAttempts) return status;
    status = database_.run(compute_, back_off(attempt));
    if (!status.ok()) return status;
  }
}

}  // namespace namdb::conformance
