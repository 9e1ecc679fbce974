// The run of a scenario whose regions have copies. Its faults are data, as those of every scenario, and
// happen while clients go on. Hosts end, are lost for good, pause, and are cut off from each other, both ways
// or one, and from the configuration store. The store fails, too.
//
// Checked as in copies_run.h, which draws faults on the way instead.
#pragma once

#include "tools/namsim/scenario/scenario.h"

namespace namdb::sim {

// The history is held against the level. Reads of aborted transactions count for nothing: these may have read
// at a primary that was deposed meanwhile.
Verdict run_copies_scenario(const Scenario& scenario, const history::Level& level);

}  // namespace namdb::sim
