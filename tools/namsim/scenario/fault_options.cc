#include "tools/namsim/scenario/fault_options.h"

#include <algorithm>
#include <functional>
#include <map>

namespace namdb::sim {
namespace {

using Setter = std::function<void(ClusterOptions&, std::uint64_t)>;

const std::map<std::string, Setter>& setters() {
  static const std::map<std::string, Setter> all{
#define NAMDB_SETTABLE(type, name, value, hostile) \
  {#name,                                          \
   [](ClusterOptions& options, std::uint64_t number) { options.memory.name = static_cast<type>(number); }},
      NAMDB_MEMORY_TUNABLES(NAMDB_SETTABLE)
#undef NAMDB_SETTABLE
          {"region_bytes",
           [](ClusterOptions& options, std::uint64_t number) { options.region_bytes = number & ~7ULL; }},
      {"location_cache_bytes",
       [](ClusterOptions& options, std::uint64_t number) { options.location_cache_bytes = number; }},
      {"first_counter",
       [](ClusterOptions& options, std::uint64_t number) {
         options.memory.first_counter = static_cast<std::uint32_t>(number);
         // Transactions that have begun by then still get counters of their own.
         constexpr std::uint64_t kEnd = 0xffff'0000U;
         options.worker.slot.counters_per_slot =
             std::min(options.worker.slot.counters_per_slot,
                      static_cast<std::uint32_t>(kEnd - std::min(kEnd - 1, number)));
       }},
      {"first_slot",
       [](ClusterOptions& options, std::uint64_t number) {
         options.memory.first_slot = static_cast<std::uint32_t>(number);
       }},
      {"counters_per_slot",
       [](ClusterOptions& options, std::uint64_t number) {
         options.worker.slot.counters_per_slot = static_cast<std::uint32_t>(number);
       }},
      {"heartbeat_ns",
       [](ClusterOptions& options, std::uint64_t number) { options.worker.heartbeat_ns = number; }},
  };
  return all;
}

}  // namespace

bool settable(const std::string& option) {
  return setters().contains(option);
}

std::string settable_names() {
  std::string names;
  for (const auto& [name, set] : setters()) names += (names.empty() ? "" : ", ") + name;
  return names;
}

void set_option(ClusterOptions& options, const std::string& option, std::uint64_t value) {
  setters().at(option)(options, value);
}

}  // namespace namdb::sim
