// A whole run on a cluster whose regions have copies: hosts end, are cut off one way or both, pause, and are
// lost for good while another has the region's copy; the configuration store cannot be reached, and loses
// answers. Clients go on all the time at compute servers that die, too.
//
// Checked: the history, over all fail-overs; every client ends; each region comes back, with its copies in
// sync; these are equal to their primaries at rest, and have everything when they take over at the end.
#pragma once

#include <cstdint>
#include <string>

#include "tools/namsim/cluster/copy_rules.h"

namespace namdb::sim {

struct CopiesVerdict {
  std::string anomaly;  // empty: all is well
  // It is of what clients read, or of files and regions at the end. Otherwise something did not come about.
  bool wrong_data = false;
  std::uint64_t committed = 0;
  std::uint64_t transactions = 0;
  std::uint64_t faults = 0;               // that did something
  std::uint64_t takeovers = 0;            // changes of primaries
  std::uint64_t takeovers_of_faults = 0;  // before those at the end
  std::uint64_t lost = 0;                 // machines, for good
  std::uint64_t fingerprint = 0;
};

CopiesVerdict run_with_copies(std::uint64_t seed, const CopyRules& rules = {});

}  // namespace namdb::sim
