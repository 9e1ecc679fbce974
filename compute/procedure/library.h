// Loading of procedure libraries (nam-computed --procedure-library PATH). A library is loaded once, at start,
// by the operator's flag only, and stays loaded until the process ends: its code runs in this process and is
// trusted. Statements cannot load libraries.
#pragma once

#include <string>

#include "common/base/error.h"
#include "compute/procedure/chopping.h"
#include "compute/procedure/registry.h"

namespace namdb::procedure {

// Loads the library, checks its ABI version, and lets it add its procedures. Error configuration: there is no
// such file, it is not a procedure library, its ABI version differs, or the registry has refused a procedure.
Status load_library(const std::string& path, ProcedureRegistry& registry);

// Lets the library declare the pieces of its procedures (chopping.h), if it declares any. Error
// configuration: it cannot be loaded, or its version of that interface differs.
Status load_pieces(const std::string& path, Choppings& choppings);

}  // namespace namdb::procedure
