#include "workloads/testing/memory_database.h"

#include <algorithm>
#include <coroutine>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "compute/procedure/piece_watch.h"

namespace namdb::workloads::testing {
namespace {

using procedure::Definition;
using procedure::RowId;
using procedure::Task;
using procedure::Value;

std::string key_of(std::span<const std::byte> key) {
  return {reinterpret_cast<const char*>(key.data()), key.size()};
}

// Starts a task at once; the frame frees itself at the end.
struct Start {
  struct promise_type {
    Start get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};
Start start(Task<Status>& task, std::optional<Status>& outcome) {
  outcome = co_await task;
}

}  // namespace

// There are no other transactions.
class MemoryTransaction final : public txn::Transaction {
 public:
  explicit MemoryTransaction(MemoryDatabase& database) : database_(database) {}

  RowId get(const storage::TableRef& table, std::span<const std::byte> key) override {
    for (RowId id = 0; id < entries_.size(); ++id) {
      if (entries_[id].table == table && entries_[id].key == key_of(key)) return id;
    }
    Entry& entry = entries_.emplace_back();
    entry.table = table;
    entry.key = key_of(key);
    return static_cast<RowId>(entries_.size() - 1);
  }

  RowId insert(const storage::TableRef& table, std::span<const std::byte> row) override {
    const RowId id = get(table, layout::RowView(table->schema, row).key());
    Entry& entry = entries_[id];
    entry.image.emplace(table->schema, row);
    entry.inserted = true;
    entry.written = true;
    return id;
  }

  Task<Status> fetch() override {
    ++fetches;
    for (Entry& entry : entries_) {
      if (entry.fetched) continue;
      entry.fetched = true;
      const auto& rows = database_.tables_.at(entry.table->name).rows;
      const auto found = rows.find(entry.key);
      const bool exists = found != rows.end();
      if (entry.inserted && exists) co_return Status(ErrorCode::duplicate_key, "duplicate key");
      if (!entry.inserted && exists) entry.image = found->second;
    }
    co_return Status();
  }

  bool found(RowId row) const override {
    NAMDB_CHECK(entries_[row].fetched);
    return entries_[row].image.has_value();
  }
  layout::RowView row(RowId row) const override {
    NAMDB_CHECK(found(row));
    return entries_[row].image->view();
  }
  layout::RowWriter update(RowId row) override {
    NAMDB_CHECK(found(row));
    entries_[row].written = true;
    return entries_[row].image->writer();
  }
  void erase(RowId row) override {
    NAMDB_CHECK(found(row));
    entries_[row].written = true;
    entries_[row].image.reset();
  }

  // Among committed rows: no procedure looks for what it wrote itself.
  Task<Status> find(storage::TableRef table, storage::IndexRef index, layout::IndexRange range,
                    std::vector<RowId>& rows) override {
    std::map<std::string, std::string> keys;  // primary keys by index key
    for (const auto& [key, row] : database_.tables_.at(table->name).rows) {
      const std::string bytes = layout::index_key(index->shape, row.view()).bytes;
      if (bytes >= range.low && (!range.high || bytes < *range.high)) keys.emplace(bytes, key);
    }
    rows.clear();
    const auto take = [&](const std::string& key) {
      if (range.limit == 0 || rows.size() < range.limit)
        rows.push_back(get(table, std::as_bytes(std::span(key))));
    };
    if (range.descending) {
      for (auto it = keys.rbegin(); it != keys.rend(); ++it) take(it->second);
    } else {
      for (const auto& [bytes, key] : keys) take(key);
    }
    co_return co_await fetch();
  }

  // Procedures do not scan.
  std::unique_ptr<txn::TableScan> scan(const storage::TableRef&) override { return nullptr; }
  std::unique_ptr<txn::TableScan> scan_index(const storage::TableRef&, const storage::IndexRef&,
                                             layout::IndexRange) override {
    return nullptr;
  }

  Task<Status> commit() override {
    apply();
    co_return Status();
  }
  void apply() {
    for (Entry& entry : entries_) {
      if (!entry.written) continue;
      auto& rows = database_.tables_.at(entry.table->name).rows;
      rows.erase(entry.key);
      if (entry.image) rows.emplace(entry.key, std::move(*entry.image));
    }
  }
  void abort() override { entries_.clear(); }
  bool has_writes() const override { return std::ranges::any_of(entries_, &Entry::written); }
  const fabric::OperationCounters& counters() const override { return counters_; }

  std::uint32_t fetches = 0;

 private:
  struct Entry {
    storage::TableRef table;
    std::string key;
    std::optional<layout::Row> image;
    bool fetched = false;
    bool inserted = false;
    bool written = false;
  };
  MemoryDatabase& database_;
  std::vector<Entry> entries_;
  fabric::OperationCounters counters_;
};

void MemoryDatabase::add(Definition definition) {
  const std::string name = definition.name;
  NAMDB_CHECK(procedures_.emplace(name, std::move(definition)).second);
}

void MemoryDatabase::load(const Workload& workload) {
  for (std::size_t index = 0; index < workload.tables().size(); ++index) {
    const TableLoad& load = workload.tables()[index];
    const auto description = std::make_shared<storage::Table>();
    description->id = static_cast<std::uint32_t>(index);
    description->name = load.spec.name;
    description->schema = load.schema;
    for (const IndexSpec& index_spec : load.spec.indexes) {
      auto made = std::make_shared<storage::Index>();
      made->name = index_spec.name;
      made->shape = std::move(*layout::IndexShape::create(description->schema, index_spec.columns));
      made->ready_version = 1;
      made->parts.push_back({});
      description->indexes.push_back(std::move(made));
    }
    Table& table = tables_[load.spec.name];
    table.description = description;
    std::vector<layout::Row> rows;
    for (std::uint64_t unit = 0; unit < load.units; ++unit) workload.make_rows(index, unit, rows);
    for (const layout::Row& row : rows) {
      // Copied, since a row borrows its schema and the workload may go away.
      NAMDB_CHECK(
          table.rows.emplace(key_of(row.key()), layout::Row(description->schema, row.bytes())).second);
    }
  }
}

std::vector<RowCheck::Finding> MemoryDatabase::row_findings(const Workload& workload) const {
  const std::unique_ptr<RowCheck> check = workload.open_row_check();
  for (std::size_t index = 0; index < workload.tables().size(); ++index) {
    for (const auto& [key, row] : tables_.at(workload.tables()[index].spec.name).rows)
      check->add(index, row.view());
  }
  return check->findings();
}

layout::Row* MemoryDatabase::find(const std::string& table, const std::vector<std::int64_t>& key) {
  return const_cast<layout::Row*>(std::as_const(*this).find(table, key));
}

MemoryDatabase::Outcome MemoryDatabase::run(const std::string& procedure, std::vector<Value> arguments) {
  const Definition& definition = procedures_.at(procedure);
  NAMDB_CHECK(arguments.size() == definition.parameters.size());
  std::vector<storage::TableRef> tables;
  for (const std::string& name : definition.tables) tables.push_back(tables_.at(name).description);
  std::vector<Value> results(definition.results.size());
  MemoryTransaction transaction(*this);
  procedure::PieceWatch watch(transaction);
  procedure::Context context(watch, tables, arguments, results, 1'000'000);
  std::optional<Status> status;
  {
    Task<Status> task = definition.run(context);
    start(task, status);
  }
  NAMDB_CHECK(status.has_value());
  if (const procedure::Chopping* const pieces = pieces_.find(procedure); status->ok() && pieces != nullptr)
    status = watch.check(*pieces);
  Outcome outcome{std::move(*status), {}, transaction.fetches};
  if (outcome.status.ok()) {
    transaction.apply();
    outcome.results = std::move(results);
  }
  return outcome;
}

std::int64_t MemoryDatabase::term_value(const Workload& workload, const Check::Term& term) const {
  const Table& table = tables_.at(workload.tables()[term.table].spec.name);
  if (!term.column) return static_cast<std::int64_t>(table.rows.size());
  std::int64_t sum = 0;
  for (const auto& [key, row] : table.rows) sum += row.view().integer(*term.column);
  return sum;
}

std::int64_t MemoryDatabase::value(const Workload& workload, const Check& check) const {
  std::int64_t sum = 0;
  for (const Check::Term& term : check.terms) sum += term.coefficient * term_value(workload, term);
  return sum;
}

const layout::Row* MemoryDatabase::find(const std::string& table,
                                        const std::vector<std::int64_t>& key) const {
  const Table& entry = tables_.at(table);
  layout::Key bytes(entry.description->schema);
  for (const std::int64_t value : key) bytes.integer(value);
  const auto found = entry.rows.find(key_of(bytes.bytes()));
  return found == entry.rows.end() ? nullptr : &found->second;
}

}  // namespace namdb::workloads::testing
