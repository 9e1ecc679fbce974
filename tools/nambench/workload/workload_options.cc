#include "tools/nambench/workload/workload_options.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "tools/support/client/database_view.h"
#include "workloads/smallbank_workload.h"
#include "workloads/tatp_workload.h"
#include "workloads/tpcc_workload.h"
#include "workloads/ycsb_workload.h"

namespace namdb::nambench {
namespace {

using workloads::Workload;

constexpr std::uint64_t kAccountsPerScale = 100'000;
constexpr std::uint64_t kRecordsPerScale = 100'000;
constexpr std::uint64_t kSubscribersPerScale = 100'000;

Status invalid(std::string message) {
  return Status(ErrorCode::invalid_parameter_value, std::move(message));
}

// The flags that only one workload has, and whether they were given.
Status check_flags(const WorkloadOptions& options) {
  struct Flag {
    const char* workload;
    const char* name;
    bool given;
  };
  const Flag flags[] = {
      {"smallbank", "--accounts", options.accounts.has_value()},
      {"tatp", "--subscribers", options.subscribers.has_value()},
      {"tpcc", "--warehouses", options.warehouses.has_value()},
      {"tpcc", "--items", options.items.has_value()},
      {"tpcc", "--customers", options.customers_per_district.has_value()},
      {"tpcc", "--initial-orders", options.orders_per_district.has_value()},
      {"tpcc", "--remote", options.remote.has_value()},
      {"tpcc", "--by-warehouse", options.by_warehouse},
      {"tpcc", "--remote-percent", !options.remote_percent.empty()},
      {"ycsb", "--records", options.records.has_value()},
      {"ycsb", "--fields", options.fields.has_value()},
      {"ycsb", "--field-bytes", options.field_bytes.has_value()},
      {"ycsb", "--operations", options.operations.has_value()},
      {"ycsb", "--reads", options.reads.has_value()},
  };
  for (const Flag& flag : flags) {
    if (flag.given && options.workload != flag.workload) {
      return invalid(std::string(flag.name) + " belongs to " + flag.workload + ", not to " +
                     options.workload);
    }
  }
  if (options.workload == "tpcc" && (options.zipf || options.hot_keys || options.uniform)) {
    return invalid(
        "tpcc draws its keys as its specification says; --zipf, --hot-keys and --uniform are not for it");
  }
  if (options.remote && !options.remote_percent.empty()) {
    return invalid("choose one of --remote and --remote-percent");
  }
  if (options.workload == "ycsb" && !options.mix.empty()) {
    return invalid("ycsb has one transaction; --reads and --operations say what is in it");
  }
  const int distributions = (options.zipf ? 1 : 0) + (options.hot_keys ? 1 : 0) + (options.uniform ? 1 : 0);
  if (distributions > 1) return invalid("choose one of --zipf, --hot-keys and --uniform");
  return {};
}

workloads::Skew skew_of(const WorkloadOptions& options, workloads::Skew usual) {
  if (options.uniform) return {};
  if (options.zipf) return {.zipf_theta = *options.zipf};
  if (options.hot_keys) usual = {.hot_keys = *options.hot_keys, .hot_probability = 0.9};
  if (options.hot_probability) usual.hot_probability = *options.hot_probability;
  return usual;
}

}  // namespace

void add_population_options(CLI::App& command, WorkloadOptions& options) {
  command.add_option("WORKLOAD", options.workload, "smallbank, tatp, tpcc or ycsb")
      ->required()
      ->check(CLI::IsMember({"smallbank", "tatp", "tpcc", "ycsb"}));
  command.add_option("--seed", options.seed, "Decides all rows and all arguments")->capture_default_str();
  command
      .add_option("--scale", options.scale,
                  "Size in units of 100000 accounts, subscribers or records, or of one warehouse; the flags "
                  "below are "
                  "finer")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{100'000}));
  command.add_option("--accounts", options.accounts, "Customers, each with a savings and a checking account")
      ->group("smallbank")
      ->check(CLI::Range(std::uint64_t{2}, std::uint64_t{1} << 40));
  command.add_option("--subscribers", options.subscribers, "Subscribers")->group("tatp");
  command.add_option("--warehouses", options.warehouses, "Warehouses, about 400 MB each")->group("tpcc");
  command.add_option("--items", options.items, "Items, and stock rows a warehouse (100000)")->group("tpcc");
  command.add_option("--customers", options.customers_per_district, "Customers a district (3000)")
      ->group("tpcc");
  command
      .add_option("--initial-orders", options.orders_per_district,
                  "Orders a district to start with (as many as customers)")
      ->group("tpcc");
  command
      .add_flag(
          "--by-warehouse", options.by_warehouse,
          "Create the tables PARTITION BY HASH (warehouse): a warehouse's rows lie on one memory server")
      ->group("tpcc");
  command.add_option("--records", options.records, "Records")->group("ycsb");
  command.add_option("--fields", options.fields, "Text fields of a record (10)")->group("ycsb");
  command.add_option("--field-bytes", options.field_bytes, "Length of each field (100)")->group("ycsb");
}

void add_run_options(CLI::App& command, WorkloadOptions& options) {
  command
      .add_option("--zipf", options.zipf,
                  "Draw keys from a zipf distribution with this theta, 0 <= theta < 1")
      ->check(CLI::Range(0.0, 0.9999));
  command.add_option("--hot-keys", options.hot_keys,
                     "Draw keys from a hot set of so many (smallbank's default: a quarter of the accounts)");
  command.add_option("--hot-probability", options.hot_probability, "Probability of the hot set (0.9)")
      ->check(CLI::Range(0.0, 1.0));
  command.add_flag("--uniform", options.uniform, "Draw keys uniformly");
  command.add_option("--mix", options.mix,
                     "name=weight,... of the transactions, such as send_payment=1 (default: the workload's)");
  command
      .add_option(
          "--remote", options.remote,
          "Probability, 0 to 1, that goods and paying customers are another warehouse's (0.01 and 0.15)")
      ->check(CLI::Range(0.0, 1.0))
      ->group("tpcc");
  command
      .add_option("--remote-percent", options.remote_percent,
                  "Likelihood, 0 to 100, that a new order takes all its goods from a warehouse of another "
                  "memory server, all others from their own; several, joined by commas, are run in turns and "
                  "compared")
      ->delimiter(',')
      ->check(CLI::Range(0.0, 100.0))
      ->group("tpcc");
  command.add_option("--operations", options.operations, "Operations a transaction, 1 to 64 (10)")
      ->group("ycsb");
  command.add_option("--reads", options.reads, "Share of reads among them, 0 to 1 (0.5)")->group("ycsb");
}

Status detect_population(WorkloadOptions& options, support::DatabaseView& database) {
  if (options.scale) return {};
  Status status;
  const auto count = [&](const char* table) -> std::uint64_t {
    if (!status.ok()) return 0;
    Result<std::int64_t> rows = database.count(table);
    if (!rows.ok()) {
      status = rows.status();
      return 0;
    }
    if (*rows == 0) status = invalid(std::string("table ") + table + " is empty");
    return static_cast<std::uint64_t>(*rows);
  };
  if (options.workload == "smallbank" && !options.accounts) options.accounts = count("accounts");
  if (options.workload == "tatp" && !options.subscribers) options.subscribers = count("subscriber");
  if (options.workload == "ycsb" && !options.records) options.records = count("usertable");
  if (options.workload == "tpcc") {
    if (!options.warehouses) options.warehouses = static_cast<std::uint32_t>(count("warehouse"));
    if (!options.items) options.items = static_cast<std::uint32_t>(count("item"));
    if (!options.customers_per_district && status.ok()) {
      const std::uint64_t districts =
          std::uint64_t{*options.warehouses} * workloads::tpcc::kDistrictsPerWarehouse;
      options.customers_per_district = static_cast<std::uint32_t>(count("customer") / districts);
    }
    if (!options.orders_per_district) options.orders_per_district = options.customers_per_district;
  }
  if (status.ok()) return status;
  return Status(status.code(), "cannot find out how large " + options.workload + " is: " + status.message(),
                "load it first: nambench load " + options.workload);
}

Result<std::unique_ptr<Workload>> make_workload(const WorkloadOptions& options) {
  if (Status status = check_flags(options); !status.ok()) return status;
  Result<workloads::Mix> mix = workloads::parse_mix(options.mix);
  if (!mix.ok()) return mix.status();
  const std::uint64_t scale = options.scale.value_or(1);
  if (options.workload == "smallbank") {
    workloads::SmallBankOptions bank;
    bank.accounts = options.accounts.value_or(scale * kAccountsPerScale);
    bank.skew =
        skew_of(options, {.hot_keys = std::max<std::uint64_t>(bank.accounts / 4, 1), .hot_probability = 0.9});
    bank.mix = *mix;
    bank.seed = options.seed;
    return workloads::make_smallbank(bank);
  }
  if (options.workload == "tatp") {
    workloads::TatpOptions tatp;
    tatp.subscribers = options.subscribers.value_or(scale * kSubscribersPerScale);
    if (options.zipf || options.hot_keys || options.uniform) tatp.skew = skew_of(options, {});
    tatp.mix = *mix;
    tatp.seed = options.seed;
    return workloads::make_tatp(tatp);
  }
  if (options.workload == "tpcc") {
    workloads::TpccOptions tpcc;
    tpcc.scale.warehouses = options.warehouses.value_or(static_cast<std::uint32_t>(scale));
    tpcc.scale.items = options.items.value_or(tpcc.scale.items);
    tpcc.scale.customers_per_district =
        options.customers_per_district.value_or(tpcc.scale.customers_per_district);
    // One each, as the specification has it.
    tpcc.scale.orders_per_district = options.orders_per_district.value_or(tpcc.scale.customers_per_district);
    tpcc.remote_item = options.remote.value_or(tpcc.remote_item);
    tpcc.remote_payment = options.remote.value_or(tpcc.remote_payment);
    tpcc.by_warehouse = options.by_warehouse;
    tpcc.distribution = options.distribution;
    tpcc.memory_servers = options.memory_servers;
    tpcc.mix = *mix;
    tpcc.seed = options.seed;
    return workloads::make_tpcc(tpcc);
  }
  if (options.workload != "ycsb") return invalid("no workload \"" + options.workload + "\"");
  workloads::YcsbOptions ycsb;
  ycsb.records = options.records.value_or(scale * kRecordsPerScale);
  ycsb.operations = options.operations.value_or(ycsb.operations);
  ycsb.reads = options.reads.value_or(ycsb.reads);
  ycsb.shape.fields = options.fields.value_or(ycsb.shape.fields);
  ycsb.shape.field_bytes = options.field_bytes.value_or(ycsb.shape.field_bytes);
  ycsb.skew = skew_of(options, {});
  ycsb.seed = options.seed;
  return workloads::make_ycsb(ycsb);
}

}  // namespace namdb::nambench
