// Those of the cases (cases.h) that are about reads: what they cost, and what they keep from others.
#pragma once

#include <span>

#include "tools/conformance/cases.h"

namespace namdb::conformance {

std::span<const Case> read_cases();

}  // namespace namdb::conformance
