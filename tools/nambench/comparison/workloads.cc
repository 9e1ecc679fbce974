#include "tools/nambench/comparison/workloads.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>

#include "common/protocols/protocol.h"
#include "tools/support/report/text_table.h"

namespace namdb::nambench {
namespace {

constexpr std::uint32_t kYcsbFieldBytes = 8;  // ten of them: the record of 64 bytes that RCC has, about

}  // namespace

std::uint64_t Sizes::region_mib(std::string_view workload, std::string_view protocol, double seconds) const {
  // Journals, the vector, extents that are not full.
  const std::uint64_t base_mib = workload == "tpcc" ? 96 : 40;
  // Where versions are kept, they are kept until no transaction can need them: through the whole run.
  const protocol::ProtocolTraits* const traits = protocol::find_protocol(protocol);
  double growth_mib_per_second = traits != nullptr && traits->single_version ? 0 : 64;
  std::uint64_t rows_bytes = 0;
  if (workload == "smallbank") {
    rows_bytes = accounts * 2560;
  } else if (workload == "ycsb") {
    rows_bytes = records * 1024;
  } else {
    const std::uint64_t district_rows = 2ULL * customers_per_district + 14ULL * orders_per_district;
    rows_bytes = (items + std::uint64_t{warehouses} * (items + 10 * district_rows)) * 5120;
    growth_mib_per_second += 96;  // new orders
  }
  return base_mib + (rows_bytes >> 20) +
         static_cast<std::uint64_t>(std::ceil(seconds * growth_mib_per_second));
}

void add_sizes(CLI::App& command, Sizes& sizes) {
  command.add_option("--accounts", sizes.accounts, "SmallBank's customers")
      ->capture_default_str()
      ->check(CLI::Range(std::uint64_t{2}, std::uint64_t{1} << 32))
      ->group("Sizes");
  command.add_option("--records", sizes.records, "YCSB's records; one in a thousand is hot")
      ->capture_default_str()
      ->check(CLI::Range(std::uint64_t{10}, std::uint64_t{1} << 32))
      ->group("Sizes");
  command.add_option("--warehouses", sizes.warehouses, "TPC-C's warehouses")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000))
      ->group("Sizes");
  command.add_option("--items", sizes.items, "TPC-C's items, and stock rows a warehouse")
      ->capture_default_str()
      ->check(CLI::Range(15, 100'000))
      ->group("Sizes");
  command.add_option("--customers", sizes.customers_per_district, "TPC-C's customers a district")
      ->capture_default_str()
      ->check(CLI::Range(1, 3000))
      ->group("Sizes");
  command
      .add_option("--initial-orders", sizes.orders_per_district, "TPC-C's orders a district to start with")
      ->capture_default_str()
      ->check(CLI::Range(1, 3000))
      ->group("Sizes");
}

std::string ComparedWorkload::title() const {
  if (name == "smallbank") return "SmallBank";
  if (name == "tpcc") return "TPC-C new-order";
  return "YCSB, " + (hot_percent > 0 ? support::decimal(hot_percent, 0) + " % hot" : std::string("uniform"));
}

WorkloadOptions workload_options(const ComparedWorkload& workload, const Sizes& sizes, std::uint64_t seed) {
  WorkloadOptions options;
  options.workload = workload.name;
  options.seed = seed;
  if (workload.name == "smallbank") {
    options.accounts = sizes.accounts;
  } else if (workload.name == "ycsb") {
    options.records = sizes.records;
    options.field_bytes = kYcsbFieldBytes;
    options.operations = 10;
    options.reads = 0.8;
    if (workload.hot_percent > 0) {
      options.hot_keys = std::max<std::uint64_t>(sizes.records / kRecordsPerHotRecord, 1);
      options.hot_probability = workload.hot_percent / 100;
    } else {
      options.uniform = true;
    }
  } else {
    options.warehouses = sizes.warehouses;
    options.items = sizes.items;
    options.customers_per_district = sizes.customers_per_district;
    options.orders_per_district = sizes.orders_per_district;
    options.mix = "new_order=1";
  }
  return options;
}

}  // namespace namdb::nambench
