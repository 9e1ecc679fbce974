// A whole run on a cluster whose regions have copies. Hosts end, are cut off one way or both, pause, and are
// lost for good while another host has the region's copy. The configuration store becomes unreachable, and
// loses answers. Clients go on all the time at compute servers that die, too.
//
// Checked: the history, over all fail-overs; every client ends; each region comes back, with its copies in
// sync. At rest the copies are equal to their primaries, and when they take over at the end no acknowledged
// commit is missing.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/fabric/sim/options.h"
#include "tools/namsim/cluster/cluster_options.h"
#include "tools/namsim/scenario/copies_verdict.h"

namespace namdb::sim {

// The workloads that runs with copies have.
inline constexpr std::array<std::string_view, 3> kCopiesWorkloads{"register", "append", "bank"};

CopiesVerdict run_with_copies(std::uint64_t seed, const CopyRules& rules = {});

// The options of such a run.
fabric::sim::SimOptions draw_copies_network(Random& draw);
ClusterOptions draw_copies_cluster(Random& draw, const CopyRules& rules);

}  // namespace namdb::sim
