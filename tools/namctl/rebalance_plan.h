// Which region is to go to which of its copies, so that machines have as many primaries as others, as far as
// copies in sync allow.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "common/placement/configuration.h"

namespace namdb::namctl {

struct RebalanceStep {
  std::size_t region = 0;
  std::string from;
  std::string to;
  friend bool operator==(const RebalanceStep&, const RebalanceStep&) = default;
};

// An address without its port. All sockets are on one machine.
std::string machine_of(const std::string& address);

// The step that helps most; nullopt: none does.
std::optional<RebalanceStep> next_rebalance_step(const placement::Configuration& configuration);

}  // namespace namdb::namctl
