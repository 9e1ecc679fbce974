// Those of the cases (cases.h) that are about reads: their costs, and the locks that readers hold.
#pragma once

#include <span>

#include "tools/conformance/trial.h"

namespace namdb::conformance {

std::span<const Case> read_cases();

}  // namespace namdb::conformance
