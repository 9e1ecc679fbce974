// The report of a cluster's servers about the fabric between them: for `namctl fabric`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "common/base/error.h"
#include "common/fabric/facts.h"
#include "tools/namctl/cluster_view.h"
#include "tools/namctl/control_client.h"

namespace namdb::namctl {

struct MemoryFabric {
  std::string address;
  Status status;  // why it did not answer
  std::uint32_t server_id = 0;
  std::string fabric;
  fabric::Facts facts;
};

struct ComputeFabric {
  std::string address;
  std::string error;  // empty: it answered
  std::vector<fabric::ConnectionFacts> connections;
  std::uint64_t commits = 0;  // since the start
  // Over all connections.
  std::uint64_t total(const std::string& name) const;
};

struct FabricView {
  std::vector<MemoryFabric> memory;
  std::vector<ComputeFabric> compute;
  bool all_answer() const;
};

// Asks every server; one that does not answer is part of the view.
FabricView view_fabric(ControlPlane& control, const ClusterAddress& address);

nlohmann::json to_json(const FabricView& view);
// For people, a line each.
std::vector<std::string> to_lines(const FabricView& view);

}  // namespace namdb::namctl
