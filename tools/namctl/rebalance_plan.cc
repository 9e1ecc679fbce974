#include "tools/namctl/rebalance_plan.h"

#include <map>

namespace namdb::namctl {

std::string machine_of(const std::string& address) {
  if (address.starts_with("unix:")) return "";
  return address.substr(0, address.rfind(':'));
}

std::optional<RebalanceStep> next_rebalance_step(const placement::Configuration& configuration) {
  std::map<std::string, std::size_t> primaries;
  for (std::size_t region = 0; region < configuration.regions(); ++region)
    ++primaries[machine_of(configuration.place(region).address)];
  std::optional<RebalanceStep> best;
  std::size_t best_difference = 1;  // to change places would be all
  for (std::size_t region = 0; region < configuration.regions(); ++region) {
    const placement::Place& place = configuration.place(region);
    const std::size_t here = primaries[machine_of(place.address)];
    for (const std::string& copy : place.copies) {
      const auto there = primaries.find(machine_of(copy));
      const std::size_t others = there == primaries.end() ? 0 : there->second;
      if (here <= others + best_difference) continue;
      best_difference = here - others;
      best = RebalanceStep{region, place.address, copy};
    }
  }
  return best;
}

}  // namespace namdb::namctl
