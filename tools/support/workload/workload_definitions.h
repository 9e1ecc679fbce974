// The workloads' procedures as they are linked into nambench: their parameters' types, and what engine mode
// runs.
#pragma once

#include <map>
#include <string>

#include "compute/procedure/procedure.h"

namespace namdb::support {

using Definitions = std::map<std::string, procedure::Definition>;
const Definitions& workload_definitions();

}  // namespace namdb::support
