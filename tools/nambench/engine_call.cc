#include "tools/nambench/engine_call.h"

#include <chrono>
#include <memory>
#include <utility>

namespace namdb::nambench {
namespace {

using procedure::RowId;
using procedure::Value;

class Context : public procedure::Context {
 public:
  Context(txn::Transaction& transaction, std::span<const storage::TableRef> tables,
          std::span<const Value> arguments, std::span<Value> results, std::int64_t timestamp_us)
      : transaction_(transaction),
        tables_(tables),
        arguments_(arguments),
        results_(results),
        timestamp_us_(timestamp_us) {}

  const layout::Schema& schema(std::size_t table) const override { return tables_[table]->schema; }
  RowId get(std::size_t table, std::span<const std::byte> key) override {
    return transaction_.get(tables_[table], key);
  }
  RowId insert(std::size_t table, std::span<const std::byte> row) override {
    return transaction_.insert(tables_[table], row);
  }
  reactor::Task<Status> fetch() override { return transaction_.fetch(); }
  bool found(RowId row) const override { return transaction_.found(row); }
  layout::RowView row(RowId row) const override { return transaction_.row(row); }
  layout::RowWriter update(RowId row) override { return transaction_.update(row); }
  void erase(RowId row) override { transaction_.erase(row); }
  std::span<const Value> arguments() const override { return arguments_; }
  void result(std::size_t column, Value value) override { results_[column] = std::move(value); }
  std::int64_t timestamp_us() const override { return timestamp_us_; }

 private:
  txn::Transaction& transaction_;
  std::span<const storage::TableRef> tables_;
  std::span<const Value> arguments_;
  std::span<Value> results_;
  std::int64_t timestamp_us_;
};

std::int64_t wall_clock_us() {
  using namespace std::chrono;
  return duration_cast<microseconds>(system_clock::now() - sys_days(2000y / January / 1)).count();
}

}  // namespace

reactor::Task<Status> EngineProcedure::resolve_tables() {
  std::vector<storage::TableRef> tables;
  for (const std::string& name : definition_.tables) {
    Result<storage::TableRef> table = co_await engine_.table(name);
    if (!table.ok()) co_return table.status();
    tables.push_back(std::move(table).value());
  }
  tables_ = std::move(tables);
  co_return Status();
}

reactor::Task<Status> EngineProcedure::attempt(txn::Session& session, std::span<const Value> arguments,
                                               std::span<Value> results) {
  // The tables of this attempt, whatever another coroutine looks up meanwhile.
  const std::vector<storage::TableRef> tables = tables_;
  const std::unique_ptr<txn::Transaction> transaction = engine_.begin(session);
  Context context(*transaction, tables, arguments, results, wall_clock_us());
  Status status = co_await definition_.run(context);
  if (status.ok()) {
    status = co_await transaction->commit();
  } else {
    transaction->abort();
  }
  cost_ += transaction->counters();
  co_return status;
}

reactor::Task<Status> EngineProcedure::call(txn::Session& session, std::span<const Value> arguments,
                                            std::vector<Value>& results) {
  for (std::uint32_t number = 1;; ++number) {
    Status status;
    if (tables_.empty()) status = co_await resolve_tables();
    results.assign(definition_.results.size(), Value());
    if (status.ok()) status = co_await attempt(session, arguments, results);
    if (!status.ok()) {
      ++aborts_[status.info().name];
      if (status.code() == ErrorCode::catalog_changed) tables_.clear();
      if (status.info().retry && number < engine_.retry_options().max_attempts) {
        ++retries_;
        co_await engine_.backoff(number);
        continue;
      }
      results.clear();
    }
    ++transactions_;
    if (status.ok()) ++commits_;
    co_return status;
  }
}

ServerMetrics EngineProcedure::metrics() const {
  const auto number = [](std::uint64_t value) { return static_cast<std::int64_t>(value); };
  ServerMetrics metrics = {
      {"transactions", number(transactions_)},
      {"commits", number(commits_)},
      {"retries", number(retries_)},
      {"reads", number(cost_.reads)},
      {"writes", number(cost_.writes)},
      {"compare_and_swaps", number(cost_.compare_and_swaps)},
      {"fetch_adds", number(cost_.fetch_adds)},
      {"calls", number(cost_.calls)},
      {"round_trips", number(cost_.round_trips)},
      {"batches", number(cost_.batches)},
      {"rereads", number(cost_.rereads)},
      {"read_bytes", number(cost_.read_bytes)},
      {"write_bytes", number(cost_.write_bytes)},
      {"call_bytes", number(cost_.call_bytes)},
      {"bytes", number(cost_.bytes())},
  };
  for (const auto& [name, count] : aborts_) metrics["aborts_" + std::string(name)] = number(count);
  return metrics;
}

}  // namespace namdb::nambench
