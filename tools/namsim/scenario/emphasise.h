// Narrows the options of a scenario to its emphasis (emphasis.h).
#pragma once

#include "common/base/random.h"
#include "tools/namsim/scenario/scenario.h"

namespace namdb::sim {

void emphasise(Emphasis emphasis, Random& draw, Scenario& scenario);

}  // namespace namdb::sim
