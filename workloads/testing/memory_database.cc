#include "workloads/testing/memory_database.h"

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

namespace namdb::workloads::testing {
namespace {

using procedure::Context;
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

class MemoryContext : public Context {
 public:
  MemoryContext(MemoryDatabase& database, const Definition& definition, std::vector<Value> arguments)
      : arguments_(std::move(arguments)), results_(definition.results.size()) {
    for (const std::string& name : definition.tables) tables_.push_back(&database.tables_.at(name));
  }

  const layout::Schema& schema(std::size_t table) const override { return tables_[table]->schema; }

  RowId get(std::size_t table, std::span<const std::byte> key) override {
    for (RowId id = 0; id < entries_.size(); ++id) {
      if (entries_[id].table == table && entries_[id].key == key_of(key)) return id;
    }
    Entry& entry = entries_.emplace_back();
    entry.table = table;
    entry.key = key_of(key);
    return static_cast<RowId>(entries_.size() - 1);
  }

  RowId insert(std::size_t table, std::span<const std::byte> row) override {
    const RowId id = get(table, layout::RowView(schema(table), row).key());
    Entry& entry = entries_[id];
    entry.image.emplace(schema(table), row);
    entry.inserted = true;
    entry.written = true;
    return id;
  }

  Task<Status> fetch() override {
    ++fetches;
    for (Entry& entry : entries_) {
      if (entry.fetched) continue;
      entry.fetched = true;
      const auto found = tables_[entry.table]->rows.find(entry.key);
      const bool exists = found != tables_[entry.table]->rows.end();
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

  const layout::IndexShape* index(std::size_t table, std::string_view name) const override {
    const auto found = tables_[table]->indexes.find(name);
    return found == tables_[table]->indexes.end() ? nullptr : &found->second;
  }
  // Among committed rows: no procedure looks for what it wrote itself.
  Task<Status> find(std::size_t table, std::string_view name, layout::IndexRange range,
                    std::vector<RowId>& rows) override {
    const layout::IndexShape* const shape = index(table, name);
    if (shape == nullptr) co_return Status(ErrorCode::undefined_object, "there is no such index");
    std::map<std::string, std::string> keys;  // primary keys by index key
    for (const auto& [key, row] : tables_[table]->rows) {
      const std::string bytes = layout::index_key(*shape, row.view()).bytes;
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

  std::span<const Value> arguments() const override { return arguments_; }
  void result(std::size_t column, Value value) override { results_.at(column) = std::move(value); }
  std::int64_t timestamp_us() const override { return 1'000'000; }

  void commit() {
    for (Entry& entry : entries_) {
      if (!entry.written) continue;
      auto& rows = tables_[entry.table]->rows;
      rows.erase(entry.key);
      if (entry.image) rows.emplace(entry.key, std::move(*entry.image));
    }
  }
  std::vector<Value> take_results() { return std::move(results_); }

  std::uint32_t fetches = 0;

 private:
  struct Entry {
    std::size_t table = 0;
    std::string key;
    std::optional<layout::Row> image;
    bool fetched = false;
    bool inserted = false;
    bool written = false;
  };
  std::vector<MemoryDatabase::Table*> tables_;
  std::vector<Entry> entries_;
  std::vector<Value> arguments_;
  std::vector<Value> results_;
};

void MemoryDatabase::add(Definition definition) {
  const std::string name = definition.name;
  NAMDB_CHECK(procedures_.emplace(name, std::move(definition)).second);
}

void MemoryDatabase::load(const Workload& workload) {
  for (std::size_t index = 0; index < workload.tables().size(); ++index) {
    const TableLoad& load = workload.tables()[index];
    Table& table = tables_[load.spec.name];
    table.schema = load.schema;
    for (const IndexSpec& index_spec : load.spec.indexes) {
      table.indexes.emplace(index_spec.name,
                            std::move(*layout::IndexShape::create(table.schema, index_spec.columns)));
    }
    std::vector<layout::Row> rows;
    for (std::uint64_t unit = 0; unit < load.units; ++unit) workload.make_rows(index, unit, rows);
    for (const layout::Row& row : rows) {
      // Copied, since a row borrows its schema and the workload may go away.
      NAMDB_CHECK(table.rows.emplace(key_of(row.key()), layout::Row(table.schema, row.bytes())).second);
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
  MemoryContext context(*this, definition, std::move(arguments));
  std::optional<Status> status;
  {
    Task<Status> task = definition.run(context);
    start(task, status);
  }
  NAMDB_CHECK(status.has_value());
  Outcome outcome{std::move(*status), {}, context.fetches};
  if (outcome.status.ok()) {
    context.commit();
    outcome.results = context.take_results();
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
  layout::Key bytes(entry.schema);
  for (const std::int64_t value : key) bytes.integer(value);
  const auto found = entry.rows.find(key_of(bytes.bytes()));
  return found == entry.rows.end() ? nullptr : &found->second;
}

}  // namespace namdb::workloads::testing
