// Orders about copies of regions (common/placement/follow_calls.h): a host becomes a copy, ceases to be one,
// or gives the region that it serves to a copy. Each returns when that is done, and shows how far it is.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "common/base/error.h"
#include "tools/namctl/control_client.h"
#include "tools/namctl/output.h"

namespace namdb::namctl {

struct DrainOrder {
  std::string from;
  std::string to;  // empty: to the copy that has most
  bool force = false;
};

// The host follows the region of its server id until it is in sync.
Status add_copy(const Output& output, ControlPlane& control, const std::string& address,
                nlohmann::json* document);
// The host has neither region nor copy then. Without a configuration store its region moves to `to`.
Status drain_host(const Output& output, ControlPlane& control, const DrainOrder& order,
                  nlohmann::json* document);
// As rebalance_plan.h says, one region after the other; each old host is a copy again before the next.
Status rebalance(const Output& output, ControlPlane& control, const std::vector<std::string>& addresses,
                 nlohmann::json* document);

}  // namespace namdb::namctl
