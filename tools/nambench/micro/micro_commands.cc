#include "tools/nambench/micro/micro_commands.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "tools/support/report/run_report.h"
#include "tools/support/report/text_table.h"

namespace namdb::nambench {
namespace {

using Json = nlohmann::ordered_json;

Json rate_json(const Rate& rate) {
  return {{"name", rate.name}, {"median", rate.median}};
}

Json to_json(const DiskReport& report) {
  Json json;
  json["synced_write"] = {{"median_us", report.synced_write_median_us},
                          {"p90_us", report.synced_write_p90_us}};
  Json appends = Json::array();
  for (const AppendReport& entry : report.appends) {
    appends.push_back({{"waiters", entry.waiters},
                       {"per_second", entry.per_second},
                       {"writes_per_second", entry.writes_per_second},
                       {"median_us", entry.median_us},
                       {"p90_us", entry.p90_us},
                       {"share", entry.share}});
  }
  json["appends"] = appends;
  json["reading"] = {{"log_bytes", report.log_bytes},
                     {"records", report.records},
                     {"log_mib_per_second", report.log_mib_per_second},
                     {"plain_mib_per_second", report.plain_mib_per_second},
                     {"ratio", report.log_mib_per_second / report.plain_mib_per_second}};
  return json;
}

std::string to_text(const DiskReport& report) {
  support::TextTable appends({"appends with a flush each", "per second", "disk writes/s", "records a write",
                              "median us", "90 % us", "of waiters / 1.5 F"});
  for (const AppendReport& entry : report.appends) {
    appends.add({std::to_string(entry.waiters) + " waiters", support::decimal(entry.per_second, 0),
                 support::decimal(entry.writes_per_second, 0),
                 support::decimal(entry.per_second / entry.writes_per_second, 1),
                 support::decimal(entry.median_us, 0), support::decimal(entry.p90_us, 0),
                 support::decimal(100 * entry.share, 0) + " %"});
  }
  support::TextTable reading({"reading back", "MiB/s", "ratio"});
  reading.add(
      {"plain sequential read", support::decimal(report.plain_mib_per_second, 0), support::decimal(1, 2)});
  reading.add({"the log, " + std::to_string(report.records) + " records",
               support::decimal(report.log_mib_per_second, 0),
               support::decimal(report.log_mib_per_second / report.plain_mib_per_second, 2)});
  return "synced write of 4 KiB (F): median " + support::decimal(report.synced_write_median_us, 0) +
         " us, 90 % " + support::decimal(report.synced_write_p90_us, 0) + " us\n\n" + appends.to_text() +
         "\n" + reading.to_text();
}

Json to_json(const std::vector<FabricReport>& reports) {
  Json json;
  json["unit"] = "million operations a second";
  Json transports = Json::array();
  for (const FabricReport& report : reports) {
    Json rates = Json::array();
    for (const Rate& rate : report.rates) {
      Json entry = rate_json(rate);
      entry["ratio"] = rate.median / report.baseline.median;
      rates.push_back(entry);
    }
    transports.push_back({{"transport", report.transport},
                          {"baseline", rate_json(report.baseline)},
                          {"rates", rates},
                          {"hash", support::hash_text(report.hash)}});
  }
  json["transports"] = transports;
  return json;
}

std::string to_text(const std::vector<FabricReport>& reports) {
  std::string text;
  for (const FabricReport& report : reports) {
    support::TextTable table({report.transport + ", 64 bytes", "million/s", "ns each", "ratio"});
    const auto add = [&](const Rate& rate) {
      table.add({rate.name, support::decimal(rate.median, 2), support::decimal(1e3 / rate.median, 1),
                 support::decimal(rate.median / report.baseline.median, 2)});
    };
    add(report.baseline);
    for (const Rate& rate : report.rates) add(rate);
    text += table.to_text() + "hash of what was read " + support::hash_text(report.hash) + "\n\n";
  }
  return text;
}

Json to_json(const std::vector<HashReport>& reports) {
  Json json = Json::array();
  for (const HashReport& report : reports) {
    Json entry = {
        {"distribution", report.distribution}, {"occupancy", report.occupancy}, {"reads", report.reads}};
    for (const CachedReads& cached : report.cached) {
      entry["cached"].push_back({{"bytes_per_key", cached.bytes_per_key}, {"reads", cached.reads}});
    }
    if (report.published > 0) {
      entry["published_reads"] = report.published;
      entry["published_cached_reads"] = report.published_cached;
    }
    entry["hash"] = support::hash_text(report.hash);
    json.push_back(entry);
  }
  return {{"unit", "bucket READs a lookup"}, {"results", json}};
}

std::string to_text(const std::vector<HashReport>& reports) {
  std::vector<std::string> header = {"bucket READs a lookup", "occupancy", "no cache", "DrTM"};
  if (!reports.empty()) {
    for (const CachedReads& cached : reports.front().cached) {
      header.push_back("cold cache of " + support::decimal(cached.bytes_per_key, 0) + " B/key");
    }
  }
  header.emplace_back("DrTM, cold cache");
  support::TextTable table(std::move(header));
  std::uint64_t hash = 0;
  for (const HashReport& report : reports) {
    const auto published = [&](double value) {
      return report.published > 0 ? support::decimal(value, 3) : std::string("-");
    };
    std::vector<std::string> row = {report.distribution, support::decimal(100 * report.occupancy, 1) + " %",
                                    support::decimal(report.reads, 3), published(report.published)};
    for (const CachedReads& cached : report.cached) row.push_back(support::decimal(cached.reads, 3));
    row.push_back(published(report.published_cached));
    table.add(std::move(row));
    hash += report.hash;
  }
  return table.to_text() + "hash of what was found " + support::hash_text(hash) + "\n";
}

Json to_json(const std::vector<OracleReport>& reports) {
  Json json = Json::array();
  for (const OracleReport& report : reports) {
    json.push_back({{"transport", report.transport},
                    {"oracle", report.oracle},
                    {"clients", report.clients},
                    {"per_second", report.median_per_second},
                    {"operations", report.operations},
                    {"round_trips", report.round_trips},
                    {"bytes", report.bytes}});
  }
  return {{"unit", "timestamp transactions"}, {"results", json}};
}

std::string to_text(const std::vector<OracleReport>& reports) {
  support::TextTable table({"timestamp transactions", "transport", "clients", "thousand/s", "operations each",
                            "round trips each", "bytes each"});
  for (const OracleReport& report : reports) {
    table.add({report.oracle, report.transport, std::to_string(report.clients),
               support::decimal(report.median_per_second / 1e3, 1), support::decimal(report.operations, 2),
               support::decimal(report.round_trips, 2), support::decimal(report.bytes, 1)});
  }
  return table.to_text();
}

// Runs a benchmark and prints its reports.
template <typename Bench, typename Options>
int run_bench(Bench bench, const Options& options, const Common& common) {
  const auto reports = [&] {
    support::Progress progress(common.quiet);
    return bench(options, progress);
  }();
  if (!reports.ok()) return fail(reports.status());
  print(common.json ? to_json(reports.value()).dump(2) + "\n" : to_text(reports.value()));
  return 0;
}

}  // namespace

DiskCommand::DiskCommand(CLI::App& app) {
  app.add_option("folder", options_.folder, "Folder on the disk that is measured; nothing stays in it")
      ->required()
      ->check(CLI::ExistingDirectory);
  app.add_option("--synced-writes", options_.synced_writes, "Synced writes of 4 KiB, one after the other")
      ->capture_default_str()
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 30));
  app.add_option("--waiters", options_.waiters, "Coroutines that append and wait, one measurement each")
      ->delimiter(',')
      ->capture_default_str()
      ->check(CLI::Range(1, 65'536));
  app.add_option("--milliseconds", options_.milliseconds, "Of each measurement of appends")
      ->capture_default_str()
      ->check(CLI::Range(1, 3'600'000));
  app.add_option("--record-bytes", options_.record_bytes, "Of each record")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--log-mib", options_.log_mib, "Log that is read back, in MiB")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--repetitions", options_.repetitions, "Times that it is read, in turns with a plain read")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  add_common(app, common_);
}

int DiskCommand::run() {
  return run_bench(disk_bench, options_, common_);
}

FabricCommand::FabricCommand(CLI::App& app) {
  app.add_option("--transports", options_.transports, "shm, tcp and verbs, joined by commas")
      ->delimiter(',')
      ->check(CLI::IsMember({"shm", "tcp", "verbs"}));
  app.add_option("--verbs-host", options_.verbs_host,
                 "With verbs: address of an RDMA device of this machine");
  app.add_option("--nodes", options_.nodes, "With verbs: clusters to emulate, a queue pair for each node")
      ->delimiter(',')
      ->capture_default_str()
      ->check(CLI::Range(1, 4096));
  app.add_option("--verbs-operations", options_.verbs_operations, "READs of one measurement")
      ->capture_default_str()
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 30));
  app.add_option("--region-mib", region_mib_, "Region that is read from, in MiB")
      ->capture_default_str()
      ->check(CLI::Range(1, 65'536));
  app.add_option("--shm-operations", options_.shm_operations, "READs of one measurement")
      ->capture_default_str()
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 30));
  app.add_option("--tcp-operations", options_.tcp_operations, "READs of one measurement")
      ->capture_default_str()
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 30));
  app.add_option("--repetitions", options_.repetitions, "Measurements of each kind, in turns")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  app.add_option("--seed", options_.seed, "Decides contents and places")->capture_default_str();
  add_common(app, common_);
}

int FabricCommand::run() {
  options_.region_bytes = region_mib_ << 20;
  return run_bench(fabric_bench, options_, common_);
}

HashCommand::HashCommand(CLI::App& app) {
  app.add_option("--keys", options_.keys, "Keys in the table")
      ->capture_default_str()
      ->check(CLI::Range(std::uint64_t{100}, std::uint64_t{1} << 30));
  app.add_option("--lookups", options_.lookups, "Lookups of one measurement (as many as keys)");
  app.add_option("--occupancy", options_.occupancies_percent, "Keys over main buckets' entries, in percent")
      ->delimiter(',')
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  app.add_option("--zipf", options_.zipf_theta, "Theta of the skewed distribution")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 0.9999));
  app.add_option("--cache-bytes-per-key", options_.cache_bytes_per_key, "Sizes of the location cache")
      ->delimiter(',')
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1000.0));
  app.add_option("--seed", options_.seed, "Decides the keys that are looked up")->capture_default_str();
  add_common(app, common_);
}

int HashCommand::run() {
  return run_bench(hash_bench, options_, common_);
}

OracleCommand::OracleCommand(CLI::App& app) {
  app.add_option("--transports", options_.transports, "shm, tcp or both, joined by commas")
      ->delimiter(',')
      ->check(CLI::IsMember({"shm", "tcp"}));
  app.add_option("--oracles", options_.oracles, "Which, joined by commas; all unless given")
      ->delimiter(',')
      ->check(CLI::IsMember(oracle_names()));
  app.add_option("--clients", options_.clients,
                 "Execution threads (coroutines) at once, one measurement each")
      ->delimiter(',')
      ->capture_default_str()
      ->check(CLI::Range(1, 2048));
  app.add_option("--threads", options_.threads, "Threads that they are spread over, each with a connection")
      ->capture_default_str()
      ->check(CLI::Range(1, 256));
  app.add_option("--transactions", options_.transactions, "Of all clients together, in one measurement")
      ->capture_default_str()
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40));
  app.add_option("--repetitions", options_.repetitions, "Measurements of each kind")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  add_common(app, common_);
}

int OracleCommand::run() {
  return run_bench(oracle_bench, options_, common_);
}

}  // namespace namdb::nambench
