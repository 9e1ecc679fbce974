#include "tools/support/report/run_report.h"

#include <cinttypes>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <numeric>

#include "tools/support/report/text_table.h"

namespace namdb::support {
namespace {

using Json = nlohmann::ordered_json;

struct Percentile {
  const char* name;
  double share;
};
constexpr Percentile kPercentiles[] = {
    {"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}, {"max", 1}};

double microseconds(std::uint64_t value_ns) {
  return static_cast<double>(value_ns) / 1e3;
}

Json latency_json(const Histogram& latency) {
  Json json;
  json["mean"] = latency.mean_ns() / 1e3;
  for (const Percentile& percentile : kPercentiles) {
    json[percentile.name] = microseconds(latency.percentile_ns(percentile.share));
  }
  return json;
}

void add_latency_row(TextTable& table, const std::string& name, std::uint64_t committed,
                     std::uint64_t aborted, std::uint64_t failed, double seconds, const Histogram& latency) {
  std::vector<std::string> row = {name, decimal(static_cast<double>(committed) / seconds, 0),
                                  std::to_string(committed), std::to_string(aborted), std::to_string(failed)};
  for (const Percentile& percentile : kPercentiles) {
    row.push_back(decimal(microseconds(latency.percentile_ns(percentile.share)), 1));
  }
  table.add(std::move(row));
}

std::int64_t metric(const TypeReport& type, const std::string& name) {
  const auto found = type.server.find(name);
  return found == type.server.end() ? 0 : found->second;
}

// The cost of a committed transaction, with the attempts that failed before it.
std::string cost_text(const RunReport& report) {
  TextTable table({"per commit", "one-sided", "reads", "writes", "atomics", "calls", "round trips",
                   "re-reads", "retries", "bytes"});
  bool any = false;
  for (const TypeReport& type : report.types) {
    const std::int64_t commits = metric(type, "commits");
    if (commits == 0) continue;
    any = true;
    const std::int64_t atomics = metric(type, "compare_and_swaps") + metric(type, "fetch_adds");
    const std::int64_t reads = metric(type, "reads");
    const std::int64_t writes = metric(type, "writes");
    std::vector<std::string> row = {type.name};
    for (const std::int64_t total :
         {reads + writes + atomics, reads, writes, atomics, metric(type, "calls"),
          metric(type, "round_trips"), metric(type, "rereads"), metric(type, "retries")}) {
      row.push_back(decimal(static_cast<double>(total) / static_cast<double>(commits), 2));
    }
    row.push_back(decimal(static_cast<double>(metric(type, "bytes")) / static_cast<double>(commits), 0));
    table.add(std::move(row));
  }
  return any ? table.to_text() : std::string();
}

std::string time_text(const RunReport& report) {
  TextTable table({"the mean transaction", "us", "%", "round trips"});
  double all_us = 0;
  for (const TimeShare& share : report.time_shares) all_us += share.us;
  for (const TimeShare& share : report.time_shares) {
    table.add({share.name, decimal(share.us, 2), decimal(all_us > 0 ? 100 * share.us / all_us : 0, 1),
               decimal(share.round_trips, 2)});
  }
  return table.to_text();
}

// Attempts that the server aborted, and mostly ran again.
std::string attempts_text(const RunReport& report) {
  constexpr std::string_view kPrefix = "aborts_";
  std::map<std::string, std::int64_t> reasons;
  for (const TypeReport& type : report.types) {
    for (const auto& [name, value] : type.server) {
      if (name.starts_with(kPrefix) && value != 0) reasons[name.substr(kPrefix.size())] += value;
    }
  }
  if (reasons.empty()) return {};
  TextTable table({"aborted attempts by reason", "count"});
  for (const auto& [reason, count] : reasons) table.add({reason, std::to_string(count)});
  return table.to_text();
}

}  // namespace

std::uint64_t RunReport::committed() const {
  return std::accumulate(types.begin(), types.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const TypeReport& type) { return sum + type.committed; });
}
std::uint64_t RunReport::aborted() const {
  return std::accumulate(types.begin(), types.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const TypeReport& type) { return sum + type.aborted; });
}
std::uint64_t RunReport::failed() const {
  return std::accumulate(types.begin(), types.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const TypeReport& type) { return sum + type.failed; });
}
Histogram RunReport::latency() const {
  Histogram all;
  for (const TypeReport& type : types) all.merge(type.latency);
  return all;
}
bool RunReport::checks_ok() const {
  for (const CheckResult& check : checks) {
    if (!check.ok) return false;
  }
  return true;
}

std::string hash_text(std::uint64_t hash) {
  char buffer[20];
  std::snprintf(buffer, sizeof buffer, "%016" PRIx64, hash);
  return buffer;
}

Json to_json(const RunReport& report) {
  Json json;
  json["workload"] = report.workload;
  json["population"] = report.population;
  json["mode"] = report.mode;
  json["clients"] = report.clients;
  json["pipeline"] = report.pipeline;
  json["seed"] = report.seed;
  json["warmup_seconds"] = report.warmup_seconds;
  json["seconds"] = report.seconds;
  json["transactions_per_second"] = static_cast<double>(report.committed()) / report.seconds;
  if (report.processor_us > 0) json["processor_us"] = report.processor_us;
  json["committed"] = report.committed();
  json["aborted"] = report.aborted();
  json["failed"] = report.failed();
  json["latency_us"] = latency_json(report.latency());
  Json types = Json::array();
  for (const TypeReport& type : report.types) {
    Json entry;
    entry["name"] = type.name;
    entry["procedure"] = type.procedure;
    entry["committed"] = type.committed;
    entry["aborted"] = type.aborted;
    entry["failed"] = type.failed;
    entry["latency_us"] = latency_json(type.latency);
    Json server = Json::object();
    for (const auto& [metric, value] : type.server) server[metric] = value;
    entry["server"] = server;
    types.push_back(entry);
  }
  json["transactions"] = types;
  if (!report.time_shares.empty()) {
    Json shares = Json::array();
    for (const TimeShare& share : report.time_shares) {
      shares.push_back({{"name", share.name}, {"us", share.us}, {"round_trips", share.round_trips}});
    }
    json["time_shares"] = shares;
  }
  Json reasons = Json::object();
  for (const auto& [reason, count] : report.reasons) reasons[reason] = count;
  json["reasons"] = reasons;
  Json checks = Json::array();
  for (const CheckResult& check : report.checks) {
    checks.push_back({{"name", check.name}, {"ok", check.ok}, {"detail", check.detail}});
  }
  json["checks"] = checks;
  json["notes"] = report.notes;
  json["request_hash"] = hash_text(report.request_hash);
  json["result_hash"] = hash_text(report.result_hash);
  return json;
}

std::string to_text(const RunReport& report) {
  std::string text = report.workload + ", " + report.population + ", " + std::to_string(report.clients) +
                     (report.mode == "wire" ? " clients" : " coroutines");
  if (report.pipeline > 1) text += ", " + std::to_string(report.pipeline) + " calls in the pipeline of each";
  text += ", seed " + std::to_string(report.seed) + "; " + decimal(report.seconds, 1) + " s after " +
          decimal(report.warmup_seconds, 1) + " s of warm-up\n\n";
  TextTable table({"transaction", "per second", "committed", "aborted", "failed", "p50 us", "p90 us",
                   "p99 us", "p99.9 us", "max us"});
  for (const TypeReport& type : report.types) {
    add_latency_row(table, type.name, type.committed, type.aborted, type.failed, report.seconds,
                    type.latency);
  }
  if (report.types.size() > 1) {
    add_latency_row(table, "all", report.committed(), report.aborted(), report.failed(), report.seconds,
                    report.latency());
  }
  text += table.to_text();
  if (report.processor_us > 0) {
    text += "the worker's thread computed " + decimal(report.processor_us, 2) +
            " us for a transaction: " + decimal(1e6 / report.processor_us, 0) +
            " per second of processor time\n";
  }
  if (!report.time_shares.empty()) text += '\n' + time_text(report);
  if (const std::string cost = cost_text(report); !cost.empty()) text += '\n' + cost;
  if (const std::string attempts = attempts_text(report); !attempts.empty()) text += '\n' + attempts;
  if (!report.reasons.empty()) {
    text += '\n';
    TextTable reasons({"aborts and errors by reason", "count"});
    for (const auto& [reason, count] : report.reasons) reasons.add({reason, std::to_string(count)});
    text += reasons.to_text();
  }
  text += '\n';
  for (const CheckResult& check : report.checks) {
    text += "check: " + check.name + ": " + (check.ok ? "ok" : "FAILED, " + check.detail) + '\n';
  }
  for (const std::string& note : report.notes) text += "note: " + note + '\n';
  text += "hash of all calls " + hash_text(report.request_hash) + ", with their results " +
          hash_text(report.result_hash) + '\n';
  return text;
}

}  // namespace namdb::support
