#include "compute/sql/system/statistics.h"

#include <algorithm>
#include <bit>
#include <map>

namespace namdb::sql {
namespace {

using Cost = fabric::OperationCounters;
constexpr std::size_t kFields = sizeof(Cost) / sizeof(std::uint64_t);
static_assert(std::is_trivially_copyable_v<Cost>);

std::array<std::uint64_t, kFields> fields(const Cost& cost) {
  return std::bit_cast<std::array<std::uint64_t, kFields>>(cost);
}

}  // namespace

void TransactionStatistics::count_attempt(const Status& status, Attempt attempt, const Cost& cost) {
  const auto amounts = fields(cost);
  for (std::size_t i = 0; i < amounts.size(); ++i) {
    if (amounts[i] != 0) add(cost_[i], amounts[i]);
  }
  if (status.ok()) {
    add(commits_, 1);
  } else {
    add(aborts_[static_cast<std::size_t>(status.code())], 1);
  }
  if (attempt == Attempt::tried_again) {
    add(retries_, 1);
  } else {
    add(transactions_, 1);
  }
}

TransactionStatistics& Statistics::add(std::string name) {
  const std::lock_guard lock(mutex_);
  return entries_.emplace_back(std::move(name));
}

reactor::TurnTimes& Statistics::add_turns() {
  const std::lock_guard lock(mutex_);
  return turns_.emplace_back();
}

void Statistics::add_turns_to(std::vector<Row>& rows) const {
  std::uint64_t long_turns = 0;
  std::uint64_t longest_ns = 0;
  const std::lock_guard lock(mutex_);
  if (turns_.empty()) return;
  for (const reactor::TurnTimes& worker : turns_) {
    long_turns += worker.long_turns();
    longest_ns = std::max(longest_ns, worker.longest_ns());
  }
  rows.push_back({"reactor", "turns_over_50_ms", long_turns});
  rows.push_back({"reactor", "longest_turn_us", longest_ns / kMicrosecond_ns});
}

std::vector<Statistics::Row> Statistics::rows() const {
  struct Sum {
    std::uint64_t transactions = 0;
    std::uint64_t commits = 0;
    std::uint64_t retries = 0;
    Cost cost;
    std::map<std::string_view, std::uint64_t> aborts;
  };
  std::map<std::string, Sum> sums;
  {
    const std::lock_guard lock(mutex_);
    const auto value = [](const std::atomic<std::uint64_t>& counter) {
      return counter.load(std::memory_order_relaxed);
    };
    for (const TransactionStatistics& entry : entries_) {
      Sum& sum = sums[entry.name_];
      sum.transactions += value(entry.transactions_);
      sum.commits += value(entry.commits_);
      sum.retries += value(entry.retries_);
      std::array<std::uint64_t, kFields> amounts{};
      for (std::size_t i = 0; i < kFields; ++i) amounts[i] = value(entry.cost_[i]);
      sum.cost += std::bit_cast<Cost>(amounts);
      for (const ErrorInfo& info : error_table()) {
        const std::uint64_t count = value(entry.aborts_[static_cast<std::size_t>(info.code)]);
        if (count != 0) sum.aborts[info.name] += count;
      }
    }
  }
  std::vector<Row> rows;
  for (const auto& [name, sum] : sums) {
    if (sum.transactions == 0 && sum.retries == 0) continue;
    const auto add = [&](std::string metric, std::uint64_t value) {
      rows.push_back({name, std::move(metric), value});
    };
    add("transactions", sum.transactions);
    add("commits", sum.commits);
    add("retries", sum.retries);
    for (const auto& [reason, count] : sum.aborts) add("aborts_" + std::string(reason), count);
    add("reads", sum.cost.reads);
    add("writes", sum.cost.writes);
    add("compare_and_swaps", sum.cost.compare_and_swaps);
    add("fetch_adds", sum.cost.fetch_adds);
    add("calls", sum.cost.calls);
    add("round_trips", sum.cost.round_trips);
    add("batches", sum.cost.batches);
    add("rereads", sum.cost.rereads);
    add("read_bytes", sum.cost.read_bytes);
    add("write_bytes", sum.cost.write_bytes);
    add("call_bytes", sum.cost.call_bytes);
    add("bytes", sum.cost.bytes());
  }
  if (client_memory_ != nullptr) {
    rows.push_back({"memory", "client_bytes", client_memory_->used_bytes()});
    rows.push_back({"memory", "client_limit_bytes", client_memory_->limit_bytes()});
    rows.push_back({"memory", "client_refusals", client_memory_->refusals()});
  }
  add_turns_to(rows);
  return rows;
}

TransactionStatistics& WorkerStatistics::entry(std::string_view name) {
  const auto found =
      std::ranges::find_if(entries_, [name](const auto* entry) { return entry->name() == name; });
  if (found != entries_.end()) return **found;
  entries_.push_back(&all_.add(std::string(name)));
  return *entries_.back();
}

}  // namespace namdb::sql
