// Loading of procedure libraries (nam-computed --procedure-library PATH). A library is loaded once, at start,
// by the operator's flag only, and stays loaded until the process ends: it is code in this process, and is
// trusted like it. Statements cannot load anything.
#pragma once

#include <string>

#include "common/base/error.h"
#include "compute/procedure/registry.h"

namespace namdb::procedure {

// Loads the library, checks its ABI version, and lets it add its procedures. Error configuration: no such
// file, no library, another version, or a procedure that the registry refused.
Status load_library(const std::string& path, ProcedureRegistry& registry);

}  // namespace namdb::procedure
