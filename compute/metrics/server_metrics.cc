#include "compute/metrics/server_metrics.h"

#include <array>
#include <string_view>
#include <utility>

namespace namdb::compute {
namespace {

using metrics::amount;
using metrics::MetricPage;
using Row = sql::Statistics::Row;

constexpr std::string_view kAborts = "aborts_";
constexpr double kMicrosecondsInSecond = 1e6;

struct Sample {
  std::string_view metric;  // of the statistics
  std::string_view name;
  std::string_view help;
  std::string_view label;
  std::string_view value;
};

constexpr std::string_view kOperationsHelp = "Operations on memory servers' memory, and calls to them.";
constexpr std::string_view kBytesHelp = "Bytes of these operations.";
// Of a type of transactions. Those without a label have that of the type only.
constexpr std::array<Sample, 13> kCounters = {{
    {"transactions",
     "namdb_compute_transactions_total",
     "Transactions that ended in a commit or an abort, by type.",
     {},
     {}},
    {"commits", "namdb_compute_commits_total", "Commits.", {}, {}},
    {"retries",
     "namdb_compute_retries_total",
     "Attempts that the server made again after a conflict.",
     {},
     {}},
    {"reads", "namdb_compute_operations_total", kOperationsHelp, "operation", "read"},
    {"writes", "namdb_compute_operations_total", kOperationsHelp, "operation", "write"},
    {"compare_and_swaps", "namdb_compute_operations_total", kOperationsHelp, "operation", "compare_and_swap"},
    {"fetch_adds", "namdb_compute_operations_total", kOperationsHelp, "operation", "fetch_add"},
    {"calls", "namdb_compute_operations_total", kOperationsHelp, "operation", "call"},
    {"round_trips", "namdb_compute_round_trips_total", "Round trips, one after another.", {}, {}},
    {"rereads", "namdb_compute_rereads_total", "READs of memory that was being written.", {}, {}},
    {"read_bytes", "namdb_compute_bytes_total", kBytesHelp, "operation", "read"},
    {"write_bytes", "namdb_compute_bytes_total", kBytesHelp, "operation", "write"},
    {"call_bytes", "namdb_compute_bytes_total", kBytesHelp, "operation", "call"},
}};

bool add_of_type(MetricPage& page, const Row& row) {
  for (const Sample& sample : kCounters) {
    if (row.metric != sample.metric) continue;
    metrics::Labels labels = {{"type", row.name}};
    if (!sample.label.empty()) labels.emplace_back(sample.label, sample.value);
    page.counter(sample.name, sample.help, amount(row.value), std::move(labels));
    return true;
  }
  if (!row.metric.starts_with(kAborts)) return false;
  page.counter("namdb_compute_aborts_total", "Attempts that ended in an error, by reason.", amount(row.value),
               {{"type", row.name}, {"reason", row.metric.substr(kAborts.size())}});
  return true;
}

// Of the server as a whole.
void add_of_server(MetricPage& page, const Row& row) {
  if (row.metric == "client_bytes") {
    page.gauge("namdb_compute_client_memory_bytes", "Memory that is kept for clients.", amount(row.value));
  } else if (row.metric == "client_limit_bytes") {
    page.gauge("namdb_compute_client_memory_limit_bytes", "--client-memory-bytes.", amount(row.value));
  } else if (row.metric == "client_refusals") {
    page.counter("namdb_compute_client_memory_refusals_total",
                 "Statements and messages that were refused for want of that memory.", amount(row.value));
  } else if (row.metric == "turns_over_50_ms") {
    page.counter("namdb_compute_long_turns_total",
                 "Turns of over 50 ms, in which a worker served nobody else.", amount(row.value));
  } else if (row.metric == "longest_turn_us") {
    page.gauge("namdb_compute_longest_turn_seconds", "The longest turn of any worker so far.",
               amount(row.value) / kMicrosecondsInSecond);
  }
}

}  // namespace

void add_server(MetricPage& page, const ServerFigures& figures) {
  page.info("namdb_compute_info", "Build and settings of the compute server.",
            {{"version", figures.version}, {"fabric", figures.fabric}});
  page.gauge("namdb_compute_workers", "Worker threads.", amount(figures.workers));
  page.gauge("namdb_compute_connections", "SQL clients that are connected.", amount(figures.connections));
  page.gauge("namdb_compute_max_connections", "SQL clients that may be connected at a time.",
             amount(figures.max_connections));
  for (const Row& row : figures.statistics) {
    if (!add_of_type(page, row)) add_of_server(page, row);
  }
  for (const fabric::ConnectionFacts& connection : figures.connection_facts) {
    for (const fabric::Fact& fact : connection.facts.all()) {
      if (!fact.text.empty()) continue;
      page.gauge("namdb_compute_fabric", "Workers' connections to memory servers, as in `namctl fabric`.",
                 amount(fact.amount),
                 {{"worker", std::to_string(connection.worker)},
                  {"memory_server", std::to_string(connection.memory_server)},
                  {"name", fact.name}});
    }
  }
}

std::string status_line(const ServerFigures& figures) {
  std::uint64_t commits = 0;
  std::uint64_t retries = 0;
  for (const Row& row : figures.statistics) {
    if (row.metric == "commits") commits += row.value;
    if (row.metric == "retries") retries += row.value;
  }
  return "Serves " + std::to_string(figures.connections) + " of at most " +
         std::to_string(figures.max_connections) + " SQL clients; " + std::to_string(commits) + " commits, " +
         std::to_string(retries) + " retries since the start";
}

}  // namespace namdb::compute
