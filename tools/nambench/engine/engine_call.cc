#include "tools/nambench/engine/engine_call.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "compute/procedure/resolve_tables.h"

namespace namdb::nambench {
namespace {

using procedure::Value;

std::int64_t wall_clock_us() {
  using namespace std::chrono;
  return duration_cast<microseconds>(system_clock::now() - sys_days(2000y / January / 1)).count();
}

}  // namespace

reactor::Task<Status> EngineProcedure::resolve_tables() {
  Result<std::vector<storage::TableRef>> tables = co_await procedure::resolve_tables(engine_, definition_);
  if (!tables.ok()) co_return tables.status();
  tables_ = std::move(tables).value();
  co_return Status();
}

void EngineProcedure::compute() {
  if (options_.computation_ns == 0) return;
  const std::uint64_t began_ns = support::steady_now_ns();
  std::uint64_t now_ns = began_ns;
  while (now_ns - began_ns < options_.computation_ns) now_ns = support::steady_now_ns();
  computation_ns_ += now_ns - began_ns;
}

reactor::Task<Status> EngineProcedure::attempt(txn::Session& session, std::span<const Value> arguments,
                                               std::span<Value> results) {
  // The tables of this attempt, whatever another coroutine looks up meanwhile.
  const std::vector<storage::TableRef> tables = tables_;
  const std::unique_ptr<txn::Transaction> transaction = engine_.begin(session);
  procedure::Context context(*transaction, tables, arguments, results, wall_clock_us());
  Status status = co_await definition_.run(context);
  if (!status.ok()) status = co_await txn::confirm_error(transaction.get(), std::move(status));
  if (status.ok()) {
    compute();
    status = co_await transaction->commit();
  } else {
    transaction->abort();
  }
  cost_ += transaction->counters();
  co_return status;
}

reactor::Task<Status> EngineProcedure::call(txn::Session& session, std::span<const Value> arguments,
                                            std::vector<Value>& results) {
  const std::uint64_t began_ns = clock_ns();
  for (std::uint32_t number = 1;; ++number) {
    Status status;
    if (tables_.empty()) status = co_await resolve_tables();
    results.assign(definition_.results.size(), Value());
    if (status.ok()) status = co_await attempt(session, arguments, results);
    if (!status.ok()) {
      ++aborts_[status.info().name];
      if (status.code() == ErrorCode::catalog_changed) tables_.clear();
      if (status.info().retry) ++conflicts_;
      if (status.info().retry && number < engine_.retry_options().max_attempts) {
        ++retries_;
        const std::uint64_t failed_ns = clock_ns();
        co_await engine_.backoff(number);
        backoff_ns_ += clock_ns() - failed_ns;
        continue;
      }
      results.clear();
    }
    time_ns_ += clock_ns() - began_ns;
    most_attempts_ = std::max<std::uint64_t>(most_attempts_, number);
    ++transactions_;
    if (status.ok()) ++commits_;
    co_return status;
  }
}

support::ServerMetrics EngineProcedure::metrics() const {
  const auto number = [](std::uint64_t value) { return static_cast<std::int64_t>(value); };
  support::ServerMetrics metrics = {
      {"transactions", number(transactions_)},
      {"commits", number(commits_)},
      {"retries", number(retries_)},
      {"conflicts", number(conflicts_)},
      {"most_attempts", number(most_attempts_)},
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
  if (options_.timed) {
    metrics["time_ns"] = number(time_ns_);
    metrics["computation_ns"] = number(computation_ns_);
    metrics["backoff_ns"] = number(backoff_ns_);
  }
  for (const auto& [name, count] : aborts_) metrics["aborts_" + std::string(name)] = number(count);
  return metrics;
}

}  // namespace namdb::nambench
