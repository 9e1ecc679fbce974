#include "tools/namsql/operation_counts.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include "tools/namsql/text.h"

namespace namdb::namsql {
namespace {

constexpr std::string_view kNoTransactions[] = {"memory", "reactor"};
constexpr std::string_view kBlock = "block";

struct ShownMetric {
  const char* metric;
  const char* title;
};
constexpr ShownMetric kShown[] = {
    {"transactions", "transactions"},
    {"retries", "retries"},
    {"reads", "reads"},
    {"writes", "writes"},
    {"compare_and_swaps", "swaps"},
    {"fetch_adds", "adds"},
    {"calls", "calls"},
    {"round_trips", "round trips"},
    {"bytes", "bytes"},
};

bool is_of_transactions(std::string_view name) {
  return std::find(std::begin(kNoTransactions), std::end(kNoTransactions), name) == std::end(kNoTransactions);
}

std::uint64_t counter_of(const std::map<std::string, std::uint64_t>& metrics, const std::string& name) {
  const auto found = metrics.find(name);
  return found == metrics.end() ? 0 : found->second;
}

}  // namespace

OperationCounts operation_counts(const std::vector<std::vector<Cell>>& rows) {
  OperationCounts counts;
  for (const auto& row : rows) {
    if (row.size() != 3 || !row[0] || !row[1] || !row[2]) continue;
    std::uint64_t value = 0;
    if (std::from_chars(row[2]->data(), row[2]->data() + row[2]->size(), value).ec != std::errc()) continue;
    if (is_of_transactions(*row[0])) counts[*row[0]][*row[1]] += value;
  }
  return counts;
}

OperationCounts counted_between(const OperationCounts& before, const OperationCounts& after) {
  bool restarted = false;
  for (const auto& [name, metrics] : before) {
    const auto now = after.find(name);
    for (const auto& [metric, value] : metrics)
      if (value != 0 && (now == after.end() || counter_of(now->second, metric) < value)) restarted = true;
  }
  OperationCounts counted;
  for (const auto& [name, metrics] : after) {
    const auto earlier = before.find(name);
    for (const auto& [metric, value] : metrics) {
      const std::uint64_t old =
          restarted || earlier == before.end() ? 0 : counter_of(earlier->second, metric);
      if (value != old) counted[name][metric] = value - old;
    }
  }
  return counted;
}

ResultTable operations_table(const OperationCounts& counted) {
  ResultTable table;
  table.title = "Operations";
  table.counts_rows = false;
  table.columns.push_back({"kind", ValueKind::text});
  for (const ShownMetric& shown : kShown) table.columns.push_back({shown.title, ValueKind::number});
  for (const auto& [name, metrics] : counted) {
    auto& row = table.rows.emplace_back();
    row.emplace_back(name);
    for (const ShownMetric& shown : kShown) row.emplace_back(concat(counter_of(metrics, shown.metric)));
    for (const auto& [metric, value] : metrics) {
      constexpr std::string_view kAborts = "aborts_";
      if (metric.starts_with(kAborts))
        table.footers.push_back(concat(name, ": ", value, value == 1 ? " attempt" : " attempts", " ended by ",
                                       metric.substr(kAborts.size())));
    }
  }
  return table;
}

std::vector<std::string> procedure_names(const OperationCounts& counts) {
  std::vector<std::string> names;
  for (const auto& [name, metrics] : counts) {
    // Kinds of statements are written in capitals: SELECT, TRUNCATE TABLE.
    if (name != kBlock && name != upper(name)) names.push_back(name);
  }
  return names;
}

}  // namespace namdb::namsql
