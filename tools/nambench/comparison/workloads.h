// The workloads of RCC's comparisons (§6.1), small enough for a laptop: SmallBank; YCSB with ten operations,
// a fifth of them writes, and hot records; TPC-C's new-order.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/error.h"
#include "tools/nambench/workload/workload_options.h"

namespace CLI {
class App;
}

namespace namdb::nambench {

inline constexpr std::array<std::string_view, 3> kComparedWorkloads{"smallbank", "ycsb", "tpcc"};
inline constexpr std::uint64_t kRecordsPerHotRecord = 1000;  // 0.1 % are hot

struct Sizes {
  std::uint64_t accounts = 20'000;
  std::uint64_t records = 20'000;
  std::uint32_t warehouses = 2;
  std::uint32_t items = 2'000;
  std::uint32_t customers_per_district = 100;
  std::uint32_t orders_per_district = 20;

  // The size of a memory server's region: room for the load and for the rows that a run of so many seconds
  // adds.
  std::uint64_t region_mib(std::string_view workload, std::string_view protocol, double seconds) const;
};
void add_sizes(CLI::App& command, Sizes& sizes);

struct ComparedWorkload {
  std::string name;           // one of kComparedWorkloads
  double hot_percent = 0;     // ycsb: of the operations, that go to hot records
  std::string title() const;  // for people: "YCSB, 50 % hot"
  friend bool operator==(const ComparedWorkload&, const ComparedWorkload&) = default;
};

WorkloadOptions workload_options(const ComparedWorkload& workload, const Sizes& sizes, std::uint64_t seed);

}  // namespace namdb::nambench
